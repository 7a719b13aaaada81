//! Idempotency keys with the answers that were given under them.

use tidegate_sitekit::Result;
use tidegate_sitekit::database::{self, Database, Error, Fields, Record, Transaction};

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Keyed fingerprint of the request.
    pub fingerprint: String,
    /// What became of the request.
    pub state: KeyState,
    /// How often it was tried.
    pub attempts: i64,
    /// Status of the answer, if there is one.
    pub status: i64,
    /// Body of the answer, if there is one.
    pub body: String,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It is under way.
    UnderWay,
    /// It was answered; the answer is given to every repetition.
    Answered,
    /// It failed and has changed nothing; a repetition is tried again.
    Failed,
}

impl KeyState {
    fn number(self) -> i64 {
        match self {
            Self::UnderWay => 0,
            Self::Answered => 1,
            Self::Failed => 2,
        }
    }

    fn of_number(number: i64) -> Option<Self> {
        [Self::UnderWay, Self::Answered, Self::Failed].into_iter().find(|it| it.number() == number)
    }
}

impl Record for Kept {
    fn read(fields: &impl Fields) -> database::Result<Self> {
        Ok(Self {
            fingerprint: fields.text(0)?,
            state: KeyState::of_number(fields.int(1)?).ok_or(Error::Content("state of a key"))?,
            attempts: fields.int(2)?,
            status: fields.int(3)?,
            body: fields.text(4)?,
        })
    }
}

pub(super) const FIND: &str = "SELECT fingerprint, state, attempts, status, body
     FROM idempotency WHERE merchant = $1 AND key = $2";
const INSERT: &str = "INSERT INTO idempotency
     (merchant, key, fingerprint, state, attempts, status, body, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const UPDATE: &str = "UPDATE idempotency SET state = $3, attempts = $4, status = $5, body = $6
     WHERE merchant = $1 AND key = $2";
pub(super) const FORGET: &str = "DELETE FROM idempotency WHERE merchant = $1 AND key IN (
         SELECT key FROM idempotency WHERE merchant = $1 AND created < $2
         ORDER BY created LIMIT $3)
     RETURNING key";

/// What is known of a key.
///
/// # Errors
/// An error of the database.
pub async fn find(
    transaction: &mut Transaction,
    merchant: &str,
    key: &str,
) -> Result<Option<Kept>> {
    transaction.first(FIND, &[merchant.into(), key.into()]).await
}

/// The same outside of a transaction.
///
/// # Errors
/// An error of the database.
pub async fn look(database: &Database, merchant: &str, key: &str) -> Result<Option<Kept>> {
    database.first(FIND, &[merchant.into(), key.into()]).await
}

/// Stores a new key.
///
/// # Errors
/// An error of the database; the key is there already.
pub async fn insert(
    transaction: &mut Transaction,
    merchant: &str,
    key: &str,
    kept: &Kept,
    now: i64,
) -> Result<()> {
    let values = [
        merchant.into(),
        key.into(),
        (&kept.fingerprint).into(),
        kept.state.number().into(),
        kept.attempts.into(),
        kept.status.into(),
        (&kept.body).into(),
        now.into(),
    ];
    transaction.run(INSERT, &values).await
}

/// Stores what has become of a request. Nothing happens if the key was forgotten meanwhile.
///
/// # Errors
/// An error of the database.
pub async fn update(
    transaction: &mut Transaction,
    merchant: &str,
    key: &str,
    kept: &Kept,
) -> Result<()> {
    let values = [
        merchant.into(),
        key.into(),
        kept.state.number().into(),
        kept.attempts.into(),
        kept.status.into(),
        (&kept.body).into(),
    ];
    transaction.run(UPDATE, &values).await
}

/// Forgets at most so many keys from before a time; returns how many.
///
/// # Errors
/// An error of the database.
pub async fn forget(
    transaction: &mut Transaction,
    merchant: &str,
    before: i64,
    most: i64,
) -> Result<i64> {
    let values = [merchant.into(), before.into(), most.into()];
    let forgotten: Vec<String> = transaction.all(FORGET, &values).await?;
    Ok(i64::try_from(forgotten.len()).unwrap_or(i64::MAX))
}
