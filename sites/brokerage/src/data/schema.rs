//! The tables.
//!
//! Money is whole cents, shares are whole, points in time are seconds since 1970 unless a
//! name says otherwise.
//!
//! Each customer has an account of two parts, what is available and what is reserved for
//! open orders to buy. Two accounts are the house's: 0, the market, at the other end of
//! every trade, and -1, the world outside, from which payments come. Every movement of cash is
//! a row of `ledger` that takes from one part of an account and adds the same to another.
//! So the sum over all accounts is always zero, and each account is the sum of its rows.
//! Shares are kept the same way: the market's holdings are what all customers hold, taken
//! as a negative number.
//!
//! A deposit that is open has one row in `deposit_outbox`: what is to be done for it at the card
//! processor. Of a card there is the brand with the last four digits.
//!
//! `price_history` has a fixed number of places for each security, which are written in turn.

use tidegate_sitekit::database::notes;
use tidegate_sitekit::population::Schema;

/// All tables, in an order in which they can be dropped.
const TABLES: [&str; 17] = [
    "ledger",
    "executions",
    "payments",
    "deposits",
    "deposit_outbox",
    "card_events",
    "sessions",
    "leases",
    "orders",
    "holdings",
    "accounts",
    "feed",
    "price_history",
    "prices",
    "securities",
    "customers",
    notes::TABLE,
];

const TABLE_TEXTS: &str = "
CREATE TABLE customers (
    id {int} PRIMARY KEY, user_name TEXT NOT NULL, name TEXT NOT NULL, password TEXT NOT NULL,
    created {int} NOT NULL
);
CREATE TABLE accounts (
    customer {int} PRIMARY KEY, available {int} NOT NULL, reserved {int} NOT NULL,
    CHECK (customer <= 0 OR (available >= 0 AND reserved >= 0))
);
CREATE TABLE securities (id {int} PRIMARY KEY, symbol TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE prices (security {int} PRIMARY KEY, cents {int} NOT NULL CHECK (cents > 0));
CREATE TABLE price_history (
    security {int} NOT NULL, place {int} NOT NULL, tick {int} NOT NULL, at_ms {int} NOT NULL,
    cents {int} NOT NULL, PRIMARY KEY (security, place)
){by_key};
CREATE TABLE feed (
    id {int} PRIMARY KEY, tick {int} NOT NULL, as_of_ms {int} NOT NULL, source TEXT NOT NULL,
    since {int} NOT NULL
);
CREATE TABLE holdings (
    customer {int} NOT NULL, security {int} NOT NULL, available {int} NOT NULL,
    reserved {int} NOT NULL, cost {int} NOT NULL, PRIMARY KEY (customer, security),
    CHECK (customer <= 0 OR (available >= 0 AND reserved >= 0))
){by_key};
CREATE TABLE orders (
    id {id}, customer {int} NOT NULL, client_id TEXT NOT NULL, security {int} NOT NULL,
    side {int} NOT NULL, kind {int} NOT NULL, quantity {int} NOT NULL CHECK (quantity > 0),
    limit_cents {int} NOT NULL CHECK (limit_cents > 0), state {int} NOT NULL,
    reason {int} NOT NULL, price {int} NOT NULL, created {int} NOT NULL, closed {int} NOT NULL,
    expires {int} NOT NULL
);
CREATE TABLE executions (
    order_id {int} PRIMARY KEY, customer {int} NOT NULL, security {int} NOT NULL,
    side {int} NOT NULL, quantity {int} NOT NULL, cents {int} NOT NULL, at {int} NOT NULL
);
CREATE TABLE ledger (
    id {id}, at {int} NOT NULL, kind {int} NOT NULL, reference {int} NOT NULL,
    from_account {int} NOT NULL, to_account {int} NOT NULL,
    cents {int} NOT NULL CHECK (cents > 0)
);
CREATE TABLE payments (
    id {id}, payment TEXT NOT NULL, customer {int} NOT NULL, cents {int} NOT NULL,
    at {int} NOT NULL
);
CREATE TABLE deposits (
    id {id}, customer {int} NOT NULL, name TEXT NOT NULL, reference TEXT NOT NULL,
    cents {int} NOT NULL CHECK (cents > 0), state {int} NOT NULL, reason {int} NOT NULL,
    form TEXT NOT NULL, card TEXT NOT NULL, version {int} NOT NULL, created {int} NOT NULL,
    closed {int} NOT NULL
);
CREATE TABLE deposit_outbox (
    deposit {int} PRIMARY KEY, step {int} NOT NULL, attempts {int} NOT NULL,
    due_ms {int} NOT NULL
){by_key};
CREATE TABLE card_events (id TEXT PRIMARY KEY, at {int} NOT NULL){by_key};
CREATE TABLE sessions (
    session TEXT PRIMARY KEY, customer {int} NOT NULL, created {int} NOT NULL,
    seen {int} NOT NULL
){by_key};
CREATE TABLE leases (
    name TEXT PRIMARY KEY, holder TEXT NOT NULL, term {int} NOT NULL, until_ms {int} NOT NULL
);
";

const INDEX_TEXTS: &str = "
CREATE UNIQUE INDEX customers_user ON customers (user_name);
CREATE UNIQUE INDEX securities_symbol ON securities (symbol);
CREATE UNIQUE INDEX orders_client ON orders (customer, client_id);
CREATE INDEX orders_closed ON orders (customer, id) WHERE state <> 0;
CREATE INDEX orders_open ON orders (customer, id) WHERE state = 0;
CREATE INDEX orders_buy ON orders (security, limit_cents) WHERE state = 0 AND side = 1;
CREATE INDEX orders_sell ON orders (security, limit_cents) WHERE state = 0 AND side = 2;
CREATE INDEX orders_expire ON orders (expires) WHERE state = 0 AND expires > 0;
CREATE UNIQUE INDEX payments_payment ON payments (payment);
CREATE UNIQUE INDEX deposits_name ON deposits (customer, name);
CREATE UNIQUE INDEX deposits_reference ON deposits (reference);
CREATE INDEX deposits_customer ON deposits (customer, id);
CREATE INDEX deposits_open ON deposits (customer) WHERE state < 3;
CREATE INDEX deposit_outbox_due ON deposit_outbox (due_ms);
CREATE INDEX card_events_at ON card_events (at);
CREATE INDEX sessions_customer ON sessions (customer, created);
CREATE INDEX sessions_seen ON sessions (seen);
";

/// The tables.
pub const SCHEMA: Schema = Schema {
    kind: "brokerage",
    versions: &["2"],
    tables: &TABLES,
    texts: &[TABLE_TEXTS],
    indexes: INDEX_TEXTS,
    numbered: &["orders", "ledger", "payments", "deposits"],
};
