//! The decision about a connection, made once its hello is complete or, by plain HTTP,
//! once a byte has arrived: connections of active sessions are admitted, new sessions
//! are queued. It is counted before any handshake.

use crate::admission::classify::{Classification, classify};
use crate::admission::handshake_context::HandshakeContext;
use crate::admission::negotiation::{Agreement, Offer};
use crate::admission::replays::SeenHellos;
use crate::admission::sessions::{SessionConnection, SessionLimit, Sessions, Unproven};
use crate::admission::tickets::{Holder, Keyring, SessionId, Terms, new_session_id};
use crate::connection::own_session::Waits;
use crate::context::CoreContext;
use crate::places::{PlaceKind, Prefix};
use crate::shared::{InFlight, Shared};
use crate::telemetry::clock::unix_now;
use crate::telemetry::labels::{Class, RoomVisit, TicketResult};
use rustls::AlertDescription;
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tidegate_control::waiting_room::Asks;
use tidegate_control::{Decision, Entry, FullHandshake, Moment};
use tidegate_hello::{ClientHello, UnusableName};

/// The admission of a connection.
pub struct Admitted {
    /// New or returning.
    pub class: Class,
    /// What the session knows of it.
    pub session: SessionEntry,
    /// What its handshake is for; none by plain HTTP.
    pub handshake: Option<HandshakeContext>,
    /// The kind of that handshake, if it is a full one.
    pub kind: Option<FullHandshake>,
    /// CPU time that it is charged.
    pub price: Duration,
    /// Where its handshake is one of the waiting room, until it is measured.
    pub room: Option<RoomHandshake>,
}

/// A handshake of the waiting room, within the room's share of the processors.
pub struct RoomHandshake {
    shared: Arc<Shared>,
    /// Of whom.
    pub asks: Asks,
}

impl RoomHandshake {
    /// Begins one, if the share allows it.
    fn begin(shared: &Arc<Shared>, asks: Asks) -> Option<Self> {
        let (per_s, spent_ns) = shared.room_cpu();
        let begins = shared.room.cpu.begins(asks, per_s, spent_ns, shared.now());
        begins.then(|| Self { shared: shared.clone(), asks })
    }
}

impl Drop for RoomHandshake {
    fn drop(&mut self) {
        self.shared.room.cpu.ends(self.asks);
    }
}

/// What the session of a connection knows of it.
pub enum SessionEntry {
    /// It is an open connection of the session.
    Proven(SessionConnection),
    /// Nothing, until the handshake has proved that it is the session's.
    Unproven(Unproven),
    /// It is a proxy's: each of its requests has a session of its own.
    OfRequests,
    /// It is in the waiting room.
    Waiting(Waits),
}

impl SessionEntry {
    /// The session's open connection, now that the handshake is finished; `None` for a proxy's,
    /// and in the waiting room.
    ///
    /// # Errors
    /// The session has meanwhile all that it may have.
    pub fn prove(self, now: Duration) -> Result<Option<SessionConnection>, SessionLimit> {
        match self {
            Self::Proven(session) => Ok(Some(session)),
            Self::Unproven(unproven) => unproven.prove(now).map(Some),
            Self::OfRequests | Self::Waiting(_) => Ok(None),
        }
    }

    /// The session's open connection, if it was one before the handshake.
    pub fn proven(self) -> Option<SessionConnection> {
        match self {
            Self::Proven(session) => Some(session),
            Self::Unproven(_) | Self::OfRequests | Self::Waiting(_) => None,
        }
    }
}

/// How a connection is admitted.
pub enum Admit {
    /// Of an active session: at once.
    Now(Admitted),
    /// A new session: when the budget admits it.
    Queued(NewSession),
    /// A new session while others wait in the room, or while the room is all that is open.
    Room(NewSession),
}

/// Why a connection is not admitted.
pub enum Denial {
    /// A new session, and the places that are left are reserved for active sessions.
    NoPlace,
    /// It has a place in the waiting room, whose share of the processors is used up.
    BeyondShare,
    /// An exact copy of an earlier hello.
    Copy,
    /// No handshake with this hello can succeed: the alert with the reason.
    Handshake(AlertDescription),
}

/// What is known of a new session.
#[derive(Clone, Copy, Debug)]
pub enum NewSession {
    /// What the handshake is for.
    Tls(NewHandshake),
    /// Nothing.
    PlainHttp,
}

/// The full handshake of a new session.
#[derive(Clone, Copy, Debug)]
pub struct NewHandshake {
    /// What it will agree on.
    pub agreed: Agreement,
    /// The terms of its tickets.
    pub terms: Terms,
    /// Its kind.
    pub kind: FullHandshake,
    /// Hash of the requested server name.
    pub server_name: u64,
    /// The name if it is unusable.
    pub unusable_name: Option<UnusableName>,
    /// It will agree on HTTP/2.
    pub http2: bool,
}

impl NewSession {
    /// The kind of its handshake, if it has one.
    pub fn kind(&self) -> Option<FullHandshake> {
        match self {
            Self::Tls(handshake) => Some(handshake.kind),
            Self::PlainHttp => None,
        }
    }

    /// Whether a browser opens several connections of its kind.
    fn is_one_of_several(&self) -> bool {
        matches!(self, Self::Tls(new) if !new.http2)
    }

    /// What its handshake is for, for a session of this identifier, if it has one.
    fn handshake(&self, session: SessionId, holder: Holder) -> Option<HandshakeContext> {
        match self {
            Self::Tls(new) => Some(HandshakeContext {
                session,
                holder,
                began: unix_now(),
                uses: 0,
                terms: new.terms,
                agreed: new.agreed,
                server_name: new.server_name,
                unusable_name: new.unusable_name,
            }),
            Self::PlainHttp => None,
        }
    }

    /// How its connection begins.
    pub fn entry(&self) -> Entry {
        self.kind().map_or(Entry::Clear, Entry::Full)
    }
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
    /// The hellos of connections that were admitted as returning.
    pub seen: Rc<RefCell<SeenHellos>>,
}

impl Decider {
    /// Classifies a connection by its hello.
    pub fn classify(&self, hello: &ClientHello) -> Classification {
        let most_identities = self.context.config.limits.ticket_identities;
        let mut class = classify(&self.offer, &self.keyring, hello, most_identities, unix_now());
        if let Some(claims) = &mut class.claims
            && claims.holder == Holder::Waiting
            && let Some(session) = self.context.shared.joined.session_of(&claims.session)
        {
            (claims.session, claims.holder) = (session, Holder::Session);
        }
        class
    }

    /// Decides on a connection of this prefix by its hello and its class.
    ///
    /// # Errors
    /// It is not admitted.
    pub fn decide(
        &self,
        hello: &ClientHello,
        class: &Classification,
        prefix: Prefix,
    ) -> Result<Admit, Denial> {
        let CoreContext { shared, counters, .. } = &*self.context;
        if class.claims.is_some() && self.seen.borrow().has(hello.random()) {
            counters.tickets[TicketResult::Copied].add(1);
            return Err(Denial::Copy);
        }
        if self.waits(class) {
            if self.context.has_room() {
                return self.let_wait(hello, class, prefix).map(Admit::Now);
            }
            // Without a room the ticket of somebody who waits is as good as none.
            counters.tickets[TicketResult::Unfit].add(1);
        } else if let Some(admitted) = self.admit_returning(class, prefix) {
            self.seen.borrow_mut().note(hello.random());
            counters.admitted[Class::Returning].add(1);
            shared.controller().returning(shared.now());
            return Ok(Admit::Now(admitted));
        }
        // No handshake with a hello without common terms can succeed, so it must not use
        // up a place in the queue.
        class.signed.map_err(Denial::Handshake)?;
        let (agreed, terms) = class.agreed.map_err(Denial::Handshake)?;
        let kind = self.offer.kind(&agreed);
        let Classification { server_name, unusable_name, .. } = *class;
        let http2 = self.offer.agrees_on_http2(hello);
        let new = NewHandshake { agreed, terms, kind, server_name, unusable_name, http2 };
        self.decide_new(NewSession::Tls(new), prefix)
    }

    /// Decides on a new session.
    ///
    /// # Errors
    /// It is not admitted.
    pub fn decide_new(&self, new: NewSession, prefix: Prefix) -> Result<Admit, Denial> {
        if !self.context.places.has_place(prefix, PlaceKind::Queued) {
            self.context.counters.refused[Class::New].add(1);
            return Err(Denial::NoPlace);
        }
        if self.context.has_room() && self.context.shared.someone_is_first() {
            return Ok(Admit::Room(new));
        }
        Ok(Admit::Queued(new))
    }

    /// Whether a connection is of somebody who waits for admission, by its ticket.
    fn waits(&self, class: &Classification) -> bool {
        let shared = &self.context.shared;
        class.claims.is_some_and(|claims| {
            claims.holder == Holder::Waiting
                && !self.sessions.is_known(&claims.session)
                && !shared.room.has_admitted(&claims.session)
        })
    }

    /// Resumes a connection of somebody who waits, for the room alone.
    fn let_wait(
        &self,
        hello: &ClientHello,
        class: &Classification,
        prefix: Prefix,
    ) -> Result<Admitted, Denial> {
        let CoreContext { shared, counters, places, .. } = &*self.context;
        let beyond = || {
            counters.room_visits[RoomVisit::Beyond].add(1);
            Denial::BeyondShare
        };
        let Some(claims) = class.claims.filter(|_| places.may_prove(prefix)) else {
            return Err(beyond());
        };
        let (agreed, _) = class.agreed.map_err(Denial::Handshake)?;
        let room = RoomHandshake::begin(shared, Asks::Waiting).ok_or_else(beyond)?;
        self.seen.borrow_mut().note(hello.random());
        let handshake =
            HandshakeContext::resumed(&claims, Holder::Waiting, agreed, class.unusable_name);
        let session = SessionEntry::Waiting(Waits { session: claims.session, counted: false });
        let price = self.price(Entry::Average);
        let (handshake, room) = (Some(handshake), Some(room));
        Ok(Admitted { class: Class::New, session, handshake, kind: None, price, room })
    }

    /// Takes a new session that is not admitted into the waiting room, which there is; `None` beyond
    /// its share of the processors. `counted`: it was counted as refused.
    pub fn admit_to_room(&self, new: NewSession, counted: bool) -> Option<Admitted> {
        let CoreContext { shared, counters, .. } = &*self.context;
        let Some(room) = RoomHandshake::begin(shared, Asks::Stranger) else {
            counters.room_visits[RoomVisit::Beyond].add(1);
            return None;
        };
        let id = new_session_id().ok()?;
        let handshake = new.handshake(id, Holder::Waiting);
        let session = SessionEntry::Waiting(Waits { session: id, counted });
        let price = self.price(new.entry());
        let (class, room) = (Class::New, Some(room));
        Some(Admitted { class, session, handshake, kind: None, price, room })
    }

    /// Whether the next new session, which connects so, is admitted, given what is in flight at
    /// this moment and how much of it may be served before that session.
    pub fn query_controller(&self, allowed_backlog: Duration, entry: Entry) -> Decision {
        let shared = &self.context.shared;
        let InFlight { handshakes, handshake_cpu, requests } = shared.in_flight();
        let handshake_cpu = Some(handshake_cpu);
        let moment = Moment { handshakes, handshake_cpu, requests, allowed_backlog, entry };
        shared.controller().decide(shared.now(), moment)
    }

    /// Whether the controller refuses the oldest queued session, which has waited so long.
    pub fn drops_oldest(&self, waited: Duration) -> bool {
        let shared = &self.context.shared;
        shared.controller().drops_oldest(shared.now(), waited)
    }

    /// A proxy's connection, on which each request is decided on.
    pub fn of_requests(&self) -> Admitted {
        let (session, price) = (SessionEntry::OfRequests, Duration::ZERO);
        Admitted { class: Class::New, session, handshake: None, kind: None, price, room: None }
    }

    /// Begins a new session by a request; `None` if the system's random generator failed. On a
    /// connection of the waiting room it has the identifier `of_connection`, and is the session
    /// of the connection. Returns the price that it is charged as well.
    pub fn admit_request(
        &self,
        of_connection: Option<SessionId>,
    ) -> Option<(SessionConnection, Duration)> {
        let now = self.context.shared.now();
        let session = match of_connection {
            Some(id) => self.sessions.connect_or_start(id, now)?,
            None => self.sessions.start_by_request(new_session_id().ok()?, now),
        };
        self.context.counters.in_clear.add(1);
        Some((session, self.price(Entry::Clear)))
    }

    /// A new session of a customer at this address was admitted: their browser may open further
    /// connections.
    pub fn expect_companions(&self, new: NewSession, address: IpAddr, session: SessionId) {
        if new.is_one_of_several() {
            let shared = &self.context.shared;
            shared.companions.note(address, session, shared.now());
        }
    }

    /// Whether a connection of this address that is shown the waiting room counts as refused: it is
    /// the first one of a visit.
    pub fn counts_as_refused(&self, address: IpAddr) -> bool {
        let CoreContext { shared, config, .. } = &*self.context;
        let most = config.admission.browser_connections;
        shared.companions.counts_as_refused(address, most, shared.now())
    }

    /// Admits a further connection of a customer's browser, which has no ticket yet, to the session
    /// that was admitted; `None` where it is none. The caller counts it.
    pub fn admit_companion(&self, new: NewSession, address: IpAddr) -> Option<Admitted> {
        let CoreContext { shared, config, .. } = &*self.context;
        let now = shared.now();
        if !new.is_one_of_several() {
            return None;
        }
        let most = config.admission.browser_connections;
        let connected = |id: &SessionId| self.sessions.is_connected(id);
        let id = shared.companions.take(address, most, now, connected)?;
        let session = SessionEntry::Unproven(self.sessions.recognize(id, now).ok()?);
        let handshake = new.handshake(id, Holder::Session);
        let (kind, price) = self.charge(new);
        shared.controller().returning(now);
        Some(Admitted { class: Class::Returning, session, handshake, kind, price, room: None })
    }

    /// Begins a new session; `None` if the system's random generator failed.
    pub fn admit_new(&self, new: NewSession) -> Option<Admitted> {
        let id = new_session_id().ok()?;
        let session = self.sessions.start(id, self.context.shared.now());
        let handshake = new.handshake(id, Holder::Session);
        let (kind, price) = self.charge(new);
        let session = SessionEntry::Proven(session);
        Some(Admitted { class: Class::New, session, handshake, kind, price, room: None })
    }

    /// The kind of the handshake of a connection that is admitted, and what it is charged.
    fn charge(&self, new: NewSession) -> (Option<FullHandshake>, Duration) {
        let (kind, price) = (new.kind(), self.price(new.entry()));
        if let Some(kind) = kind {
            let counters = &self.context.counters;
            counters.admitted_by_kind[kind].add(1);
            counters.charged_ns_by_kind[kind].add(price.as_nanos() as u64);
        }
        (kind, price)
    }

    /// Admits a new session whatever the load; `None` if the system's random generator failed.
    pub fn admit_always(&self, new: NewSession) -> Option<Admitted> {
        let admitted = self.admit_new(new)?;
        self.context.shared.controller().admit_always();
        self.context.counters.admitted[Class::New].add(1);
        Some(admitted)
    }

    /// What a connection that begins so is charged.
    fn price(&self, entry: Entry) -> Duration {
        self.context.shared.controller().price(entry)
    }

    /// Admits a connection with a good ticket, unless its session has as many connections,
    /// or opens them as fast, as one may, or too many handshakes with tickets are unfinished.
    fn admit_returning(&self, class: &Classification, prefix: Prefix) -> Option<Admitted> {
        let tickets = &self.context.counters.tickets;
        let Some(claims) = &class.claims else {
            if let Some(result) = class.ticket {
                tickets[result].add(1);
            }
            return None;
        };
        if !self.context.places.may_prove(prefix) {
            tickets[TicketResult::Unproven].add(1);
            return None;
        }
        let recognized = self.sessions.recognize(claims.session, self.context.shared.now());
        tickets[match recognized {
            Ok(_) => TicketResult::Good,
            Err(SessionLimit::Rate) => TicketResult::OverRate,
            Err(SessionLimit::Connections) => TicketResult::OverConnections,
        }]
        .add(1);
        let (agreed, _) = class.agreed.ok()?;
        let handshake =
            HandshakeContext::resumed(claims, Holder::Session, agreed, class.unusable_name);
        let session = SessionEntry::Unproven(recognized.ok()?);
        let (class, handshake) = (Class::Returning, Some(handshake));
        let price = self.price(Entry::Average);
        Some(Admitted { class, session, handshake, kind: None, price, room: None })
    }
}
