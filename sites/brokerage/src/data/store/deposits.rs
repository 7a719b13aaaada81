//! Deposits by card, and their outbox: an open deposit has one entry, which says what is to be
//! done for it at the card processor.

use super::cash::missing;
use super::{customers, sessions};
use crate::error::Result;
use crate::protocol::deposits::back::{
    BeginDeposit, DepositBegun, DepositList, DepositStep, DepositWithWish, PostponeWish,
    ReadDeposit, ReadDeposits, ReadWishes, Wish, Wishes,
};
use crate::protocol::{Deposit, DepositState, Problem};
use tidegate_sitekit::database::{self, Columns, Database, Record, Transaction};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::values;

/// Most deposits of a customer that are open at a time. Requests at the same moment may pass
/// it by a few.
pub const MOST_OPEN: i64 = 20;

const INSERT: &str = "INSERT INTO deposits (customer, name, reference, cents, state, reason, form,
         card, version, created, closed)
     VALUES ($1, $2, $3, $4, 0, 0, '', '', 0, $5, 0)
     ON CONFLICT (customer, name) DO NOTHING RETURNING id";
const OPEN: &str = "SELECT COUNT(*) FROM deposits WHERE customer = $1 AND state < 3";
const WISH: &str = "INSERT INTO deposit_outbox (deposit, step, attempts, due_ms)
     VALUES ($1, $2, 0, $3)
     ON CONFLICT (deposit) DO UPDATE
     SET step = excluded.step, attempts = 0, due_ms = excluded.due_ms";

/// The columns of a deposit with its entry of the outbox.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT d.id, d.cents, d.state, d.reason, d.form, d.card, d.created, d.closed,
             d.reference, COALESCE(o.step, 0), COALESCE(o.attempts, 0)
             FROM deposits d ",
            $rest
        )
    };
}

const BY_NAME: &str =
    select!("LEFT JOIN deposit_outbox o ON o.deposit = d.id WHERE d.customer = $1 AND d.name = $2");
const BY_NUMBER: &str =
    select!("LEFT JOIN deposit_outbox o ON o.deposit = d.id WHERE d.id = $1 AND d.customer = $2");
const LIST: &str = select!(
    "LEFT JOIN deposit_outbox o ON o.deposit = d.id
     WHERE d.customer = $1 AND d.id < $2 ORDER BY d.id DESC LIMIT $3"
);
const DUE: &str = "SELECT d.id, d.cents, d.state, d.reason, d.form, d.card, d.created, d.closed,
         d.reference, o.step, o.attempts
     FROM deposit_outbox o JOIN deposits d ON d.id = o.deposit
     WHERE o.due_ms <= $1 ORDER BY o.due_ms LIMIT $2";

impl Record for DepositWithWish {
    fn read(columns: &mut Columns<'_>) -> database::Result<Self> {
        let (number, amount, state) = columns.next()?;
        let (reason, form, card) = columns.next()?;
        let (created, closed) = columns.next()?;
        let (reference, step, attempts): (_, Option<DepositStep>, _) = columns.next()?;
        let form = Option::filter(form, |_: &String| state == DepositState::Form);
        // A look is tried again because the customer has not paid, and not for want of an
        // answer.
        let unanswered = if step == Some(DepositStep::Look) { 0 } else { attempts };
        let deposit =
            Deposit { number, amount, state, reason, form, card, unanswered, created, closed };
        let wish = step.map(|step| Wish { number, reference, amount, step, attempts, created });
        Ok(Self { deposit, wish })
    }
}

/// Stores a deposit with the wish to create its payment, in one transaction that is on the disk
/// when it returns: the processor remembers what it is asked for, so the brokerage must too.
///
/// # Errors
/// The session is over, the amount is invalid, or too many deposits are open; an error of the
/// database, and nothing was changed.
pub async fn begin(
    database: &Database,
    request: BeginDeposit,
    now: i64,
    now_ms: u64,
) -> Result<DepositBegun> {
    let BeginDeposit { session, id, reference, amount, due_in_ms } = request;
    let customer = sessions::customer(database, &session, now).await?;
    if !(1..=Cents::MOST.0).contains(&amount.0) {
        let why = format!("{amount} is not between $0.01 and {}.", Cents::MOST);
        return Err(Problem::new(400, "A deposit has no amount", why, "Correct it.").into());
    }
    let mut transaction = database.begin_on_disk().await?;
    let values = values![customer, id.as_str(), reference, amount, now];
    let inserted = transaction.first::<i64>(INSERT, &values).await?;
    if let Some(number) = inserted {
        if transaction.first::<i64>(OPEN, &values![customer]).await? > Some(MOST_OPEN) {
            transaction.rollback().await?;
            return Err(Problem::new(
                409,
                "Too many deposits are open",
                format!("{MOST_OPEN} of your deposits are not finished yet."),
                "Pay or cancel one of them at its card form, then make a new one.",
            )
            .into());
        }
        wish(&mut transaction, number, DepositStep::Create, ms(now_ms + due_in_ms)).await?;
    }
    let values = values![customer, id.as_str()];
    let found = transaction.first::<DepositWithWish>(BY_NAME, &values).await?;
    let deposit = found.ok_or_else(|| missing("a deposit"))?.deposit;
    transaction.commit_if(inserted.is_some()).await?;
    Ok(DepositBegun { deposit, repeated: inserted.is_none() })
}

/// Writes the entry of a deposit, in place of the one before.
pub(super) async fn wish(
    transaction: &mut Transaction,
    number: i64,
    step: DepositStep,
    due_ms: i64,
) -> tidegate_sitekit::Result<()> {
    let values = values![number, step, due_ms];
    transaction.run(WISH, &values).await
}

/// Milliseconds as they are stored.
pub(super) fn ms(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// A deposit of the customer.
///
/// # Errors
/// The session is over, or the customer has no such deposit; an error of the database.
pub async fn read(database: &Database, request: ReadDeposit, now: i64) -> Result<DepositWithWish> {
    let customer = sessions::customer(database, &request.session, now).await?;
    let values = values![request.number, customer];
    let found = database.first::<DepositWithWish>(BY_NUMBER, &values).await?;
    Ok(found.ok_or_else(|| {
        let why = "You have no deposit of this number.";
        Problem::new(404, "There is no such deposit", why, "Look at your deposits.")
    })?)
}

/// Deposits of a customer, newest first.
///
/// # Errors
/// The session is over; an error of the database.
pub async fn list(database: &Database, request: ReadDeposits, now: i64) -> Result<DepositList> {
    let customer = sessions::customer(database, &request.session, now).await?;
    let most = request.most.clamp(1, 200);
    let values = values![customer, request.before.unwrap_or(i64::MAX), most + 1];
    let found: Vec<DepositWithWish> = database.all(LIST, &values).await?;
    let mut deposits: Vec<Deposit> = found.into_iter().map(|found| found.deposit).collect();
    let most = usize::try_from(most).expect("at most 200");
    let more = deposits.len() > most;
    deposits.truncate(most);
    let available = customers::available(database, customer).await?;
    Ok(DepositList { deposits, more, available })
}

/// Entries of the outbox that are due, oldest first.
pub async fn due(database: &Database, request: ReadWishes, now_ms: u64) -> Result<Wishes> {
    let values = values![ms(now_ms), request.most.clamp(1, 200)];
    let found: Vec<DepositWithWish> = database.all(DUE, &values).await?;
    Ok(Wishes { wishes: found.into_iter().filter_map(|found| found.wish).collect() })
}

/// Puts an entry off, unless another step has taken its place.
pub async fn postpone(database: &Database, request: PostponeWish, now_ms: u64) -> Result<()> {
    let sql = "UPDATE deposit_outbox SET attempts = attempts + 1, due_ms = $3
               WHERE deposit = $1 AND step = $2";
    let due = ms(now_ms.saturating_add(request.for_ms));
    let values = values![request.number, request.step, due];
    Ok(database.run(sql, &values).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::store::tests::World;

    #[tokio::test]
    async fn the_outbox_and_lists_are_looked_up_in_indexes() {
        let world = World::new().await;
        let three = values![1, 1, 1];
        for (sql, values, index) in [
            (DUE, &three[..2], "deposit_outbox_due"),
            (LIST, &three[..], "deposits_customer"),
            (BY_NAME, &three[..2], "deposits_name"),
            (OPEN, &three[..1], "deposits_open"),
        ] {
            let plan = world.plan(sql, values).await;
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
