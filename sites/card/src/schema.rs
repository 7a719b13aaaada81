//! The tables. There is no column for a card number or a security code.
//!
//! - Amounts are minor units; points in time are milliseconds since 1970.
//! - `payments.due` is when a payment changes by itself: when an issuer has answered, or when
//!   it is abandoned or expires; the greatest number for never.
//! - `merchants` counts the events and the idempotency keys of a merchant. Every transaction
//!   that changes something of a merchant locks its row first, so transactions of a merchant
//!   are in one order, and events are visible in the order of their numbers.
//! - `deliveries` is the outbox: an event and what is to be delivered of it are written in
//!   the transaction of the change itself.

use tidegate_sitekit::Result;
use tidegate_sitekit::database::{self, Connection, Dialect, notes, tables};
use tidegate_sitekit::once::key;
use tidegate_sitekit::values;

/// Kind and version of the database.
const KIND: &str = "card";
const VERSION: &str = "2";
/// Key of PostgreSQL's advisory lock under which one process makes the tables.
const LOCK: i64 = 0x6361_7264;

/// When a payment changes that does not change by itself.
pub const NEVER: i64 = i64::MAX;

const TABLES: &str = "
CREATE TABLE merchants (
    name TEXT PRIMARY KEY, events {int} NOT NULL, keys {int} NOT NULL
);
CREATE TABLE payments (
    id TEXT PRIMARY KEY, merchant TEXT NOT NULL, reference TEXT NOT NULL, checkout TEXT NOT NULL,
    amount {int} NOT NULL CHECK (amount > 0), currency TEXT NOT NULL,
    phase {int} NOT NULL,
    captured {int} NOT NULL CHECK (captured BETWEEN 0 AND amount),
    refunded {int} NOT NULL CHECK (refunded BETWEEN 0 AND captured),
    description TEXT NOT NULL, return_url TEXT NOT NULL,
    brand TEXT NOT NULL, last4 TEXT NOT NULL, fingerprint TEXT NOT NULL,
    exp_month {int} NOT NULL, exp_year {int} NOT NULL,
    decline_code TEXT NOT NULL, cancellation TEXT NOT NULL,
    attempts {int} NOT NULL, due {int} NOT NULL,
    version {int} NOT NULL, created {int} NOT NULL
);
CREATE UNIQUE INDEX payments_reference ON payments (merchant, reference);
CREATE UNIQUE INDEX payments_checkout ON payments (checkout);
CREATE INDEX payments_due ON payments (due);
CREATE TABLE movements (
    payment TEXT NOT NULL, number {int} NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
    reference TEXT NOT NULL, amount {int} NOT NULL, created {int} NOT NULL,
    PRIMARY KEY (payment, number)
){by_key};
CREATE UNIQUE INDEX movements_reference ON movements (payment, kind, reference)
    WHERE reference <> '';
CREATE TABLE events (
    merchant TEXT NOT NULL, sequence {int} NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,
    created {int} NOT NULL, PRIMARY KEY (merchant, sequence)
){by_key};
CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX events_created ON events (merchant, created);
CREATE TABLE deliveries (
    id {id}, merchant TEXT NOT NULL, event TEXT NOT NULL, endpoint TEXT NOT NULL,
    state {int} NOT NULL, attempts {int} NOT NULL, next {int} NOT NULL, created {int} NOT NULL
);
CREATE INDEX deliveries_next ON deliveries (merchant, endpoint, state, next);
CREATE INDEX deliveries_event ON deliveries (event);
CREATE INDEX deliveries_pending ON deliveries (created) WHERE state = 0;
";

/// Makes the tables of an empty database, and a row for each merchant that has none.
///
/// # Errors
/// The database is of something else, or of another version: an error for the operator;
/// nothing is changed. An error of the database.
pub async fn prepare<'m>(
    connection: &mut Connection,
    place: &str,
    merchants: impl Iterator<Item = &'m str>,
) -> Result<()> {
    begin(connection).await?;
    if notes::version(connection, place, KIND, &[VERSION]).await?.is_none() {
        notes::create_table(connection, &[("kind", KIND), ("version", VERSION)]).await?;
        tables::create(connection, TABLES).await?;
        tables::create(connection, key::TABLE).await?;
    }
    for merchant in merchants {
        let sql = "INSERT INTO merchants (name, events, keys) VALUES ($1, 0, 0)
                   ON CONFLICT (name) DO NOTHING";
        connection.run(sql, &values![merchant]).await?;
    }
    connection.run("COMMIT", &[]).await?;
    Ok(())
}

/// Begins a transaction that no other process prepares at the same time.
async fn begin(connection: &mut Connection) -> database::Result<()> {
    match connection.dialect() {
        Dialect::Sqlite => connection.run("BEGIN IMMEDIATE", &[]).await,
        Dialect::Postgres => {
            connection.run("BEGIN", &[]).await?;
            let lock = "SELECT 1::bigint FROM (SELECT pg_advisory_xact_lock($1)) AS locked";
            connection.run(lock, &values![LOCK]).await
        }
    }
}
