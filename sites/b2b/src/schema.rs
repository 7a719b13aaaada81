//! The tables. Money is whole cents; points in time are seconds since 1970, in the queues
//! milliseconds.
//!
//! - `customers.token` is the SHA-256 of a business's token.
//! - An order keeps the prices that it was placed at. A business names each order once
//!   (`reference`), so that a request that comes twice orders once; `content` tells whether it is
//!   the same request.

use tidegate_sitekit::population::Schema;

use crate::fulfil;

const TABLES: [&str; 7] = [
    fulfil::TABLES[0],
    fulfil::TABLES[1],
    "order_lines",
    "orders",
    "items",
    "customers",
    "site_notes",
];

const TEXT: &str = "
CREATE TABLE customers (
    id {id}, name TEXT NOT NULL, street TEXT NOT NULL, city TEXT NOT NULL,
    postcode TEXT NOT NULL, country TEXT NOT NULL, payment_method TEXT NOT NULL,
    payment_reference TEXT NOT NULL, token TEXT NOT NULL UNIQUE, changed {int} NOT NULL
);
CREATE TABLE items (
    id {int} PRIMARY KEY, supplier {int} NOT NULL, name TEXT NOT NULL, subject TEXT NOT NULL,
    description TEXT NOT NULL, price {int} NOT NULL CHECK (price > 0),
    stock {int} NOT NULL CHECK (stock >= 0), picture {int} NOT NULL, published {int} NOT NULL
);
CREATE TABLE orders (
    id {id}, customer {int} NOT NULL, reference TEXT NOT NULL, content TEXT NOT NULL,
    state {int} NOT NULL, total {int} NOT NULL, created {int} NOT NULL, tracking TEXT NOT NULL,
    UNIQUE (customer, reference)
);
CREATE TABLE order_lines (
    order_id {int} NOT NULL, number {int} NOT NULL, item {int} NOT NULL,
    quantity {int} NOT NULL CHECK (quantity > 0), price {int} NOT NULL,
    PRIMARY KEY (order_id, number)
){by_key};
";

const INDEXES: &str = "
CREATE INDEX items_new ON items (subject, published);
CREATE INDEX orders_customer ON orders (customer, id);
";

/// The tables.
pub const SCHEMA: Schema = Schema {
    kind: "b2b",
    versions: &["1"],
    tables: &TABLES,
    texts: &[TEXT, fulfil::TEXT],
    indexes: INDEXES,
    numbered: &["customers", "orders", "shipping_queue", "stock_queue"],
};
