//! Captures, refunds, and payments that are given up.

use super::change::Change;
use super::request::Asked;
use crate::resource::{Cancellation, EventKind, Payment};
use crate::schema::NEVER;
use crate::state::{Impossible, Phase};
use crate::store::payments::{Kind, Moved, Stored};
use tidegate_sitekit::Problem;
use tidegate_sitekit::{Error, Result};

/// Most captures and refunds of a payment.
const MOST_MOVEMENTS: usize = 100;

/// A payment after a step, or why the step is not possible; then nothing was changed.
pub type Step = std::result::Result<Payment, Problem>;

/// Captures all or a part.
pub async fn capture(change: &mut Change<'_>, id: &str, asked: &Asked, last: bool) -> Result<Step> {
    let Some(mut payment) = change.payment(id).await? else { return Ok(Err(unknown())) };
    let moved = match possible(change, &payment, Kind::Capture, asked).await? {
        Ok(moved) => moved,
        Err(problem) => return Ok(Err(problem)),
    };
    let (state, amount) = match payment.state.capture(asked.amount, last) {
        Ok(next) => next,
        Err(impossible) => return Ok(Err(refused(&payment, "captured", impossible))),
    };
    payment.state = state;
    if state.capturable() == 0 {
        payment.due = NEVER;
    }
    change.add_movement(id, moved + 1, Kind::Capture, &asked.reference, amount).await?;
    change.store(&mut payment, Some(EventKind::Captured)).await?;
    change.view(&payment).await.map(Ok)
}

/// Refunds all or a part.
pub async fn refund(change: &mut Change<'_>, id: &str, asked: &Asked) -> Result<Step> {
    let Some(mut payment) = change.payment(id).await? else { return Ok(Err(unknown())) };
    let moved = match possible(change, &payment, Kind::Refund, asked).await? {
        Ok(moved) => moved,
        Err(problem) => return Ok(Err(problem)),
    };
    let (state, amount) = match payment.state.refund(asked.amount) {
        Ok(next) => next,
        Err(impossible) => return Ok(Err(refused(&payment, "refunded", impossible))),
    };
    payment.state = state;
    change.add_movement(id, moved + 1, Kind::Refund, &asked.reference, amount).await?;
    change.store(&mut payment, Some(EventKind::Refunded)).await?;
    change.view(&payment).await.map(Ok)
}

/// Gives up what is not captured of a payment, for a reason.
///
/// # Errors
/// The payment cannot be given up, which is a defect; an error of the database.
pub async fn give_up(
    change: &mut Change<'_>,
    payment: &mut Stored,
    why: Cancellation,
) -> Result<()> {
    let out_of_turn = |why| Error::Internal(format!("a step out of turn: {why:?}"));
    payment.state = payment.state.cancel().map_err(out_of_turn)?;
    payment.due = NEVER;
    if payment.state.phase == Phase::Cancelled {
        payment.cancellation = Some(why);
    }
    change.store(payment, Some(EventKind::Cancelled)).await
}

/// The number of movements so far, if there may be another one of this reference.
async fn possible(
    change: &mut Change<'_>,
    payment: &Stored,
    kind: Kind,
    asked: &Asked,
) -> Result<std::result::Result<usize, Problem>> {
    let moved = change.movements(&payment.id).await?;
    let same = |it: &Moved| it.kind == kind && it.movement.reference == asked.reference;
    if !asked.reference.is_empty() && moved.iter().any(same) {
        return Ok(Err(Problem::coded(
            409,
            "reference_exists",
            "This payment has one with this reference already: retrieve the payment, and use another reference for another one.",
        )
        .at("reference")));
    }
    if moved.len() >= MOST_MOVEMENTS {
        return Ok(Err(Problem::coded(
            409,
            "too_many_movements",
            "A payment has at most 100 captures and refunds.",
        )));
    }
    Ok(Ok(moved.len()))
}

fn unknown() -> Problem {
    Problem::coded(404, "payment_not_found", "There is no such payment of this merchant.")
}

fn refused(payment: &Stored, what: &str, impossible: Impossible) -> Problem {
    match impossible {
        Impossible::Status(status) => Problem::coded(
            409,
            "status_does_not_allow",
            format!(
                "The payment is {}: it cannot be {what}. Retrieve it to see what it allows.",
                status.name()
            ),
        ),
        Impossible::Exceeds(left) => Problem::of_field(
            "amount",
            "amount_too_large",
            format!("At most {} can be {what}: send {left} or less.", payment.currency.show(left)),
        ),
    }
}
