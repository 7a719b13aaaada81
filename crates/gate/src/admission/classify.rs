//! Who a connection is: new, or returning with a ticket of ours that will be
//! resumed. Decided from the hello alone, before any public-key operation.

use crate::admission::tickets::{Claims, Closed, Terms, name_hash};
use crate::telemetry::counters::TicketFate;
use crate::tls::configs::Tls;
use rustls::AlertDescription;
use tidegate_hello::ClientHello;
use tidegate_hello::negotiate::TLS13;

/// What a hello amounts to.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    /// What the handshake will end with, or the alert with which it must fail.
    pub terms: Result<Terms, AlertDescription>,
    /// Hash of the server name asked for.
    pub server_name: u64,
    /// What became of its ticket; `None` without one.
    pub fate: Option<TicketFate>,
    /// The claims of a good ticket.
    pub claims: Option<Claims>,
}

/// Reads a hello. `cap` is the most ticket identities looked at; a hello with
/// more of them is new. `now` is in seconds since 1970.
pub fn judge(tls: &Tls, hello: &ClientHello, cap: usize, now: u64) -> Judgement {
    let terms = tls.foresee(hello);
    let server_name = name_hash(hello.server_name());
    let found = match terms {
        Ok(terms) if terms.version == TLS13 => {
            let many = hello.psk_offered() > cap;
            let willing = hello.offers_psk_dhe_ke();
            let tickets = hello.psk_identities();
            match hello.psk_offered() {
                0 => None,
                _ if many => Some(Err(TicketFate::TooMany)),
                _ if !willing => Some(Err(TicketFate::Unfit)),
                _ => Some(first_good(tls, tickets, &terms, server_name, now)),
            }
        }
        Ok(terms) => hello
            .ticket()
            .filter(|ticket| !ticket.is_empty())
            .map(|ticket| first_good(tls, [ticket], &terms, server_name, now)),
        Err(_) => None,
    };
    Judgement {
        terms,
        server_name,
        fate: found.map(|found| found.err().unwrap_or(TicketFate::Good)),
        claims: found.and_then(Result::ok),
    }
}

/// The claims of the first ticket that the TLS library will resume, as it
/// passes over those that do not open or do not fit.
fn first_good<'a>(
    tls: &Tls,
    tickets: impl IntoIterator<Item = &'a [u8]>,
    terms: &Terms,
    server_name: u64,
    now: u64,
) -> Result<Claims, TicketFate> {
    let mut why = TicketFate::Foreign;
    for ticket in tickets {
        match tls.keyring.open(ticket, now) {
            Ok(opened) => {
                let claims = opened.claims;
                if claims.terms == *terms && claims.server_name == server_name {
                    return Ok(claims);
                }
                why = TicketFate::Unfit;
            }
            Err(Closed::Expired) => why = TicketFate::Expired,
            Err(Closed::Foreign) => {}
        }
    }
    Err(why)
}
