//! What an issuer's answer changes.

use std::time::Duration;

use super::change::Change;
use crate::details::Card;
use crate::issuer::{Answer, DeclineCode};
use crate::resource::{CardSummary, EventKind};
use crate::schema::NEVER;
use crate::state::Impossible;
use crate::store::payments::Stored;
use tidegate_sitekit::when::ms;
use tidegate_sitekit::{Error, Result};

/// Most cards that are tried at one form: whoever tries stolen numbers has few attempts.
pub const MOST_ATTEMPTS: i64 = 5;

/// Stores what an issuer's answer about a card changes. The payment waits for a card.
pub async fn apply(
    change: &mut Change<'_>,
    payment: &mut Stored,
    card: &Card,
    answer: Answer,
    try_another: bool,
) -> Result<()> {
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
        Answer::Approved => approved(change, payment).await,
        Answer::Declined(code) => declined(change, payment, code, try_another).await,
        Answer::Later => {
            payment.due = after(change.now, change.app().slow_card);
            change.store(payment, None).await
        }
    }
}

/// The issuer has authorised a payment that was in processing.
pub async fn approved(change: &mut Change<'_>, payment: &mut Stored) -> Result<()> {
    payment.state = payment.state.authorise().map_err(out_of_turn)?;
    payment.decline_code = None;
    payment.due = after(change.now, change.app().limits.authorisation_lasts);
    change.store(payment, Some(EventKind::Authorised)).await
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

/// A time after another one.
pub fn after(time: i64, duration: Duration) -> i64 {
    time.saturating_add(ms(duration))
}

fn out_of_turn(impossible: Impossible) -> Error {
    Error::Internal(format!("a step out of turn: {impossible:?}"))
}
