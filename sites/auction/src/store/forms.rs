//! Forms that are accepted once. A form carries a signed number of its own; the
//! transaction that stores what the form asks for stores that number as well. A
//! number that is there already belongs to a form that was sent before: the
//! transaction is rolled back, and the answer is that of the first.
//!
//! The number is stored last, when the transaction holds every lock that it
//! needs: of two posts of one form the second waits for the first to end. A form
//! that was refused has stored nothing and may be sent again.
//!
//! A number is kept until its form has expired, so the table holds the forms of
//! one lifetime and no more. Its key begins with the expiry: new rows are
//! neighbours, and those that have expired are the first.

use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::record;
use tidegate_sitekit::{Error, Result};

/// How long a number is kept after its form has expired, seconds: the clocks of
/// two processes on one database may differ.
const MARGIN: i64 = 60;

/// A form as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// When it expires, seconds since 1970.
    pub expires: i64,
    /// Its number, unique among those that expire in the same second.
    pub number: i64,
    /// A fingerprint of the values that were sent with it.
    pub content: i64,
}

/// What a form has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Id of the new row.
    pub row: i64,
    /// The one figure of the answer that the row does not hold, or zero.
    pub figure: i64,
}

/// The first use of a form that was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// What it stored.
    pub receipt: Receipt,
    /// It was sent with other values than now.
    pub differs: bool,
}

struct Used {
    receipt: Receipt,
    content: i64,
}

record!(Receipt { row, figure });
record!(Used { receipt, content });

const USE: &str = "INSERT INTO used_forms (expires, number, stored, figure, content)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING stored";

pub(crate) const USED: &str =
    "SELECT stored, figure, content FROM used_forms WHERE expires = $1 AND number = $2";

pub(crate) const EXPIRED: &str = "SELECT number FROM used_forms WHERE expires <= $1 LIMIT 1";

/// Commits a transaction as the one of its form; `receipt` is what it has stored.
/// If the form was used before, rolls back and returns the first use.
///
/// # Errors
/// An error of the database; then nothing was changed.
pub async fn commit(
    mut transaction: Transaction,
    form: Form,
    receipt: Receipt,
) -> Result<Option<Earlier>> {
    let values = [
        form.expires.into(),
        form.number.into(),
        receipt.row.into(),
        receipt.figure.into(),
        form.content.into(),
    ];
    if transaction.first::<i64>(USE, &values).await?.is_none() {
        return undo(transaction, form).await;
    }
    transaction.commit().await?;
    Ok(None)
}

/// Rolls back a transaction that stores nothing, and returns the first use of
/// its form if there was one.
///
/// # Errors
/// An error of the database.
pub async fn undo(mut transaction: Transaction, form: Form) -> Result<Option<Earlier>> {
    let used: Option<Used> =
        transaction.first(USED, &[form.expires.into(), form.number.into()]).await?;
    transaction.rollback().await?;
    Ok(used.map(|used| Earlier { receipt: used.receipt, differs: used.content != form.content }))
}

/// The same for a transaction that is refused.
///
/// # Errors
/// `refusal`, if the form was not used before; an error of the database.
pub async fn refuse(
    transaction: Transaction,
    form: Form,
    refusal: impl Into<Error>,
) -> Result<Earlier> {
    undo(transaction, form).await?.ok_or_else(|| refusal.into())
}

/// Forgets the forms that have expired.
///
/// # Errors
/// An error of the database.
pub async fn forget_expired(database: &Database, now: i64) -> Result<()> {
    let until = [(now - MARGIN).into()];
    // Reading takes no lock; only what is to be deleted does.
    if database.first::<i64>(EXPIRED, &until).await?.is_none() {
        return Ok(());
    }
    database.run("DELETE FROM used_forms WHERE expires <= $1", &until).await
}
