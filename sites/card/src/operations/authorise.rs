//! What an issuer's answer changes.

use std::time::Duration;

use super::change::Change;
use crate::app::ms;
use crate::details::Card;
use crate::issuer::{Answer, Behaviour, DeclineCode};
use crate::resource::{CardSummary, EventKind};
use crate::schema::NEVER;
use crate::state::{Impossible, State};
use crate::store::payments::{Kind, Stored};
use tidegate_sitekit::{Error, Result};

/// Most cards that are tried at one form: whoever tries stolen numbers has few attempts.
pub const MOST_ATTEMPTS: i64 = 5;

/// What an issuer's answer has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Led {
    /// The payment is authorised, and captured if it is to be.
    Authorised,
    /// The card was declined.
    Declined(DeclineCode),
    /// The issuer answers after some time.
    Later(Behaviour),
}

/// Stores what an issuer's answer about a card changes. The payment waits for a card.
///
/// # Errors
/// An error of the database.
pub async fn apply(
    change: &mut Change<'_>,
    payment: &mut Stored,
    card: &Card,
    answer: Answer,
    try_another: bool,
) -> Result<Led> {
    payment.attempts += 1;
    payment.card = Some(CardSummary {
        brand: card.number.brand(),
        last4: card.number.last4(),
        exp_month: card.expiry.month,
        exp_year: card.expiry.year,
        fingerprint: card.number.fingerprint(change.app().keys.fingerprints()),
    });
    payment.state = payment.state.submit().map_err(out_of_turn)?;
    match answer {
        Answer::Approved => {
            approved(change, payment).await?;
            Ok(Led::Authorised)
        }
        Answer::Declined(code) => {
            declined(change, payment, code, try_another).await?;
            Ok(Led::Declined(code))
        }
        Answer::Later(behaviour) => {
            payment.due = after(change.now, change.app().slow_card);
            change.store(payment, None).await?;
            Ok(Led::Later(behaviour))
        }
    }
}

/// The issuer has authorised a payment that was in processing.
///
/// # Errors
/// An error of the database.
pub async fn approved(change: &mut Change<'_>, payment: &mut Stored) -> Result<()> {
    payment.state = payment.state.authorise().map_err(out_of_turn)?;
    payment.decline_code = None;
    payment.due = after(change.now, change.app().limits.authorisation_lasts);
    change.store(payment, Some(EventKind::Authorised)).await?;
    if payment.automatic {
        let number = change.movements(&payment.id).await?.len() + 1;
        let (state, amount) = payment.state.capture(None, true).map_err(out_of_turn)?;
        take(change, payment, state, number, "", amount).await?;
    }
    Ok(())
}

async fn declined(
    change: &mut Change<'_>,
    payment: &mut Stored,
    code: DeclineCode,
    try_another: bool,
) -> Result<()> {
    payment.state = payment.state.decline(try_another).map_err(out_of_turn)?;
    payment.decline_code = Some(code);
    let lasts = change.app().limits.checkout_lasts;
    payment.due = if try_another { after(payment.created, lasts) } else { NEVER };
    change.store(payment, (!try_another).then_some(EventKind::Declined)).await
}

/// Stores a capture that the state allows.
///
/// # Errors
/// An error of the database.
pub async fn take(
    change: &mut Change<'_>,
    payment: &mut Stored,
    state: State,
    number: usize,
    reference: &str,
    amount: i64,
) -> Result<()> {
    payment.state = state;
    if state.capturable() == 0 {
        payment.due = NEVER;
    }
    change.add_movement(&payment.id, number, Kind::Capture, reference, amount).await?;
    change.store(payment, Some(EventKind::Captured)).await
}

/// A time after another one.
pub fn after(time: i64, duration: Duration) -> i64 {
    time.saturating_add(ms(duration))
}

fn out_of_turn(impossible: Impossible) -> Error {
    Error::Internal(format!("a step out of turn: {impossible:?}"))
}
