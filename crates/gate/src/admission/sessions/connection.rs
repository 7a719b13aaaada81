//! One connection of a session.

use super::{ClosedBy, Sessions};
use crate::admission::tickets::SessionId;
use aws_lc_rs::digest::{SHA256, digest};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// An open connection of a session, or a request under way; ends with [`SessionConnection::close`] or
/// [`SessionConnection::end_session`]. Dropped without either, because its task panicked, it is
/// closed by the gate.
#[derive(Debug)]
pub struct SessionConnection {
    pub(super) sessions: Arc<Sessions>,
    pub(super) id: SessionId,
    /// It was closed, and counts no more.
    pub(super) over: bool,
}

impl SessionConnection {
    /// The session's identifier, which is in its tickets and cookies alone.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The session's number for logs: the same on all its connections, and at every gate that
    /// opens its tickets. Its identifier does not follow from it.
    pub fn number(&self) -> u64 {
        let digest = digest(&SHA256, &self.id);
        digest.as_ref().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// The session is over, as the service says: it is not active any more, and its place goes to
    /// the next. What is open stays open. With a connection after the linger time it is active
    /// again; before, it loads the rest of the page.
    pub fn gives_its_place_back(&self, now: Duration) {
        let linger = self.sessions.rules.load().linger;
        let mut shard = self.sessions.shard(&self.id);
        let Some(session) = shard.sessions.get_mut(&self.id) else { return };
        (session.keep, session.over_until) = (Duration::ZERO, now + linger);
        if std::mem::replace(&mut session.active, false) {
            self.sessions.active.fetch_sub(1, Relaxed);
        }
    }

    /// The session counts as active for so long after its last connection.
    pub fn keep(&self, time: Duration) {
        if let Some(session) = self.sessions.shard(&self.id).sessions.get_mut(&self.id) {
            session.keep = time;
        }
    }

    /// The connection closed.
    pub fn close(mut self, by: ClosedBy, now: Duration) {
        self.over = true;
        self.sessions.close(&self.id, by, now);
    }

    /// The only connection closed of a session that has no ticket, and so cannot
    /// return: the session is forgotten.
    pub fn end_session(mut self) {
        self.over = true;
        let gone = self.sessions.shard(&self.id).sessions.remove(&self.id);
        if gone.is_some_and(|session| session.active) {
            self.sessions.active.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for SessionConnection {
    fn drop(&mut self) {
        if !self.over {
            let now = Duration::from_nanos(self.sessions.expired_at.load(Relaxed));
            self.sessions.close(&self.id, ClosedBy::Gate { idle_ticks: 0 }, now);
        }
    }
}
