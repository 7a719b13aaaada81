//! Payments and their movements: captures and refunds.

use crate::amount::Currency;
use crate::details::Expiry;
use crate::issuer::DeclineCode;
use crate::resource::{Cancellation, CardSummary, Movement};
use crate::state::State;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::{self, Columns, Database, Error, Record, Transaction, Value};
use tidegate_sitekit::named;
use tidegate_sitekit::record;
use tidegate_sitekit::values;

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
    /// Shown to the customer.
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

record!(Stored {
    id,
    merchant,
    reference,
    checkout,
    state,
    currency,
    description,
    return_url,
    attempts,
    due,
    card,
    decline_code,
    cancellation,
    version,
    created
});
record!(State { amount, phase, captured, refunded });

impl Record for Currency {
    fn read(columns: &mut Columns<'_>) -> database::Result<Self> {
        Self::of_code(&columns.next::<String>()?).ok_or(Error::Content("currency"))
    }
}

impl From<&Currency> for Value<'_> {
    fn from(currency: &Currency) -> Self {
        Self::Text(currency.code())
    }
}

impl Record for CardSummary {
    fn read(columns: &mut Columns<'_>) -> database::Result<Self> {
        Self::read_optional(columns)?.ok_or(Error::Content("card"))
    }

    fn read_optional(columns: &mut Columns<'_>) -> database::Result<Option<Self>> {
        let (brand, last4, fingerprint): (Option<_>, _, _) = columns.next()?;
        let (exp_month, exp_year) = columns.next()?;
        Ok(brand.map(|brand| Self { brand, last4, exp_month, exp_year, fingerprint }))
    }
}

/// The columns, in the order in which a payment is read.
macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT id, merchant, reference, checkout, amount, phase, captured, refunded, \
             currency, description, return_url, attempts, due, brand, last4, \
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
pub(super) const MOVEMENTS: &str = "SELECT kind, id, reference, amount, created FROM movements
     WHERE payment = $1 ORDER BY number";

const STORE: &str = "INSERT INTO payments
     (id, merchant, reference, checkout, amount, currency, phase, captured, refunded,
      description, return_url, attempts, due, brand, last4, fingerprint, exp_month, exp_year,
      decline_code, cancellation, version, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
      $19, $20, $21, $22)
     ON CONFLICT (id) DO UPDATE SET phase = excluded.phase, captured = excluded.captured,
      refunded = excluded.refunded, attempts = excluded.attempts, due = excluded.due,
      brand = excluded.brand, last4 = excluded.last4, fingerprint = excluded.fingerprint,
      exp_month = excluded.exp_month, exp_year = excluded.exp_year,
      decline_code = excluded.decline_code, cancellation = excluded.cancellation,
      version = excluded.version";
const MOVE: &str = "INSERT INTO movements (payment, number, id, kind, reference, amount, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7)";

/// The payment of this id.
pub async fn by_id(database: &Database, id: &str) -> Result<Option<Stored>> {
    database.first(BY_ID, &values![id]).await
}

/// The same within a transaction.
pub async fn by_id_in(transaction: &mut Transaction, id: &str) -> Result<Option<Stored>> {
    transaction.first(BY_ID, &values![id]).await
}

/// The payment of a merchant's reference.
pub async fn by_reference(
    database: &Database,
    merchant: &str,
    reference: &str,
) -> Result<Option<Stored>> {
    database.first(BY_REFERENCE, &values![merchant, reference]).await
}

/// The same within a transaction.
pub async fn by_reference_in(
    transaction: &mut Transaction,
    merchant: &str,
    reference: &str,
) -> Result<Option<Stored>> {
    transaction.first(BY_REFERENCE, &values![merchant, reference]).await
}

/// The payment of a card form.
pub async fn by_checkout(database: &Database, checkout: &str) -> Result<Option<Stored>> {
    database.first(BY_CHECKOUT, &values![checkout]).await
}

/// At most 100 payments that change by themselves now, the longest due first.
pub async fn due(database: &Database, now: i64) -> Result<Vec<Stored>> {
    database.all(DUE, &values![now]).await
}

/// When the next payment changes by itself, milliseconds since 1970.
pub async fn next_due(database: &Database) -> Result<i64> {
    Ok(database.first(NEXT_DUE, &[]).await?.unwrap_or(i64::MAX))
}

/// Stores a new payment, or what may change of one.
pub async fn store(transaction: &mut Transaction, it: &Stored) -> Result<()> {
    let card = Written::of(it);
    let values = values![
        it.id,
        it.merchant,
        it.reference,
        it.checkout,
        it.state.amount,
        it.currency,
        it.state.phase,
        it.state.captured,
        it.state.refunded,
        it.description,
        it.return_url,
        it.attempts,
        it.due,
        card.brand,
        card.last4,
        card.fingerprint,
        card.expiry.month,
        card.expiry.year,
        card.decline_code,
        card.cancellation,
        it.version,
        it.created
    ];
    transaction.run(STORE, &values).await
}

/// The optional columns, where an empty text stands for nothing.
struct Written<'p> {
    brand: &'static str,
    last4: &'p str,
    fingerprint: &'p str,
    expiry: Expiry,
    decline_code: &'static str,
    cancellation: &'static str,
}

impl<'p> Written<'p> {
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

named!(Kind: Capture = "capture", Refund = "refund");

impl Kind {
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

record!(Moved { kind, movement });
record!(Movement { id, reference, amount, created_ms });

/// The movements of a payment, oldest first.
pub async fn movements(database: &Database, payment: &str) -> Result<Vec<Moved>> {
    database.all(MOVEMENTS, &values![payment]).await
}

/// The same within a transaction.
pub async fn movements_in(transaction: &mut Transaction, payment: &str) -> Result<Vec<Moved>> {
    transaction.all(MOVEMENTS, &values![payment]).await
}

/// Stores the `number`th movement of a payment.
pub async fn add_movement(
    transaction: &mut Transaction,
    payment: &str,
    number: i64,
    moved: &Moved,
) -> Result<()> {
    let values = values![
        payment,
        number,
        moved.movement.id,
        moved.kind,
        moved.movement.reference,
        moved.movement.amount,
        moved.movement.created_ms
    ];
    transaction.run(MOVE, &values).await
}
