//! The session of a connection.

use crate::admission::sessions::SessionConnection;
use crate::admission::tickets::SessionId;
use crate::telemetry::labels::Bucket;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tidegate_control::waiting_room::WaitingToken;

/// A connection in the waiting room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The identifier that its session has once it is admitted.
    pub session: SessionId,
    /// It was counted as refused when it came; if not, the first page of its visit is.
    pub counted: bool,
}

/// The session of a connection. A cookie may tell that it is another one than it began as.
#[derive(Debug, Default)]
pub struct OwnSession {
    session: RefCell<Option<SessionConnection>>,
    /// A request was looked at for its cookie.
    pub looked_at: Cell<bool>,
    /// In the waiting room: the identifier that the session will have.
    waits_as: Cell<Option<SessionId>>,
    /// In the waiting room: its visit was counted.
    pub counted: Cell<bool>,
    /// In the waiting room: the place that was given last, of requests that show none.
    pub waits_at: Cell<Option<WaitingToken>>,
    /// What processor time on the connection counts to since its last request was decided on, where
    /// not to requests: the waiting room, or refusals.
    pub spends_on: Cell<Option<Bucket>>,
}

impl OwnSession {
    /// The session that the connection began as.
    pub fn new(session: Option<SessionConnection>) -> Rc<Self> {
        Rc::new(Self { session: RefCell::new(session), ..Self::default() })
    }

    /// None yet: the connection is in the waiting room.
    pub fn waiting(waits: Waits) -> Rc<Self> {
        let Waits { session, counted } = waits;
        let (waits_as, counted) = (Cell::new(Some(session)), Cell::new(counted));
        let spends_on = Cell::new(Some(Bucket::Room));
        Rc::new(Self { waits_as, counted, spends_on, ..Self::default() })
    }

    /// The identifier that the session will have, as long as the connection is in the waiting room.
    pub fn waits_as(&self) -> Option<SessionId> {
        self.waits_as.get()
    }

    /// Its identifier.
    pub fn id(&self) -> Option<SessionId> {
        self.session.borrow().as_ref().map(SessionConnection::id)
    }

    /// The connection is this session's, and the one that it began as has ended.
    pub fn become_of(&self, session: SessionConnection) {
        self.waits_as.set(None);
        if let Some(former) = self.session.replace(Some(session)) {
            former.end_session();
        }
    }

    /// What `of` does with the session, if there is one.
    pub fn with(&self, of: impl FnOnce(&SessionConnection)) {
        self.session.borrow().as_ref().map(of);
    }

    /// Takes it out, when the connection has ended.
    pub fn take(&self) -> Option<SessionConnection> {
        self.session.take()
    }
}
