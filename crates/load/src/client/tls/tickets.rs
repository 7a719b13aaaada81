//! TLS tickets and sessions for resumption: those of one customer, or of all customers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

use super::one_ticket::OneTicket;

/// Most TLS 1.3 tickets of one customer: servers send one to four per
/// connection, and each is used once.
const OWN: usize = 2;
/// Most TLS 1.3 tickets of all customers together.
const SHARED: usize = 4096;

/// Tickets, of which the newest is used first. One of TLS 1.3 is used once, as
/// RFC 8446, appendix C.4, asks of clients, but where there is to be only one; a
/// session of TLS 1.2 as often as it is wanted.
#[derive(Debug)]
pub(crate) struct Tickets {
    kept: Mutex<Stored>,
    most: usize,
    /// The ticket of all handshakes, if set.
    one: Option<Box<OneTicket>>,
}

#[derive(Debug, Default)]
struct Stored {
    group: Option<NamedGroup>,
    /// Boxed, since most customers have none.
    tls12: Option<Box<Tls12ClientSessionValue>>,
    tls13: VecDeque<Tls13ClientSessionValue>,
}

/// What one handshake resumes.
#[derive(Debug)]
enum Ticket {
    Tls12(Tls12ClientSessionValue),
    Tls13(Tls13ClientSessionValue),
}

impl Tickets {
    /// The empty store of one customer.
    pub(crate) fn own() -> Self {
        Self { kept: Mutex::default(), most: OWN, one: None }
    }

    /// The empty store of all customers.
    pub(crate) fn shared() -> Self {
        Self { kept: Mutex::default(), most: SHARED, one: None }
    }

    /// One ticket for all handshakes.
    pub(crate) fn one(ticket: OneTicket) -> Self {
        Self { kept: Mutex::default(), most: 0, one: Some(Box::new(ticket)) }
    }

    /// Adds a ticket.
    pub(crate) fn add(&self, ticket: Tls13ClientSessionValue) {
        if self.one.is_some() {
            return;
        }
        let mut kept = self.kept();
        if kept.tls13.len() == self.most {
            kept.tls13.pop_front();
        } else if kept.tls13.is_empty() {
            // The default growth would allocate four.
            kept.tls13.reserve_exact(OWN);
        }
        kept.tls13.push_back(ticket);
    }

    fn take(&self) -> Option<Ticket> {
        if let Some(one) = &self.one {
            return one.copy().map(Ticket::Tls13);
        }
        let mut kept = self.kept();
        kept.tls13
            .pop_back()
            .map(Ticket::Tls13)
            .or_else(|| kept.tls12.as_deref().cloned().map(Ticket::Tls12))
    }

    fn kept(&self) -> MutexGuard<'_, Stored> {
        lock(&self.kept)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tickets of one connection: at most one to offer, taken before the handshake, and the
/// store for those that the server issues. The server name is ignored, because customers
/// visit one site only.
#[derive(Debug)]
pub(crate) struct ConnectionTickets {
    /// Boxed, as it is [gone](Self::begun) once the handshake has begun.
    ticket: Option<Box<Ticket>>,
    /// Always there but [`during`](Self::during) a call.
    all: Option<Arc<Tickets>>,
}

thread_local! {
    /// The connection that rustls is processing on this thread.
    static WORKING: RefCell<Option<ConnectionTickets>> = const { RefCell::new(None) };
}

impl ConnectionTickets {
    /// Takes a ticket if it is to `resume` and there is one.
    pub(crate) fn new(all: &Arc<Tickets>, resume: bool) -> Self {
        let ticket = if resume { all.take() } else { None };
        Self { ticket: ticket.map(Box::new), all: Some(all.clone()) }
    }

    /// Whether the handshake will ask to resume.
    pub(crate) fn has_ticket(&self) -> bool {
        self.ticket.is_some()
    }

    /// The ClientHello is sent; the ticket is no longer needed.
    pub(crate) fn begun(&mut self) {
        self.ticket = None;
    }

    /// Runs rustls for this connection: [`SessionStore`] then uses these tickets.
    pub(crate) fn during<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let own = Self { ticket: self.ticket.take(), all: self.all.take() };
        WORKING.set(Some(own));
        let result = work();
        if let Some(own) = WORKING.take() {
            *self = own;
        }
        result
    }
}

/// The session store of all connections. A store per connection would need a configuration
/// per connection, almost a kilobyte.
#[derive(Debug)]
pub(crate) struct SessionStore;

impl SessionStore {
    fn with<R>(&self, ask: impl FnOnce(&mut ConnectionTickets) -> R) -> Option<R> {
        WORKING.with_borrow_mut(|working| working.as_mut().map(ask))
    }

    fn kept<R>(&self, ask: impl FnOnce(&mut Stored) -> R) -> Option<R> {
        self.with(|own| own.all.as_ref().map(|all| ask(&mut all.kept()))).flatten()
    }
}

impl ClientSessionStore for SessionStore {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept(|kept| kept.group = Some(group));
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept(|kept| kept.group).flatten()
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.kept(|kept| kept.tls12 = Some(Box::new(value)));
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.with(|own| match own.ticket.as_deref() {
            Some(Ticket::Tls12(session)) => Some(session.clone()),
            _ => None,
        })
        .flatten()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept(|kept| kept.tls12 = None);
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.with(|own| own.all.as_ref().map(|all| all.add(value)));
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.with(|own| {
            let ticket = own.ticket.take_if(|ticket| matches!(**ticket, Ticket::Tls13(_)))?;
            match *ticket {
                Ticket::Tls13(ticket) => Some(ticket),
                Ticket::Tls12(_) => None,
            }
        })
        .flatten()
    }
}
