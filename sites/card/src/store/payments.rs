//! Payments and their movements: captures and refunds.

use crate::amount::Currency;
use crate::details::Expiry;
use crate::issuer::DeclineCode;
use crate::number::Brand;
use crate::resource::{Cancellation, CardSummary, Movement};
use crate::state::{Phase, State};
use tidegate_sitekit::Result;
use tidegate_sitekit::database::{self, Database, Error, Fields, Record, Transaction};

/// A payment as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// `pay_` and 32 hexadecimal digits.
    pub id: String,
    /// Whose it is.
    pub merchant: String,
    /// The merchant's own name for it.
    pub reference: String,
    /// `chk_` and 32 hexadecimal digits: whoever knows them may pay.
    pub checkout: String,
    /// Amounts and phase.
    pub state: State,
    /// The currency.
    pub currency: Currency,
    /// What the customer is told.
    pub description: String,
    /// Where the customer goes afterwards.
    pub return_url: String,
    /// The card, once there is one.
    pub card: Option<CardSummary>,
    /// Why the last card was declined.
    pub decline_code: Option<DeclineCode>,
    /// Why it is cancelled.
    pub cancellation: Option<Cancellation>,
    /// How often an issuer was asked.
    pub attempts: i64,
    /// When it changes by itself, milliseconds since 1970; [`crate::schema::NEVER`].
    pub due: i64,
    /// Counts the changes, from 1.
    pub version: i64,
    /// When it was created, milliseconds since 1970.
    pub created: i64,
}

impl Record for Stored {
    fn read(fields: &impl Fields) -> database::Result<Self> {
        let brand = fields.text(13)?;
        let card = match Brand::of_name(&brand) {
            Some(brand) => Some(CardSummary {
                brand,
                last4: fields.text(14)?,
                fingerprint: fields.text(15)?,
                exp_month: fields.int(16)?,
                exp_year: fields.int(17)?,
            }),
            None if brand.is_empty() => None,
            None => return Err(Error::Content("brand of a card")),
        };
        let (decline, cancellation) = (fields.text(18)?, fields.text(19)?);
        Ok(Self {
            id: fields.text(0)?,
            merchant: fields.text(1)?,
            reference: fields.text(2)?,
            checkout: fields.text(3)?,
            state: State {
                amount: fields.int(4)?,
                phase: Phase::of_number(fields.int(6)?)
                    .ok_or(Error::Content("phase of a payment"))?,
                captured: fields.int(7)?,
                refunded: fields.int(8)?,
            },
            currency: Currency::of_code(&fields.text(5)?).ok_or(Error::Content("currency"))?,
            description: fields.text(9)?,
            return_url: fields.text(10)?,
            attempts: fields.int(11)?,
            due: fields.int(12)?,
            card,
            decline_code: some(&decline, DeclineCode::of_name, "decline code")?,
            cancellation: some(&cancellation, Cancellation::of_name, "cancellation")?,
            version: fields.int(20)?,
            created: fields.int(21)?,
        })
    }
}

/// What an optional text stands for; an empty one for nothing.
fn some<T>(
    text: &str,
    of_name: impl Fn(&str) -> Option<T>,
    what: &'static str,
) -> database::Result<Option<T>> {
    if text.is_empty() {
        return Ok(None);
    }
    of_name(text).map(Some).ok_or(Error::Content(what))
}

/// The columns, in the order in which a payment is read.
macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT id, merchant, reference, checkout, amount, currency, phase, captured, \
             refunded, description, return_url, attempts, due, brand, last4, \
             fingerprint, exp_month, exp_year, decline_code, cancellation, version, created \
             FROM payments WHERE ",
            $condition
        )
    };
}

pub(super) const BY_ID: &str = select!("id = $1");
pub(super) const BY_REFERENCE: &str = select!("merchant = $1 AND reference = $2");
pub(super) const BY_CHECKOUT: &str = select!("checkout = $1");
pub(super) const DUE: &str = select!("due <= $1 ORDER BY due LIMIT 100");
pub(super) const NEXT_DUE: &str = "SELECT due FROM payments ORDER BY due LIMIT 1";
pub(super) const MOVEMENTS: &str = "SELECT id, kind, reference, amount, created FROM movements
     WHERE payment = $1 ORDER BY number";

const INSERT: &str = "INSERT INTO payments
     (id, merchant, reference, checkout, amount, currency, phase, captured, refunded,
      description, return_url, attempts, due, brand, last4, fingerprint, exp_month, exp_year,
      decline_code, cancellation, version, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
      $19, $20, $21, $22)";
const UPDATE: &str = "UPDATE payments SET phase = $2, captured = $3, refunded = $4, attempts = $5,
     due = $6, brand = $7, last4 = $8, fingerprint = $9, exp_month = $10, exp_year = $11,
     decline_code = $12, cancellation = $13, version = $14 WHERE id = $1";
const MOVE: &str = "INSERT INTO movements (payment, number, id, kind, reference, amount, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7)";

/// The payment of this id.
///
/// # Errors
/// An error of the database.
pub async fn by_id(database: &Database, id: &str) -> Result<Option<Stored>> {
    database.first(BY_ID, &[id.into()]).await
}

/// The same within a transaction.
///
/// # Errors
/// An error of the database.
pub async fn by_id_in(transaction: &mut Transaction, id: &str) -> Result<Option<Stored>> {
    transaction.first(BY_ID, &[id.into()]).await
}

/// The payment of a merchant's reference.
///
/// # Errors
/// An error of the database.
pub async fn by_reference(
    database: &Database,
    merchant: &str,
    reference: &str,
) -> Result<Option<Stored>> {
    database.first(BY_REFERENCE, &[merchant.into(), reference.into()]).await
}

/// The same within a transaction.
///
/// # Errors
/// An error of the database.
pub async fn by_reference_in(
    transaction: &mut Transaction,
    merchant: &str,
    reference: &str,
) -> Result<Option<Stored>> {
    transaction.first(BY_REFERENCE, &[merchant.into(), reference.into()]).await
}

/// The payment of a card form.
///
/// # Errors
/// An error of the database.
pub async fn by_checkout(database: &Database, checkout: &str) -> Result<Option<Stored>> {
    database.first(BY_CHECKOUT, &[checkout.into()]).await
}

/// At most 100 payments that change by themselves now, the longest due first.
///
/// # Errors
/// An error of the database.
pub async fn due(database: &Database, now: i64) -> Result<Vec<Stored>> {
    database.all(DUE, &[now.into()]).await
}

/// When the next payment changes by itself, milliseconds since 1970.
///
/// # Errors
/// An error of the database.
pub async fn next_due(database: &Database) -> Result<i64> {
    Ok(database.first(NEXT_DUE, &[]).await?.unwrap_or(i64::MAX))
}

/// Stores a new payment.
///
/// # Errors
/// An error of the database.
pub async fn insert(transaction: &mut Transaction, it: &Stored) -> Result<()> {
    let card = Columns::of(it);
    let values = [
        (&it.id).into(),
        (&it.merchant).into(),
        (&it.reference).into(),
        (&it.checkout).into(),
        it.state.amount.into(),
        it.currency.code().into(),
        it.state.phase.number().into(),
        it.state.captured.into(),
        it.state.refunded.into(),
        (&it.description).into(),
        (&it.return_url).into(),
        it.attempts.into(),
        it.due.into(),
        card.brand.into(),
        card.last4.into(),
        card.fingerprint.into(),
        card.expiry.month.into(),
        card.expiry.year.into(),
        card.decline_code.into(),
        card.cancellation.into(),
        it.version.into(),
        it.created.into(),
    ];
    transaction.run(INSERT, &values).await
}

/// Stores what may change of a payment.
///
/// # Errors
/// An error of the database.
pub async fn update(transaction: &mut Transaction, it: &Stored) -> Result<()> {
    let card = Columns::of(it);
    let values = [
        (&it.id).into(),
        it.state.phase.number().into(),
        it.state.captured.into(),
        it.state.refunded.into(),
        it.attempts.into(),
        it.due.into(),
        card.brand.into(),
        card.last4.into(),
        card.fingerprint.into(),
        card.expiry.month.into(),
        card.expiry.year.into(),
        card.decline_code.into(),
        card.cancellation.into(),
        it.version.into(),
    ];
    transaction.run(UPDATE, &values).await
}

/// The optional columns, where an empty text stands for nothing.
struct Columns<'p> {
    brand: &'static str,
    last4: &'p str,
    fingerprint: &'p str,
    expiry: Expiry,
    decline_code: &'static str,
    cancellation: &'static str,
}

impl<'p> Columns<'p> {
    fn of(it: &'p Stored) -> Self {
        let card = it.card.as_ref();
        let expiry = card.map(|card| Expiry { year: card.exp_year, month: card.exp_month });
        Self {
            brand: card.map_or("", |card| card.brand.name()),
            last4: card.map_or("", |card| &card.last4),
            fingerprint: card.map_or("", |card| &card.fingerprint),
            expiry: expiry.unwrap_or(Expiry { year: 0, month: 0 }),
            decline_code: it.decline_code.map_or("", DeclineCode::name),
            cancellation: it.cancellation.map_or("", Cancellation::name),
        }
    }
}

/// What a movement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Takes from the customer.
    Capture,
    /// Gives back.
    Refund,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Refund => "refund",
        }
    }

    /// How the ids of such movements begin.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Capture => "cap",
            Self::Refund => "ref",
        }
    }
}

/// A movement as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// What it does.
    pub kind: Kind,
    /// The movement.
    pub movement: Movement,
}

impl Record for Moved {
    fn read(fields: &impl Fields) -> database::Result<Self> {
        let kind = match fields.text(1)?.as_str() {
            "capture" => Kind::Capture,
            "refund" => Kind::Refund,
            _ => return Err(Error::Content("kind of a movement")),
        };
        let movement = Movement {
            id: fields.text(0)?,
            reference: fields.text(2)?,
            amount: fields.int(3)?,
            created_ms: fields.int(4)?,
        };
        Ok(Self { kind, movement })
    }
}

/// The movements of a payment, oldest first.
///
/// # Errors
/// An error of the database.
pub async fn movements(database: &Database, payment: &str) -> Result<Vec<Moved>> {
    database.all(MOVEMENTS, &[payment.into()]).await
}

/// The same within a transaction.
///
/// # Errors
/// An error of the database.
pub async fn movements_in(transaction: &mut Transaction, payment: &str) -> Result<Vec<Moved>> {
    transaction.all(MOVEMENTS, &[payment.into()]).await
}

/// Stores the `number`th movement of a payment.
///
/// # Errors
/// An error of the database.
pub async fn add_movement(
    transaction: &mut Transaction,
    payment: &str,
    number: i64,
    moved: &Moved,
) -> Result<()> {
    let values = [
        payment.into(),
        number.into(),
        (&moved.movement.id).into(),
        moved.kind.name().into(),
        (&moved.movement.reference).into(),
        moved.movement.amount.into(),
        moved.movement.created_ms.into(),
    ];
    transaction.run(MOVE, &values).await
}
