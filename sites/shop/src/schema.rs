//! The tables. Money is whole cents, weights are grams; points in time are seconds since 1970,
//! in `payment_queue` milliseconds.
//!
//! - The one row of `catalogue` counts changes of prices and says when the last one was, so that
//!   every process knows when what it has kept is outdated.
//! - `products.restock`: what is delivered when less than half of it is left; 0 for none. So the
//!   shop keeps its size under a load of buyers.
//! - `sessions` are browsers, whether somebody has signed in or not (`customer` 0); `key` is a
//!   hash of their cookie. A basket belongs to a session.
//! - An order keeps what it was sold at: prices, tax and shipping of that moment.
//! - `payment_queue` is what is to be done at the card processor.

use tidegate_sitekit::once::form;
use tidegate_sitekit::population::Schema;

/// All tables, in an order in which they can be dropped.
const TABLES: [&str; 14] = [
    "used_forms",
    "payment_queue",
    "order_lines",
    "orders",
    "basket_lines",
    "sessions",
    "customers",
    "reviews",
    "products",
    "sets",
    "departments",
    "zones",
    "catalogue",
    "site_notes",
];

const TABLE_TEXTS: &str = "
CREATE TABLE catalogue (id {int} PRIMARY KEY, version {int} NOT NULL, changed {int} NOT NULL);
CREATE TABLE zones (
    id {int} PRIMARY KEY, name TEXT NOT NULL, factor {int} NOT NULL CHECK (factor > 0),
    tax {int} NOT NULL CHECK (tax >= 0), shipping {int} NOT NULL CHECK (shipping >= 0),
    shipping_kg {int} NOT NULL CHECK (shipping_kg >= 0)
);
CREATE TABLE departments (
    id {int} PRIMARY KEY, slug TEXT NOT NULL, name TEXT NOT NULL, about TEXT NOT NULL
);
CREATE TABLE sets (
    id {int} PRIMARY KEY, department {int} NOT NULL, slug TEXT NOT NULL, name TEXT NOT NULL
);
CREATE TABLE products (
    id {int} PRIMARY KEY, set_id {int} NOT NULL, department {int} NOT NULL, name TEXT NOT NULL,
    price {int} NOT NULL CHECK (price > 0), weight {int} NOT NULL CHECK (weight > 0),
    stock {int} NOT NULL CHECK (stock >= 0), restock {int} NOT NULL,
    description TEXT NOT NULL
);
CREATE TABLE reviews (
    product {int} NOT NULL, number {int} NOT NULL, stars {int} NOT NULL, name TEXT NOT NULL,
    remark TEXT NOT NULL, PRIMARY KEY (product, number)
){by_key};
CREATE TABLE customers (
    id {id}, email TEXT NOT NULL, name TEXT NOT NULL, password TEXT NOT NULL,
    street TEXT NOT NULL, city TEXT NOT NULL, postcode TEXT NOT NULL, created {int} NOT NULL
);
CREATE TABLE sessions (
    key TEXT PRIMARY KEY, customer {int} NOT NULL, expires {int} NOT NULL
);
CREATE TABLE basket_lines (
    session TEXT NOT NULL, product {int} NOT NULL, quantity {int} NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (session, product)
){by_key};
CREATE TABLE orders (
    id {id}, session TEXT NOT NULL, customer {int} NOT NULL, reference TEXT NOT NULL,
    state {int} NOT NULL, reason TEXT NOT NULL, form TEXT NOT NULL, card TEXT NOT NULL,
    version {int} NOT NULL, created {int} NOT NULL, zone {int} NOT NULL, goods {int} NOT NULL,
    shipping {int} NOT NULL, tax {int} NOT NULL, email TEXT NOT NULL, name TEXT NOT NULL,
    street TEXT NOT NULL, city TEXT NOT NULL, postcode TEXT NOT NULL
);
CREATE TABLE order_lines (
    order_id {int} NOT NULL, product {int} NOT NULL, quantity {int} NOT NULL CHECK (quantity > 0),
    price {int} NOT NULL, PRIMARY KEY (order_id, product)
){by_key};
CREATE TABLE payment_queue (
    id {id}, order_id {int} NOT NULL, step {int} NOT NULL, state {int} NOT NULL,
    attempts {int} NOT NULL, next {int} NOT NULL, created {int} NOT NULL
);
";

const INDEX_TEXTS: &str = "
CREATE UNIQUE INDEX departments_slug ON departments (slug);
CREATE UNIQUE INDEX sets_slug ON sets (slug);
CREATE INDEX sets_department ON sets (department, id);
CREATE INDEX products_set ON products (set_id, id);
CREATE UNIQUE INDEX customers_email ON customers (email);
CREATE INDEX sessions_expires ON sessions (expires);
CREATE INDEX orders_customer ON orders (customer, id);
CREATE UNIQUE INDEX orders_reference ON orders (reference);
CREATE INDEX orders_session ON orders (session);
CREATE INDEX payment_queue_due ON payment_queue (state, next);
CREATE INDEX payment_queue_order ON payment_queue (order_id, state);
CREATE INDEX products_low ON products (id) WHERE restock > 0 AND 2 * stock < restock;
";

/// The tables.
pub const SCHEMA: Schema = Schema {
    kind: "shop",
    versions: &["1"],
    tables: &TABLES,
    texts: &[TABLE_TEXTS, form::TABLE],
    indexes: INDEX_TEXTS,
    numbered: &["customers", "orders", "payment_queue"],
};
