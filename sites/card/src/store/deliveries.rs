//! The outbox of webhooks.

use crate::schema::NEVER;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::record;

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It will be tried, or is being tried.
    Pending,
    /// The merchant has accepted it.
    Delivered,
    /// It was given up.
    GivenUp,
}

impl DeliveryState {
    fn number(self) -> i64 {
        match self {
            Self::Pending => 0,
            Self::Delivered => 1,
            Self::GivenUp => 2,
        }
    }
}

/// An event that is to be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its number.
    pub id: i64,
    /// Failed attempts so far.
    pub attempts: i64,
    /// When it was written, milliseconds since 1970.
    pub created: i64,
    /// When it is tried next.
    pub next: i64,
    /// The event as JSON.
    pub body: String,
}

record!(Delivery { id, attempts, created, next, body });

const INSERT: &str = "INSERT INTO deliveries
     (merchant, event, endpoint, state, attempts, next, created) VALUES ($1, $2, $3, 0, 0, $4, $4)";
pub(super) const DUE: &str = "SELECT d.id, d.attempts, d.created, d.next, e.body
     FROM deliveries d JOIN events e ON e.id = d.event
     WHERE d.merchant = $1 AND d.endpoint = $2 AND d.state = 0 AND d.next <= $3
     ORDER BY d.next LIMIT $4";
const CLAIM: &str = "UPDATE deliveries SET next = $3 WHERE id = $1 AND state = 0 AND next = $2
     RETURNING id";
const END: &str = "UPDATE deliveries SET state = $2, attempts = $3, next = $4
     WHERE id = $1 AND state = 0";
pub(super) const GIVE_UP: &str = "UPDATE deliveries SET state = 2 WHERE state = 0 AND created < $1";

/// Writes a delivery into the outbox.
///
/// # Errors
/// An error of the database.
pub async fn insert(
    transaction: &mut Transaction,
    merchant: &str,
    event: &str,
    endpoint: &str,
    now: i64,
) -> Result<()> {
    let values = [merchant.into(), event.into(), endpoint.into(), now.into()];
    transaction.run(INSERT, &values).await
}

/// Takes at most `most` due deliveries of an endpoint. Nobody else takes them before
/// `until`: after a crash they are tried again then.
///
/// # Errors
/// An error of the database.
pub async fn claim(
    database: &Database,
    merchant: &str,
    endpoint: &str,
    now: i64,
    until: i64,
    most: i64,
) -> Result<Vec<Delivery>> {
    // Reading takes no lock; only what is claimed does.
    let values = [merchant.into(), endpoint.into(), now.into(), most.into()];
    let due: Vec<Delivery> = database.all(DUE, &values).await?;
    if due.is_empty() {
        return Ok(due);
    }
    let mut transaction = database.begin().await?;
    let mut claimed = Vec::new();
    for delivery in due {
        let values = [delivery.id.into(), delivery.next.into(), until.into()];
        if transaction.first::<i64>(CLAIM, &values).await?.is_some() {
            claimed.push(delivery);
        }
    }
    transaction.commit().await?;
    Ok(claimed)
}

/// Stores how an attempt ended, and what becomes of its delivery: `retry` is when it is tried
/// again.
///
/// # Errors
/// An error of the database.
pub async fn ended(
    database: &Database,
    delivery: &Delivery,
    state: DeliveryState,
    retry: Option<i64>,
) -> Result<()> {
    let values = [
        delivery.id.into(),
        state.number().into(),
        (delivery.attempts + 1).into(),
        retry.unwrap_or(NEVER).into(),
    ];
    // It may have been given up meanwhile: then this changes nothing.
    database.run(END, &values).await
}

/// Gives up what was written before a time and is not delivered, for endpoints as well that
/// are no longer registered.
///
/// # Errors
/// An error of the database.
pub async fn give_up(database: &Database, before: i64) -> Result<()> {
    let first = "SELECT id FROM deliveries WHERE state = 0 AND created < $1 LIMIT 1";
    if database.first::<i64>(first, &[before.into()]).await?.is_none() {
        return Ok(());
    }
    database.run(GIVE_UP, &[before.into()]).await
}
