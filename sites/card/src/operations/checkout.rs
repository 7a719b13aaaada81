//! What customers do at the card form.

use super::authorise::{MOST_ATTEMPTS, apply};
use super::change::Change;
use super::moves::give_up;
use crate::app::App;
use crate::details::Card;
use crate::issuer::{self, Answer, DeclineCode, NoAnswer};
use crate::resource::Cancellation;
use crate::state::Phase;
use crate::store::payments::Stored;
use tidegate_sitekit::Result;

/// What a card has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The payment no longer waits for a card: it is authorised, in processing, or has ended.
    Over,
    /// The card was declined, and another one may be tried.
    Declined(DeclineCode),
    /// The issuer could not be asked; the same card may be tried again.
    Failed,
    /// It is no test card.
    NoTestCard,
}

/// Asks the issuer of the card that a customer has typed. Of several at once one asks.
///
/// # Errors
/// An error of the database; then nothing was changed.
pub async fn submit(app: &App, found: &Stored, card: &Card) -> Result<Submitted> {
    let mut change = Change::begin(app, &found.merchant).await?;
    let payment = change.payment(&found.id).await?;
    let waits = |payment: &Stored| payment.state.phase == Phase::RequiresCard;
    let Some(mut payment) = payment.filter(waits) else {
        change.rollback().await?;
        return Ok(Submitted::Over);
    };
    let attempt = payment.attempts + 1;
    let answer = match issuer::ask(card, attempt, change.now) {
        Ok(answer) => answer,
        Err(NoAnswer::NoTestCard) => {
            change.rollback().await?;
            return Ok(Submitted::NoTestCard);
        }
        Err(NoAnswer::Failed) => {
            // The attempt counts: the issuer answers the next one.
            payment.attempts = attempt;
            change.store(&mut payment, None).await?;
            change.commit().await?;
            return Ok(Submitted::Failed);
        }
    };
    let try_another = attempt < MOST_ATTEMPTS;
    apply(&mut change, &mut payment, card, answer, try_another).await?;
    change.commit().await?;
    match answer {
        Answer::Declined(code) if try_another => return Ok(Submitted::Declined(code)),
        Answer::Later => app.due.notify_one(),
        Answer::Declined(_) | Answer::Approved => {}
    }
    Ok(Submitted::Over)
}

/// The customer does not want to pay. Nothing happens if they have.
///
/// # Errors
/// An error of the database; then nothing was changed.
pub async fn cancel_by_customer(app: &App, found: &Stored) -> Result<()> {
    let mut change = Change::begin(app, &found.merchant).await?;
    let payment = change.payment(&found.id).await?;
    let waits = |payment: &Stored| payment.state.phase == Phase::RequiresCard;
    let Some(mut payment) = payment.filter(waits) else { return change.rollback().await };
    give_up(&mut change, &mut payment, Cancellation::Customer).await?;
    change.commit().await
}
