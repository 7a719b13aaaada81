//! Who is inside: every session with its open connections and its allowance
//! of new ones. Sharded, since all cores ask; bounded, since tickets are many.

use crate::admission::tickets::SessionId;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tidegate_control::{CensusCounts, ThinkTimeCensus};

const SHARDS: usize = 64;

/// How much one session may ask for, and how long it is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Connections per second, on average.
    pub rate: f64,
    /// Connections at once, before the rate counts.
    pub burst: f64,
    /// How long a session whose last connection the gate closed counts as inside.
    pub linger: Duration,
    /// Most sessions remembered. Those with open connections stay beyond it:
    /// connections have a bound of their own.
    pub capacity: usize,
}

/// All sessions that the gate knows of. Times are since an origin of the caller.
#[derive(Debug)]
pub struct Sessions {
    shards: Vec<Mutex<Shard>>,
    rules: Rules,
    active: AtomicU64,
    started: AtomicU64,
    /// Sessions inside that have no connection.
    thinking: Mutex<ThinkTimeCensus>,
}

#[derive(Debug, Default)]
struct Shard {
    sessions: HashMap<SessionId, Session>,
    /// Sessions without connections in the order in which they lost the last
    /// one; entries may be out of date.
    leaving: VecDeque<(Duration, SessionId)>,
}

#[derive(Debug)]
struct Session {
    open: u32,
    /// Counts as inside.
    active: bool,
    tokens: f64,
    refilled: Duration,
    /// When the last connection closed.
    left: Duration,
    /// The tick since which it thinks, if it is inside and has no connection.
    thinks_since: Option<u64>,
}

/// Who closed a session's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// The customer: with her last connection she has left.
    Customer,
    /// The gate, after so many ticks in which nothing was under way on it: the customer
    /// may come back.
    Gate {
        /// Ticks.
        idle_ticks: u64,
    },
}

impl Sessions {
    /// No sessions yet.
    pub fn new(rules: Rules) -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Arc::new(Self {
            shards,
            rules,
            active: AtomicU64::new(0),
            started: AtomicU64::new(0),
            thinking: Mutex::default(),
        })
    }

    /// Sessions inside now.
    pub fn active(&self) -> u64 {
        self.active.load(Relaxed)
    }

    /// A tick has come. Adds what is known of sessions without connections.
    pub fn tick(&self, thoughts: &mut CensusCounts) {
        let thinking = lock(&self.thinking);
        thinking.tick();
        thinking.add_to(thoughts);
    }

    /// Sessions begun since the start.
    pub fn started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// A new session with one open connection. `id` must be fresh.
    pub fn start(self: &Arc<Self>, id: SessionId, now: Duration) -> Seat {
        self.started.fetch_add(1, Relaxed);
        let mut shard = self.shard(&id);
        self.make_room(&mut shard);
        self.seat_new(&mut shard, id, now);
        Seat { sessions: self.clone(), id }
    }

    /// One more connection of a session whose ticket was opened; `None` if it
    /// connects more often than it may. A session that was forgotten is
    /// remembered again.
    pub fn enter(self: &Arc<Self>, id: SessionId, now: Duration) -> Option<Seat> {
        let mut shard = self.shard(&id);
        if let Some(session) = shard.sessions.get_mut(&id) {
            let grown = now.saturating_sub(session.refilled).as_secs_f64() * self.rules.rate;
            session.tokens = (session.tokens + grown).min(self.rules.burst);
            session.refilled = session.refilled.max(now);
            if session.tokens < 1.0 {
                return None;
            }
            session.tokens -= 1.0;
            session.open += 1;
            match session.thinks_since.take() {
                Some(since) => lock(&self.thinking).asks(since),
                None => lock(&self.thinking).asks_besides(),
            }
            if !std::mem::replace(&mut session.active, true) {
                self.active.fetch_add(1, Relaxed);
            }
        } else {
            lock(&self.thinking).asks_besides();
            self.make_room(&mut shard);
            self.seat_new(&mut shard, id, now);
        }
        Some(Seat { sessions: self.clone(), id })
    }

    /// Forgets sessions that have had no connection for the linger time.
    pub fn expire(&self, now: Duration) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            while let Some((left, id)) = shard.leaving.front().copied() {
                if left + self.rules.linger > now {
                    break;
                }
                shard.leaving.pop_front();
                self.forget(&mut shard, left, &id);
            }
        }
    }

    fn seat_new(&self, shard: &mut Shard, id: SessionId, now: Duration) {
        let tokens = self.rules.burst - 1.0;
        let session =
            Session { open: 1, active: true, tokens, refilled: now, left: now, thinks_since: None };
        if shard.sessions.insert(id, session).is_none_or(|before| !before.active) {
            self.active.fetch_add(1, Relaxed);
        }
    }

    fn make_room(&self, shard: &mut Shard) {
        while shard.sessions.len() >= self.rules.capacity.div_ceil(SHARDS) {
            let Some((left, id)) = shard.leaving.pop_front() else { break };
            self.forget(shard, left, &id);
        }
    }

    /// Removes a session if it is still as it was when it began to leave.
    fn forget(&self, shard: &mut Shard, left: Duration, id: &SessionId) {
        if shard.sessions.get(id).is_some_and(|session| session.open == 0 && session.left == left) {
            let gone = shard.sessions.remove(id);
            if let Some(since) = gone.as_ref().and_then(|session| session.thinks_since) {
                lock(&self.thinking).ends(since);
            }
            if gone.is_some_and(|session| session.active) {
                self.active.fetch_sub(1, Relaxed);
            }
        }
    }

    fn leave(&self, id: &SessionId, by: ClosedBy, now: Duration) {
        let mut shard = self.shard(id);
        let Some(session) = shard.sessions.get_mut(id) else { return };
        session.open = session.open.saturating_sub(1);
        if session.open > 0 {
            return;
        }
        session.left = now;
        match by {
            ClosedBy::Customer => {
                if std::mem::replace(&mut session.active, false) {
                    self.active.fetch_sub(1, Relaxed);
                }
            }
            ClosedBy::Gate { idle_ticks } => {
                let thinking = lock(&self.thinking);
                let since = thinking.now().saturating_sub(idle_ticks);
                thinking.began(since);
                session.thinks_since = Some(since);
            }
        }
        shard.leaving.push_back((now, *id));
        // One entry for every time that a session lost its last connection:
        // out-of-date ones are dropped where they pile up.
        if shard.leaving.len() > 64 + 2 * shard.sessions.len() {
            let Shard { sessions, leaving } = &mut *shard;
            leaving.retain(|(left, id)| {
                sessions.get(id).is_some_and(|session| session.open == 0 && session.left == *left)
            });
        }
    }

    fn shard(&self, id: &SessionId) -> MutexGuard<'_, Shard> {
        lock(&self.shards[usize::from(id[0]) % SHARDS])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open connection of a session; must be given back with [`Seat::leave`] or
/// [`Seat::end`].
#[derive(Debug)]
pub struct Seat {
    sessions: Arc<Sessions>,
    id: SessionId,
}

impl Seat {
    /// The connection closed.
    pub fn leave(self, by: ClosedBy, now: Duration) {
        self.sessions.leave(&self.id, by, now);
    }

    /// The only connection of a session closed to which nobody can come back:
    /// it is forgotten.
    pub fn end(self) {
        let gone = self.sessions.shard(&self.id).sessions.remove(&self.id);
        if gone.is_some_and(|session| session.active) {
            self.sessions.active.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::{AGES, age};

    const ALICE: SessionId = [1; 16];
    const LINGER: Duration = Duration::from_secs(20);
    const GATE: ClosedBy = ClosedBy::Gate { idle_ticks: 0 };

    fn sessions(capacity: usize) -> Arc<Sessions> {
        Sessions::new(Rules { rate: 20.0, burst: 100.0, linger: LINGER, capacity })
    }

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_burst_passes_and_then_the_rate_counts() {
        let sessions = sessions(10);
        let _first = sessions.start(ALICE, at(0));
        let passed = (0..500).filter(|_| sessions.enter(ALICE, at(0)).is_some()).count();
        assert_eq!(passed, 99);
        let passed = (0..500).filter(|_| sessions.enter(ALICE, at(1_000)).is_some()).count();
        assert_eq!(passed, 20);
    }

    #[test]
    fn a_customer_who_closes_her_last_connection_has_left() {
        let sessions = sessions(10);
        let (one, two) = (sessions.start(ALICE, at(0)), sessions.enter(ALICE, at(1)).unwrap());
        one.leave(ClosedBy::Customer, at(2));
        assert_eq!(sessions.active(), 1);
        two.leave(ClosedBy::Customer, at(3));
        assert_eq!(sessions.active(), 0);
        let _back = sessions.enter(ALICE, at(4)).unwrap();
        assert_eq!((sessions.active(), sessions.started()), (1, 1));
    }

    #[test]
    fn a_session_whose_connection_the_gate_closed_lingers() {
        let sessions = sessions(10);
        sessions.start(ALICE, at(0)).leave(GATE, at(5));
        sessions.expire(at(20_004));
        assert_eq!(sessions.active(), 1);
        sessions.expire(at(20_005));
        assert_eq!(sessions.active(), 0);
    }

    #[test]
    fn a_session_that_lingers_thinks_until_it_comes_back_or_is_forgotten() {
        let sessions = sessions(10);
        let known = || {
            let mut thoughts = CensusCounts::default();
            sessions.tick(&mut thoughts);
            (thoughts.thinking.iter().sum::<u64>(), thoughts.asked)
        };
        let mut asked = [0; AGES];
        (0..10).for_each(|_| _ = known());
        sessions.start(ALICE, at(0)).leave(ClosedBy::Gate { idle_ticks: 6 }, at(1_000));
        assert_eq!(known(), (1, asked));
        // She thinks since tick 4; it is the eleventh.
        let open = sessions.enter(ALICE, at(1_100)).unwrap();
        asked[age(7)] += 1;
        assert_eq!(known(), (0, asked));
        // One more connection beside it comes of no thought.
        sessions.enter(ALICE, at(1_200)).unwrap().leave(GATE, at(1_300));
        asked[0] += 1;
        assert_eq!(known(), (0, asked));
        open.leave(GATE, at(1_400));
        assert_eq!(known(), (1, asked));
        sessions.expire(at(60_000));
        assert_eq!(known(), (0, asked));
        // Who has left, or was forgotten, comes of no thought either.
        sessions.enter(ALICE, at(60_001)).unwrap().leave(ClosedBy::Customer, at(60_002));
        sessions.enter(ALICE, at(60_003)).unwrap().leave(ClosedBy::Customer, at(60_004));
        asked[0] += 2;
        assert_eq!(known(), (0, asked));
    }

    #[test]
    fn a_session_that_has_ended_leaves_no_trail() {
        let sessions = sessions(10);
        sessions.start(ALICE, at(0)).end();
        assert_eq!((sessions.active(), sessions.started()), (0, 1));
        let shard = lock(&sessions.shards[1]);
        assert!(shard.sessions.is_empty() && shard.leaving.is_empty());
    }

    #[test]
    fn a_session_that_came_back_is_not_expired_by_its_former_leave() {
        let sessions = sessions(10);
        sessions.start(ALICE, at(0)).leave(GATE, at(5));
        let _open = sessions.enter(ALICE, at(10)).unwrap();
        sessions.expire(at(60_000));
        assert_eq!(sessions.active(), 1);
    }

    #[test]
    fn the_oldest_leavers_make_room_and_open_sessions_stay() {
        let sessions = sessions(SHARDS);
        let id = |n: u8| [0, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let _open = sessions.start(id(1), at(0));
        for n in 2..50 {
            sessions.start(id(n), at(1)).leave(GATE, at(1));
        }
        assert_eq!(sessions.active(), 2);
    }

    #[test]
    fn coming_and_going_leaves_no_trail() {
        let sessions = sessions(10);
        sessions.start(ALICE, at(0)).leave(GATE, at(0));
        for n in 0..2_000 {
            sessions.enter(ALICE, at(n * 100)).unwrap().leave(GATE, at(n * 100));
        }
        assert!(lock(&sessions.shards[1]).leaving.len() < 100);
    }
}
