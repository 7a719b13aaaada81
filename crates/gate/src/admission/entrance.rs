//! How requests enter that are each decided on, since their connection is that of a proxy.

use crate::admission::session_cookie::{CookieClaims, Value};
use crate::admission::sessions::{SessionConnection, SessionLimit, Sessions};
use crate::admission::starting::Starting;
use crate::admission::tickets::{Keyring, SessionId, TicketError};
use crate::places::Prefix;
use crate::telemetry::labels::{CookieResult, End};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// A new session that was admitted by a request.
pub struct Entered {
    /// The request, as one of its session.
    pub session: SessionConnection,
    /// Until it is taken up.
    pub starting: Starting,
}

/// The verdict on a new session; or why it is not admitted.
pub type Verdict = Result<Entered, End>;

/// The admission queue, as requests see it.
pub trait RequestQueue {
    /// Queues the new session of a request, of this prefix and with a head of so many bytes. Its
    /// customer has left when the receiver is dropped.
    fn enqueue_request(
        &self,
        prefix: Prefix,
        bytes: usize,
        comes: Comes,
    ) -> oneshot::Receiver<Verdict>;
}

/// From where a request comes that would begin a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    /// From a customer who has not waited yet.
    Directly,
    /// From the waiting room, over the connection of a proxy.
    FromRoom,
    /// From the waiting room, over a connection whose session will have this identifier.
    FromRoomOn(SessionId),
}

impl Comes {
    /// Whether the customer has waited in the room: they were offered and refused before.
    pub fn has_waited(self) -> bool {
        self != Self::Directly
    }
}

/// What decides on requests.
#[derive(Clone)]
pub struct Entrance {
    /// The keys of the cookies.
    pub keyring: Arc<Keyring>,
    /// The sessions of the gate.
    pub sessions: Arc<Sessions>,
    /// Where new sessions wait.
    pub queue: Rc<dyn RequestQueue>,
}

impl Entrance {
    /// The request of the session that one of these cookies names. `now` and `unix_now` are the
    /// same moment.
    ///
    /// # Errors
    /// What became of the cookies; `None` without one.
    pub fn recognize<'c>(
        &self,
        cookies: impl Iterator<Item = &'c Value>,
        now: Duration,
        unix_now: u64,
    ) -> Result<(CookieClaims, SessionConnection), Option<CookieResult>> {
        let claims = self.open(cookies, unix_now)?;
        let request = self.sessions.request(claims.session, now);
        request.map(|request| (claims, request)).map_err(|limit| Some(limit.into()))
    }

    /// The connection of the session that one of these cookies names, in place of the session
    /// `own` that the connection began as; `None` where they are the same.
    ///
    /// # Errors
    /// As of [`Entrance::recognize`].
    pub fn join<'c>(
        &self,
        cookies: impl Iterator<Item = &'c Value>,
        own: SessionId,
        now: Duration,
        unix_now: u64,
    ) -> Result<(CookieClaims, Option<SessionConnection>), Option<CookieResult>> {
        let claims = self.open(cookies, unix_now)?;
        if claims.session == own {
            return Ok((claims, None));
        }
        let connection = self.sessions.connect(claims.session, now);
        connection.map(|joined| (claims, Some(joined))).map_err(|limit| Some(limit.into()))
    }

    /// The claims of the first of these cookies that opens; their number is bounded.
    ///
    /// # Errors
    /// As of [`Entrance::recognize`].
    pub fn open<'c>(
        &self,
        cookies: impl Iterator<Item = &'c Value>,
        unix_now: u64,
    ) -> Result<CookieClaims, Option<CookieResult>> {
        let mut why = None;
        for cookie in cookies {
            match self.keyring.open_cookie(cookie, unix_now) {
                Ok(claims) => return Ok(claims),
                Err(TicketError::Expired) => why = Some(CookieResult::Expired),
                Err(TicketError::Foreign) => why = why.or(Some(CookieResult::Foreign)),
            }
        }
        Err(why)
    }
}

impl From<SessionLimit> for CookieResult {
    fn from(limit: SessionLimit) -> Self {
        match limit {
            SessionLimit::Rate => Self::OverRate,
            SessionLimit::Connections => Self::OverRequests,
        }
    }
}
