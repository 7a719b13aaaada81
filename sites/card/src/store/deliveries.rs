//! The outbox of webhooks, and the log of attempts to deliver them.

use crate::schema::NEVER;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::{self, Database, Error, Fields, Record, Transaction};

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

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::GivenUp => "given_up",
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

impl Record for Delivery {
    fn read(fields: &impl Fields) -> database::Result<Self> {
        Ok(Self {
            id: fields.int(0)?,
            attempts: fields.int(1)?,
            created: fields.int(2)?,
            next: fields.int(3)?,
            body: fields.text(4)?,
        })
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When it began, milliseconds since 1970.
    pub at: i64,
    /// How long it took, milliseconds.
    pub took: i64,
    /// Status of the answer, or 0.
    pub status: i64,
    /// Why there was no answer, or empty.
    pub error: String,
}

impl Record for Attempt {
    fn read(fields: &impl Fields) -> database::Result<Self> {
        Ok(Self {
            at: fields.int(0)?,
            took: fields.int(1)?,
            status: fields.int(2)?,
            error: fields.text(3)?,
        })
    }
}

/// A delivery with its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its number.
    pub id: i64,
    /// Where it goes.
    pub endpoint: String,
    /// What became of it.
    pub state: DeliveryState,
    /// When it is tried next, if it is; milliseconds since 1970.
    pub next: i64,
}

impl Record for Logged {
    fn read(fields: &impl Fields) -> database::Result<Self> {
        let state = match fields.int(2)? {
            0 => DeliveryState::Pending,
            1 => DeliveryState::Delivered,
            2 => DeliveryState::GivenUp,
            _ => return Err(Error::Content("state of a delivery")),
        };
        Ok(Self { id: fields.int(0)?, endpoint: fields.text(1)?, state, next: fields.int(3)? })
    }
}

const INSERT: &str = "INSERT INTO deliveries
     (merchant, event, endpoint, state, attempts, next, created) VALUES ($1, $2, $3, 0, 0, $4, $4)";
pub(super) const DUE: &str = "SELECT d.id, d.attempts, d.created, d.next, e.body
     FROM deliveries d JOIN events e ON e.id = d.event
     WHERE d.merchant = $1 AND d.endpoint = $2 AND d.state = 0 AND d.next <= $3
     ORDER BY d.next LIMIT $4";
const CLAIM: &str = "UPDATE deliveries SET next = $3 WHERE id = $1 AND state = 0 AND next = $2
     RETURNING id";
const END: &str = "UPDATE deliveries SET state = $2, attempts = $3, next = $4
     WHERE id = $1 AND state = 0 RETURNING id";
const LOG: &str = "INSERT INTO attempts (delivery, number, at, took, status, error)
     VALUES ($1, (SELECT COUNT(*) + 1 FROM attempts WHERE delivery = $1), $2, $3, $4, $5)";
pub(super) const OF_EVENT: &str =
    "SELECT id, endpoint, state, next FROM deliveries WHERE event = $1 ORDER BY id";
pub(super) const ATTEMPTS: &str = "SELECT at, took, status, error FROM attempts
     WHERE delivery = $1 ORDER BY number LIMIT 100";
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
    attempt: &Attempt,
    state: DeliveryState,
    retry: Option<i64>,
) -> Result<()> {
    let mut transaction = database.begin().await?;
    let values = [
        delivery.id.into(),
        state.number().into(),
        (delivery.attempts + 1).into(),
        retry.unwrap_or(NEVER).into(),
    ];
    // It may have been given up meanwhile.
    if transaction.first::<i64>(END, &values).await?.is_some() {
        let values = [
            delivery.id.into(),
            attempt.at.into(),
            attempt.took.into(),
            attempt.status.into(),
            (&attempt.error).into(),
        ];
        transaction.run(LOG, &values).await?;
    }
    transaction.commit().await
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
    let mut transaction = database.begin().await?;
    transaction.run(GIVE_UP, &[before.into()]).await?;
    transaction.commit().await
}

/// The deliveries of an event, each with its attempts.
///
/// # Errors
/// An error of the database.
pub async fn log(database: &Database, event: &str) -> Result<Vec<(Logged, Vec<Attempt>)>> {
    let deliveries: Vec<Logged> = database.all(OF_EVENT, &[event.into()]).await?;
    let mut log = Vec::new();
    for delivery in deliveries {
        let attempts = database.all(ATTEMPTS, &[delivery.id.into()]).await?;
        log.push((delivery, attempts));
    }
    Ok(log)
}
