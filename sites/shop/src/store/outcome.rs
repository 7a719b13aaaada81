//! What becomes of the payment of an order, stored with what follows from it: the order is paid
//! once, or its goods are in stock again once.

use super::orders::{Reason, State};
use super::queue::{self, Step};
use tidegate_sitekit::database::{Database, Transaction};
use tidegate_sitekit::{Result, locking, values};

/// How far a payment has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits for a card, at this URL.
    Form(String),
    /// The card is authorised.
    Authorised,
    /// It is taken, from this card.
    Captured(String),
    /// It will never be.
    Over(Reason),
}

/// After so many milliseconds the processor is asked whether a customer has paid who has not
/// come back from the card form.
const LOOK: i64 = 10 * 60 * 1000;

/// Stores what a payment of this version says, and what is to be done next; returns what the
/// order is then. What is older than what is known, or comes again, changes nothing.
pub async fn note(database: &Database, order: i64, stage: &Stage, version: i64) -> Result<State> {
    let mut transaction = database.begin_on_disk().await?;
    let lock = locking!("SELECT state, version FROM orders WHERE id = $1");
    let found: Option<(State, i64)> = transaction.lock(lock, &values![order]).await?;
    let Some((state, known)) = found else {
        transaction.rollback().await?;
        return Ok(State::Cancelled);
    };
    if !state.is_open() || version < known {
        transaction.rollback().await?;
        return Ok(state);
    }
    let next = advance(&mut transaction, order, state, stage).await?;
    let sql = "UPDATE orders SET state = $2, version = $3 WHERE id = $1";
    transaction.run(sql, &values![order, next, version]).await?;
    transaction.commit().await?;
    Ok(next)
}

/// Cancels an order whose payment was never made.
pub async fn fail(database: &Database, order: i64, reason: Reason) -> Result<State> {
    note(database, order, &Stage::Over(reason), i64::MAX).await
}

async fn advance(
    transaction: &mut Transaction,
    order: i64,
    state: State,
    stage: &Stage,
) -> Result<State> {
    Ok(match stage {
        Stage::Form(url) if state == State::Asked => {
            let sql = "UPDATE orders SET form = $2 WHERE id = $1";
            transaction.run(sql, &values![order, url]).await?;
            queue::push(transaction, order, Step::Look, queue::now() + LOOK).await?;
            State::Form
        }
        Stage::Form(_) => state,
        Stage::Authorised if state == State::Authorised => state,
        Stage::Authorised => {
            queue::push(transaction, order, Step::Capture, queue::now()).await?;
            State::Authorised
        }
        Stage::Captured(card) => {
            let sql = "UPDATE orders SET card = $2 WHERE id = $1";
            transaction.run(sql, &values![order, card]).await?;
            State::Paid
        }
        Stage::Over(reason) => {
            let sql = "UPDATE orders SET reason = $2 WHERE id = $1";
            transaction.run(sql, &values![order, *reason]).await?;
            give_back(transaction, order).await?;
            State::Cancelled
        }
    })
}

/// Puts the goods of an order back into stock.
async fn give_back(transaction: &mut Transaction, order: i64) -> Result<()> {
    let sql = "SELECT product, quantity FROM order_lines WHERE order_id = $1 ORDER BY product";
    let lines: Vec<(i64, i64)> = transaction.all(sql, &values![order]).await?;
    for (product, quantity) in lines {
        let sql = "UPDATE products SET stock = stock + $2 WHERE id = $1";
        transaction.run(sql, &values![product, quantity]).await?;
    }
    Ok(())
}
