//! A stored payment as its merchant sees it.

use crate::app::App;
use crate::resource::Payment;
use crate::schema::NEVER;
use crate::state::Phase;
use crate::store::payments::{Kind, Moved, Stored};

/// A payment with its movements, oldest first.
pub fn payment(app: &App, stored: &Stored, movements: Vec<Moved>) -> Payment {
    let (captures, refunds): (Vec<_>, Vec<_>) =
        movements.into_iter().partition(|moved| moved.kind == Kind::Capture);
    let only = |moved: Vec<Moved>| moved.into_iter().map(|moved| moved.movement).collect();
    let waits = matches!(stored.state.phase, Phase::RequiresCard | Phase::Open);
    Payment {
        id: stored.id.clone(),
        reference: stored.reference.clone(),
        amount: stored.state.amount,
        currency: stored.currency,
        status: stored.state.status(),
        amount_capturable: stored.state.capturable(),
        amount_captured: stored.state.captured,
        amount_refunded: stored.state.refunded,
        description: stored.description.clone(),
        card: stored.card.clone(),
        decline_code: stored.decline_code,
        cancellation: stored.cancellation,
        checkout_url: app.checkout_url(&stored.checkout),
        return_url: stored.return_url.clone(),
        captures: only(captures),
        refunds: only(refunds),
        version: stored.version,
        created_ms: stored.created,
        expires_ms: (waits && stored.due != NEVER).then_some(stored.due),
    }
}
