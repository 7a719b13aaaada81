//! The decision about a connection, made once its hello is complete or, by plain HTTP,
//! once a byte has arrived: connections of active sessions are admitted, new sessions
//! are queued. It is counted before any handshake.

use crate::admission::classify::{Classification, classify};
use crate::admission::negotiation::Offer;
use crate::admission::sessions::{SessionConnection, Sessions};
use crate::admission::ticketer::TicketHolder;
use crate::admission::tickets::{Keyring, Terms, new_session_id};
use crate::context::CoreContext;
use crate::telemetry::clock::unix_now;
use crate::telemetry::labels::{Class, TicketFate};
use rustls::AlertDescription;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tidegate_control::{Decision, Moment};
use tidegate_hello::ClientHello;

/// The admission of a connection.
pub struct Admitted {
    /// New or returning.
    pub class: Class,
    /// The session's open connection.
    pub session: SessionConnection,
    /// What the session's next ticket will contain; none by plain HTTP.
    pub holder: Option<TicketHolder>,
}

/// The decision.
pub enum Verdict {
    /// Of an active session: admit.
    Admit(Admitted),
    /// A new session: queue it until the budget admits it.
    Queue(NewSession),
    /// A new session: refuse it, since the rest of the connection limit is reserved for
    /// active sessions.
    Refuse,
    /// No handshake with this hello can succeed: the alert with the reason.
    Reject(AlertDescription),
}

/// What is known of a new session.
#[derive(Clone, Copy, Debug)]
pub enum NewSession {
    /// What the handshake will agree on, and the hash of the server name.
    Tls(Terms, u64),
    /// Nothing.
    PlainHttp,
}

/// Decides on the connections of one core.
pub struct Decider {
    /// The core.
    pub context: Rc<CoreContext>,
    /// What the gate offers in a handshake.
    pub offer: Arc<Offer>,
    /// The keys of the tickets.
    pub keyring: Arc<Keyring>,
    /// The sessions of the gate.
    pub sessions: Arc<Sessions>,
}

impl Decider {
    /// Decides on a connection by its hello.
    pub fn decide(&self, hello: &ClientHello) -> Verdict {
        let CoreContext { shared, counters, .. } = &*self.context;
        let most_identities = self.context.config.limits.ticket_identities;
        let now = unix_now();
        let class = classify(&self.offer, &self.keyring, hello, most_identities, now);
        if let Some(admitted) = self.admit_returning(&class) {
            counters.admitted[Class::Returning].add(1);
            shared.controller().returning(shared.now());
            return Verdict::Admit(admitted);
        }
        // No handshake with a hello without common terms can succeed, so it must not use
        // up a place in the queue.
        match class.terms {
            Ok(terms) => self.decide_new(NewSession::Tls(terms, class.server_name)),
            Err(alert) => Verdict::Reject(alert),
        }
    }

    /// Decides on a new session.
    pub fn decide_new(&self, new: NewSession) -> Verdict {
        if self.context.is_full_for_new_sessions() {
            self.context.counters.refused[Class::New].add(1);
            return Verdict::Refuse;
        }
        Verdict::Queue(new)
    }

    /// Whether the next new session is admitted, given what is in flight at this moment
    /// and how much of it may be served before that session.
    pub fn query_controller(&self, allowed_backlog: Duration) -> Decision {
        let shared = &self.context.shared;
        let (handshakes, requests) = shared.in_flight();
        let moment = Moment { handshakes, requests, allowed_backlog };
        shared.controller().decide(shared.now(), moment)
    }

    /// Begins a new session; `None` if the system's random generator failed.
    pub fn admit_new(&self, new: NewSession) -> Option<Admitted> {
        let id = new_session_id().ok()?;
        let session = self.sessions.start(id, self.context.shared.now());
        let holder = match new {
            NewSession::Tls(terms, server_name) => {
                Some(TicketHolder { session: id, began: unix_now(), uses: 0, terms, server_name })
            }
            NewSession::PlainHttp => None,
        };
        Some(Admitted { class: Class::New, session, holder })
    }

    /// Admits a connection with a good ticket, unless its session connects above its
    /// rate.
    fn admit_returning(&self, class: &Classification) -> Option<Admitted> {
        let tickets = &self.context.counters.tickets;
        let Some(claims) = &class.claims else {
            if let Some(fate) = class.fate {
                tickets[fate].add(1);
            }
            return None;
        };
        let session = self.sessions.connect(claims.session, self.context.shared.now());
        let fate = if session.is_some() { TicketFate::Good } else { TicketFate::OverRate };
        tickets[fate].add(1);
        let holder = TicketHolder {
            session: claims.session,
            began: claims.began,
            uses: claims.uses.saturating_add(1),
            terms: claims.terms,
            server_name: claims.server_name,
        };
        Some(Admitted { class: Class::Returning, session: session?, holder: Some(holder) })
    }
}
