//! Connections of the waiting room that turned out to be of an admitted session, by its cookie or as
//! a companion. Such a connection began with an identifier of its own, which is in its ticket: the
//! next connection with that ticket is of the session as well, and does not wait.
//!
//! The identifier becomes no session. If it did, a cookie would make as many sessions as it joins
//! connections, each with the rate of one.

use crate::admission::tickets::SessionId;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most identifiers that are remembered, the newest: about 100 bytes each. Of an older one the
/// connection is in the room until its cookie is seen.
const MOST: usize = 100_000;

/// The sessions that connections of the room joined; shared by the cores of a gate.
#[derive(Debug, Default)]
pub struct Joined(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<SessionId, SessionId>,
    order: VecDeque<SessionId>,
}

impl Joined {
    /// A connection that began with this identifier is of this session.
    pub fn note(&self, began_as: SessionId, session: SessionId) {
        let mut state = self.state();
        if state.sessions.insert(began_as, session).is_none() {
            state.order.push_back(began_as);
        }
        if state.order.len() > MOST
            && let Some(oldest) = state.order.pop_front()
        {
            state.sessions.remove(&oldest);
        }
    }

    /// The session that a connection joined which began with this identifier.
    pub fn session_of(&self, began_as: &SessionId) -> Option<SessionId> {
        self.state().sessions.get(began_as).copied()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_remembered_each_with_its_last_session() {
        let joined = Joined::default();
        let id = |n: usize| (n as u128).to_be_bytes();
        joined.note(id(1), [1; 16]);
        joined.note(id(1), [2; 16]);
        assert_eq!(joined.session_of(&id(1)), Some([2; 16]));
        (2..=MOST + 1).for_each(|n| joined.note(id(n), [3; 16]));
        assert_eq!((joined.session_of(&id(1)), joined.session_of(&id(2))), (None, Some([3; 16])));
        assert_eq!(joined.state().sessions.len(), MOST);
    }
}
