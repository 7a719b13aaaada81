//! The decision about a connection, made once its hello is whole, or in clear
//! once it speaks: who is inside goes in, who is new stands in line. Counted
//! before any handshake.

use crate::admission::classify::{Judgement, judge};
use crate::admission::sessions::Seat;
use crate::admission::tickets::{Terms, new_session_id};
use crate::listen::accept::Core;
use crate::telemetry::counters::{Class, TicketFate};
use crate::tls::configs::{Bearer, unix_now};
use rustls::AlertDescription;
use std::time::Duration;
use tidegate_control::{Decision, Moment};
use tidegate_hello::ClientHello;

/// What a customer needs to go in.
pub struct Pass {
    /// New or returning.
    pub class: Class,
    /// Her session's open connection.
    pub seat: Seat,
    /// What her next ticket will say; in clear there is none.
    pub bearer: Option<Bearer>,
}

/// The decision.
pub enum Verdict {
    /// Go in: she is inside already.
    Admit(Pass),
    /// Stand in line for the budget.
    Line(Newcomer),
    /// Go away: the places that are left are for those inside.
    Full,
    /// No handshake can come of this hello: the alert that says why.
    Impossible(AlertDescription),
}

/// What is known of a new customer.
#[derive(Clone, Copy, Debug)]
pub enum Newcomer {
    /// What the handshake will end with, and the hash of the server name.
    Tls(Terms, u64),
    /// Nothing.
    Clear,
}

impl Core {
    /// Decides on a connection by its hello.
    pub fn decide(&self, hello: &ClientHello) -> Verdict {
        let unix = unix_now();
        let judgement = judge(&self.shared.tls, hello, self.identities, unix);
        if let Some(pass) = self.recognise(&judgement) {
            self.counters.admitted[Class::Returning as usize].add(1);
            self.shared.controller().returning(self.shared.now());
            return Verdict::Admit(pass);
        }
        // No handshake comes of a hello without common terms, so it must not
        // use up a place that a customer could have had.
        match judgement.terms {
            Ok(terms) => self.line_up(Newcomer::Tls(terms, judgement.server_name)),
            Err(alert) => Verdict::Impossible(alert),
        }
    }

    /// Decides on a newcomer.
    pub fn line_up(&self, newcomer: Newcomer) -> Verdict {
        if self.is_full_for_newcomers() {
            self.counters.refused[Class::New as usize].add(1);
            return Verdict::Full;
        }
        Verdict::Line(newcomer)
    }

    /// May the next in the line in, given what is in flight at this moment and how much
    /// of it may lie before her?
    pub fn ask(&self, allowed_backlog: Duration) -> Decision {
        let (handshakes, requests) = self.shared.in_flight();
        let mut controller = self.shared.controller();
        let moment = Moment { handshakes, requests, allowed_backlog };
        controller.decide(self.shared.now(), moment)
    }

    /// Begins a newcomer's session; `None` where the system has no randomness
    /// to name it.
    pub fn admit(&self, newcomer: Newcomer) -> Option<Pass> {
        let session = new_session_id().ok()?;
        let seat = self.shared.sessions.start(session, self.shared.now());
        let bearer = match newcomer {
            Newcomer::Tls(terms, server_name) => {
                Some(Bearer { session, began: unix_now(), uses: 0, terms, server_name })
            }
            Newcomer::Clear => None,
        };
        Some(Pass { class: Class::New, seat, bearer })
    }

    /// The pass of a customer with a good ticket, unless her session connects
    /// more often than it may.
    fn recognise(&self, judgement: &Judgement) -> Option<Pass> {
        let Some(claims) = &judgement.claims else {
            if let Some(fate) = judgement.fate {
                self.counters.tickets[fate as usize].add(1);
            }
            return None;
        };
        let seat = self.shared.sessions.enter(claims.session, self.shared.now());
        let fate = if seat.is_some() { TicketFate::Good } else { TicketFate::OverRate };
        self.counters.tickets[fate as usize].add(1);
        let bearer = Bearer {
            session: claims.session,
            began: claims.began,
            uses: claims.uses.saturating_add(1),
            terms: claims.terms,
            server_name: claims.server_name,
        };
        Some(Pass { class: Class::Returning, seat: seat?, bearer: Some(bearer) })
    }
}
