//! The class of a connection: new, or returning with a ticket from which the handshake
//! will resume. Decided from the hello alone, before any public-key operation.

use crate::admission::negotiation::{Agreement, Offer};
use crate::admission::tickets::{Claims, Keyring, Terms, TicketError};
use crate::telemetry::labels::TicketResult;
use rustls::AlertDescription;
use tidegate_hello::negotiate::{self, Choice, Resumption, TLS13, server_name_hash};
use tidegate_hello::{ClientHello, UnusableName};

/// What a hello shows.
#[derive(Clone, Copy, Debug)]
pub struct Classification {
    /// What a handshake will agree on, and the terms of its tickets; or the alert with which
    /// it must fail.
    pub agreed: Result<(Agreement, Terms), AlertDescription>,
    /// Whether a full handshake can be signed so that the client accepts it, or the alert with
    /// which it must fail.
    pub signed: Result<(), AlertDescription>,
    /// Hash of the requested server name.
    pub server_name: u64,
    /// The server name, if it is unusable.
    pub unusable_name: Option<UnusableName>,
    /// What became of its ticket; `None` without one.
    pub ticket: Option<TicketResult>,
    /// The claims of a good ticket.
    pub claims: Option<Claims>,
}

/// Classifies a hello. A hello with more than `most_identities` ticket identities is
/// new. `now` is in seconds since 1970.
pub fn classify(
    offer: &Offer,
    keyring: &Keyring,
    hello: &ClientHello,
    most_identities: usize,
    now: u64,
) -> Classification {
    let unusable_name = hello.unusable_name();
    let agreed = offer.choose(hello).and_then(|agreed| match unusable_name {
        // The name of a second hello cannot be hidden.
        Some(_) if agreed.choice.retry => Err(AlertDescription::UnrecognisedName),
        _ => Ok(agreed),
    });
    let found = match &agreed {
        Ok(Agreement { choice, .. })
            if choice.version == TLS13 && hello.psk_offered() > most_identities =>
        {
            Some(Err(TicketResult::TooMany))
        }
        Ok(Agreement { choice, .. }) => first_good(offer, keyring, hello, choice, now),
        Err(_) => None,
    };
    Classification {
        agreed: agreed.map(|agreed| (agreed, Terms::of(hello, &agreed.choice))),
        signed: agreed.and_then(|agreed| offer.can_sign(hello, &agreed)),
        server_name: server_name_hash(hello.server_name()),
        unusable_name,
        ticket: found.map(|found| found.err().unwrap_or(TicketResult::Good)),
        claims: found.and_then(Result::ok),
    }
}

/// The claims of the first ticket from which the TLS library will resume; it skips
/// those that do not open or do not fit. `None` without a ticket.
fn first_good(
    offer: &Offer,
    keyring: &Keyring,
    hello: &ClientHello,
    choice: &Choice,
    now: u64,
) -> Option<Result<Claims, TicketResult>> {
    let mut why = None;
    for ticket in negotiate::tickets(hello, choice) {
        let result = match keyring.open(ticket, now) {
            Ok(opened) => {
                let session = opened.claims.resumable();
                let resumed = negotiate::resume(hello, choice, &session);
                let same_rules = opened.claims.client_auth == offer.client_auth;
                if same_rules && resumed == Resumption::Resumed {
                    return Some(Ok(opened.claims));
                }
                TicketResult::Unfit
            }
            Err(TicketError::Expired) => TicketResult::Expired,
            Err(TicketError::Foreign) => why.unwrap_or(TicketResult::Foreign),
        };
        why = Some(result);
    }
    why.map(Err)
}
