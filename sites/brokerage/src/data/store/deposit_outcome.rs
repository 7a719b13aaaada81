//! What becomes of deposits: what the card processor tells of a payment is stored together with
//! all that follows from it.

use super::deposits::{ms, wish};
use super::payments::{self, Added};
use crate::error::Result;
use crate::protocol::deposits::back::{
    DepositStep, FailDeposit, NotePayment, PaymentNoted, SeenPayment, Stage,
};
use crate::protocol::{DepositReason, DepositState, Problem};
use tidegate_sitekit::database::{Database, LockingSql, Transaction};
use tidegate_sitekit::locking;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::record;
use tidegate_sitekit::values;

/// How long after its creation a payment is looked for, if no webhook tells of it,
/// milliseconds.
const FIRST_LOOK_MS: u64 = 10_000;
/// How long ids of events are kept, seconds: longer than the processor repeats an event.
const EVENTS_KEPT: i64 = 8 * 24 * 3600;

const EVENT: &str =
    "INSERT INTO card_events (id, at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING at";
const TARGET: LockingSql = locking!(
    "SELECT id, customer, cents, state, version, reference FROM deposits WHERE reference = $1"
);
const TARGET_BY_NUMBER: LockingSql =
    locking!("SELECT id, customer, cents, state, version, reference FROM deposits WHERE id = $1");
const CHANGE: &str = "UPDATE deposits
     SET state = $2, reason = $3, form = $4, card = $5, version = $6, closed = $7 WHERE id = $1";

/// What of a deposit is needed to change it.
struct Target {
    number: i64,
    customer: i64,
    amount: Cents,
    state: DepositState,
    version: i64,
    reference: String,
}

record!(Target { number, customer, amount, state, version, reference });

/// What follows from a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    state: DepositState,
    reason: DepositReason,
    form: String,
    card: String,
    /// What is captured becomes a part of the customer's cash.
    credit: Option<Cents>,
    /// What is to be done next, and in how many milliseconds.
    then: Option<(DepositStep, u64)>,
}

impl Change {
    fn to(state: DepositState, reason: DepositReason) -> Self {
        let (form, card) = (String::new(), String::new());
        Self { state, reason, form, card, credit: None, then: None }
    }
}

/// What follows from a payment that has come so far, for a deposit in this state; nothing if it
/// was known before.
fn change(state: DepositState, stage: Stage) -> Option<Change> {
    use DepositState::{Abandoned, Asked, Authorised, Declined, Form, Paid};
    let none = DepositReason::None;
    match (state, stage) {
        (Paid, _) => None,
        (Asked, Stage::Form(form)) => {
            let then = Some((DepositStep::Look, FIRST_LOOK_MS));
            Some(Change { form, then, ..Change::to(Form, none) })
        }
        (Asked | Form, Stage::Authorised) => {
            let then = Some((DepositStep::Capture, 0));
            Some(Change { then, ..Change::to(Authorised, none) })
        }
        // Whatever was thought of it: who was charged gets the cash.
        (_, Stage::Captured { amount, card }) => {
            Some(Change { card, credit: Some(amount), ..Change::to(Paid, none) })
        }
        (state, _) if !state.is_open() => None,
        (_, Stage::Form(_) | Stage::Authorised) => None,
        (_, Stage::Declined(reason)) => Some(Change::to(Declined, reason)),
        (_, Stage::Cancelled(reason)) => Some(Change::to(Abandoned, reason)),
    }
}

/// Stores what the processor tells of a payment, with the cash, the next entry of the outbox
/// and the id of the event, in one transaction.
///
/// # Errors
/// The payment is not of the deposit's amount, or nothing or more than that is captured: a defect
/// or a forgery; an error of the database. Nothing was changed then.
pub async fn note(
    database: &Database,
    request: NotePayment,
    now: i64,
    now_ms: u64,
) -> Result<PaymentNoted> {
    let NotePayment { payment, event } = request;
    let mut transaction = database.begin().await?;
    if let Some(event) = event {
        let values = values![event, now];
        if transaction.first::<i64>(EVENT, &values).await?.is_none() {
            transaction.rollback().await?;
            return Ok(PaymentNoted { state: None, repeated: true });
        }
    }
    let target = transaction.lock::<Target>(TARGET, &values![payment.reference]).await?;
    let state = match target {
        Some(target) => Some(follow(&mut transaction, &target, payment, now, now_ms).await?),
        None => None,
    };
    transaction.commit().await?;
    Ok(PaymentNoted { state, repeated: false })
}

/// The state of the deposit afterwards.
async fn follow(
    transaction: &mut Transaction,
    target: &Target,
    payment: SeenPayment,
    now: i64,
    now_ms: u64,
) -> Result<DepositState> {
    let SeenPayment { amount, version, stage, .. } = payment;
    if amount != target.amount {
        let why =
            format!("Deposit {} is of {}, its payment of {amount}.", target.number, target.amount);
        let remedy = "Look at the payment at the card processor.";
        return Err(Problem::new(409, "A payment is not that of its deposit", why, remedy).into());
    }
    if let Stage::Captured { amount: captured, .. } = &stage
        && !(Cents(1)..=target.amount).contains(captured)
    {
        let (number, of) = (target.number, target.amount);
        let why = format!("Deposit {number} is of {of}; of its payment {captured} is captured.");
        let remedy = "Look at the payment at the card processor.";
        return Err(Problem::new(409, "A payment is not that of its deposit", why, remedy).into());
    }
    // An older copy tells nothing that a newer one has not told.
    let change = change(target.state, stage).filter(|_| version >= target.version);
    let Some(change) = change else { return Ok(target.state) };
    if let Some(captured) = change.credit {
        let (customer, reference) = (target.customer, &target.reference);
        let added = payments::enter(transaction, customer, reference, captured, now).await?;
        if added == Added::Otherwise {
            tracing::error!(
                deposit = target.number,
                reference,
                "a payment of this name was credited before with another amount or to another \
                 customer; that one stands"
            );
        }
    }
    let closed = if change.state.is_open() { 0 } else { now };
    let values = values![
        target.number,
        change.state,
        change.reason,
        change.form,
        change.card,
        version,
        closed
    ];
    transaction.run(CHANGE, &values).await?;
    match change.then {
        Some((step, in_ms)) => wish(transaction, target.number, step, ms(now_ms + in_ms)).await?,
        None => no_wish(transaction, target.number).await?,
    }
    Ok(change.state)
}

async fn no_wish(transaction: &mut Transaction, number: i64) -> tidegate_sitekit::Result<()> {
    transaction.run("DELETE FROM deposit_outbox WHERE deposit = $1", &values![number]).await
}

/// Ends a deposit that the processor was asked for in vain, with its entry of the outbox, unless
/// another step has taken the place of the one that was tried.
pub async fn fail(database: &Database, request: FailDeposit, now: i64) -> Result<()> {
    let mut transaction = database.begin().await?;
    let target = transaction.lock::<Target>(TARGET_BY_NUMBER, &values![request.number]).await?;
    let sql = "SELECT step FROM deposit_outbox WHERE deposit = $1";
    let step = transaction.first::<i64>(sql, &values![request.number]).await?;
    if let Some(target) = target.filter(|_| step == Some(request.step.number())) {
        let values = values![
            target.number,
            DepositState::Failed,
            request.reason,
            "",
            "",
            target.version,
            now
        ];
        transaction.run(CHANGE, &values).await?;
        no_wish(&mut transaction, target.number).await?;
    }
    Ok(transaction.commit().await?)
}

/// Forgets the ids of old events.
pub async fn forget_events(database: &Database, now: i64) -> tidegate_sitekit::Result<()> {
    let sql = "DELETE FROM card_events WHERE at < $1";
    database.run(sql, &values![now - EVENTS_KEPT]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured() -> Stage {
        Stage::Captured { amount: Cents(100), card: "Visa 4242".into() }
    }

    #[test]
    fn a_deposit_goes_forward_alone_and_ends_once() {
        use DepositState::{Abandoned, Asked, Authorised, Declined, Form, Paid};
        let declined = || Stage::Declined(DepositReason::Funds);
        let cancelled = || Stage::Cancelled(DepositReason::Customer);
        let form = || Stage::Form("https://card.example/1".into());
        for (state, stage, expected) in [
            (Asked, form(), Some(Form)),
            (Asked, Stage::Authorised, Some(Authorised)),
            (Asked, captured(), Some(Paid)),
            (Form, form(), None),
            (Form, Stage::Authorised, Some(Authorised)),
            (Form, captured(), Some(Paid)),
            (Form, declined(), Some(Declined)),
            (Form, cancelled(), Some(Abandoned)),
            (Authorised, form(), None),
            (Authorised, Stage::Authorised, None),
            (Authorised, captured(), Some(Paid)),
            (Authorised, cancelled(), Some(Abandoned)),
        ] {
            let next = change(state, stage.clone());
            assert_eq!(next.as_ref().map(|next| next.state), expected, "{state:?} {stage:?}");
            if let Some(next) = next {
                assert_eq!(next.then.is_some(), next.state.is_open(), "{state:?} {stage:?}");
                assert_eq!(next.credit.is_some(), next.state == Paid, "{state:?} {stage:?}");
            }
        }
        for state in [Paid, Declined, Abandoned, DepositState::Failed] {
            for stage in [form(), Stage::Authorised, declined(), cancelled()] {
                assert_eq!(change(state, stage), None, "{state:?}");
            }
            // Money that was taken is the customer's, once.
            assert_eq!(change(state, captured()).is_none(), state == Paid, "{state:?}");
        }
    }
}
