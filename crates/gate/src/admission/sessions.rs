//! The sessions of the gate: their open connections, how many each may have, and the rate
//! at which it may open new ones. Sharded, since all cores use it; bounded in number.
//!
//! A ticket names a session, but whoever has seen it on the network can send it. Only a
//! finished handshake proves that the client has the session's secret. So a ticket alone
//! changes nothing here: see [`Sessions::recognize`] and [`Unproven::prove`].

use crate::admission::tickets::SessionId;
use crate::config::Admission;
use crate::limits::SESSIONS;
use arc_swap::ArcSwap;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tidegate_control::{CensusCounts, ThinkTimeCensus};

mod elsewhere;

use elsewhere::{Elsewhere, Reported};
pub use elsewhere::{MOST_USES, SessionUse};

const SHARDS: usize = 64;

/// What one session may open.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// How many per second, on average.
    pub rate: f64,
    /// How many at once, before the rate counts.
    pub burst: f64,
    /// Most that are open.
    pub open: u32,
}

impl Allowance {
    /// How many the rate allows a session at once now.
    fn tokens(&self, session: &Session, now: Duration) -> f64 {
        let grown = now.saturating_sub(session.refilled).as_secs_f64() * self.rate;
        (session.tokens + grown).min(self.burst)
    }

    /// Whether a session may open a further one now.
    fn check(&self, session: &Session, now: Duration) -> Result<(), SessionLimit> {
        if session.open.saturating_add(session.open_elsewhere(now)) >= self.open {
            return Err(SessionLimit::Connections);
        }
        if self.tokens(session, now) < 1.0 {
            return Err(SessionLimit::Rate);
        }
        Ok(())
    }
}

/// How often one session may connect, and how long it is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Its connections.
    pub connections: Allowance,
    /// Its requests, where each is known by a cookie and its connection is that of a proxy.
    pub requests: Allowance,
    /// How long a session whose last connection the gate closed counts as active.
    pub linger: Duration,
    /// Most sessions remembered. Those with open connections stay beyond it:
    /// connections have a bound of their own.
    pub capacity: usize,
}

impl Rules {
    /// The configured rules.
    pub fn of(admission: &Admission) -> Self {
        Self {
            connections: Allowance {
                rate: admission.session_rate,
                burst: f64::from(admission.session_burst),
                open: admission.session_connections,
            },
            requests: Allowance {
                rate: admission.cookie_rate,
                burst: f64::from(admission.cookie_burst),
                open: admission.cookie_burst,
            },
            linger: admission.session_linger,
            capacity: SESSIONS,
        }
    }
}

pub use connection::SessionConnection;

/// All sessions of the gate. Times are since an origin of the caller.
#[derive(Debug)]
pub struct Sessions {
    shards: Vec<Mutex<Shard>>,
    rules: ArcSwap<Rules>,
    active: AtomicU64,
    started: AtomicU64,
    /// The time of the last call of [`Sessions::expire`], in nanoseconds.
    expired_at: AtomicU64,
    /// Think times of active sessions without a connection.
    think_times: Mutex<ThinkTimeCensus>,
    /// What other gates of the fleet are to know.
    reported: Reported,
}

/// What a session's limits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Connections,
    Requests,
}

impl Counted {
    fn of(self, rules: &Rules) -> Allowance {
        match self {
            Self::Connections => rules.connections,
            Self::Requests => rules.requests,
        }
    }
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
    /// Counts as active.
    active: bool,
    tokens: f64,
    refilled: Duration,
    /// When the last connection closed.
    left: Duration,
    /// The tick since which it is thinking, if it is active and has no connection.
    thinks_since: Option<u64>,
    /// Uses here that were not reported to other gates, less those within this gate's share of the
    /// rate.
    unreported: f64,
    /// Until then all uses are reported.
    reporting_until: Duration,
    /// At other gates.
    elsewhere: Vec<Elsewhere>,
    /// How long it counts as active after its last connection, whoever closed that, as the service
    /// has asked.
    keep: Duration,
    /// The end of this time, where the last connection has closed.
    kept_until: Duration,
    /// The service has ended it. Until then its customer loads the rest of the page.
    over_until: Duration,
}

impl Session {
    fn new(tokens: f64, now: Duration) -> Self {
        Self {
            open: 1,
            active: true,
            tokens,
            refilled: now,
            left: now,
            thinks_since: None,
            unreported: 0.0,
            reporting_until: Duration::ZERO,
            elsewhere: Vec::new(),
            keep: Duration::ZERO,
            kept_until: Duration::ZERO,
            over_until: Duration::ZERO,
        }
    }
}

/// The side that closed a session's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// The customer: with the last connection the session ends.
    Customer,
    /// The gate: the customer may return.
    Gate {
        /// Ticks in which no request was under way on it.
        idle_ticks: u64,
    },
}

/// Why a session may not have a further connection now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionLimit {
    /// It connects above its rate.
    Rate,
    /// It has its most open connections or requests.
    Connections,
}

impl Sessions {
    /// No sessions yet.
    pub fn new(rules: Rules) -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Arc::new(Self {
            shards,
            rules: ArcSwap::from_pointee(rules),
            active: AtomicU64::new(0),
            started: AtomicU64::new(0),
            expired_at: AtomicU64::new(0),
            think_times: Mutex::default(),
            reported: Reported::default(),
        })
    }

    /// Changes the rules; each session keeps the connections that it has left.
    pub fn set_rules(&self, rules: Rules) {
        self.rules.store(Arc::new(rules));
    }

    /// Sessions active now.
    pub fn active(&self) -> u64 {
        self.active.load(Relaxed)
    }

    /// Advances the think-time census by a tick, and adds its counts.
    pub fn tick(&self, counts: &mut CensusCounts) {
        let think_times = lock(&self.think_times);
        think_times.tick();
        think_times.add_to(counts);
    }

    /// Sessions begun since the gate's start.
    pub fn started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// Begins a session with one open connection. `id` must be unused.
    pub fn start(self: &Arc<Self>, id: SessionId, now: Duration) -> SessionConnection {
        self.start_with(id, now, Counted::Connections)
    }

    /// Adds a connection of a session that was let in from the waiting room. Where another of its
    /// connections was before, it is one more; `None` beyond what it may have.
    pub fn connect_or_start(
        self: &Arc<Self>,
        id: SessionId,
        now: Duration,
    ) -> Option<SessionConnection> {
        match self.is_known(&id) {
            true => self.connect(id, now).ok(),
            false => Some(self.start(id, now)),
        }
    }

    /// Whether a session is remembered.
    pub fn is_known(&self, id: &SessionId) -> bool {
        self.shard(id).sessions.contains_key(id)
    }

    /// Whether a session has an open connection, or a request under way.
    pub fn is_connected(&self, id: &SessionId) -> bool {
        self.shard(id).sessions.get(id).is_some_and(|session| session.open > 0)
    }

    /// Begins a session with one request under way. `id` must be unused.
    pub fn start_by_request(self: &Arc<Self>, id: SessionId, now: Duration) -> SessionConnection {
        self.start_with(id, now, Counted::Requests)
    }

    fn start_with(
        self: &Arc<Self>,
        id: SessionId,
        now: Duration,
        counted: Counted,
    ) -> SessionConnection {
        self.started.fetch_add(1, Relaxed);
        let mut shard = self.shard(&id);
        self.make_room(&mut shard);
        self.insert(&mut shard, id, now, counted);
        SessionConnection { sessions: self.clone(), id, over: false }
    }

    /// The active sessions, for the gate that takes this one's place. In no order.
    pub fn known(&self) -> Vec<SessionId> {
        let mut known = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            let active = shard.sessions.iter().filter(|(_, session)| session.active);
            known.extend(active.map(|(id, _)| *id));
        }
        known
    }

    /// Counts sessions as active that another gate had: their customers think, and may return
    /// within the linger time. Each may have all its connections again.
    pub fn expect(&self, ids: impl IntoIterator<Item = SessionId>, now: Duration) {
        for id in ids {
            let mut shard = self.shard(&id);
            self.make_room(&mut shard);
            self.insert(&mut shard, id, now, Counted::Connections);
            drop(shard);
            self.close(&id, ClosedBy::Gate { idle_ticks: 0 }, now);
        }
    }

    /// Recognizes the session of a ticket that was opened. Nothing is charged, and the
    /// session stays as it is, until [`Unproven::prove`].
    ///
    /// # Errors
    /// The session may not have a further connection now.
    pub fn recognize(
        self: &Arc<Self>,
        id: SessionId,
        now: Duration,
    ) -> Result<Unproven, SessionLimit> {
        if let Some(session) = self.shard(&id).sessions.get(&id) {
            self.rules.load().connections.check(session, now)?;
        }
        Ok(Unproven { sessions: self.clone(), id })
    }

    /// Adds a request of a session, whose cookie was opened.
    ///
    /// # Errors
    /// The session may not have a further request now.
    pub fn request(
        self: &Arc<Self>,
        id: SessionId,
        now: Duration,
    ) -> Result<SessionConnection, SessionLimit> {
        self.add(id, now, Counted::Requests)
    }

    /// Adds a connection of a session.
    ///
    /// # Errors
    /// The session may not have a further connection now.
    pub fn connect(
        self: &Arc<Self>,
        id: SessionId,
        now: Duration,
    ) -> Result<SessionConnection, SessionLimit> {
        self.add(id, now, Counted::Connections)
    }

    /// Adds a connection or request. A session that was forgotten is remembered again.
    fn add(
        self: &Arc<Self>,
        id: SessionId,
        now: Duration,
        counted: Counted,
    ) -> Result<SessionConnection, SessionLimit> {
        let mut shard = self.shard(&id);
        if let Some(session) = shard.sessions.get_mut(&id) {
            let allowed = counted.of(&self.rules.load());
            allowed.check(session, now)?;
            session.used_here(now, allowed.rate, self.reported.gates());
            session.tokens = allowed.tokens(session, now) - 1.0;
            session.refilled = session.refilled.max(now);
            session.open += 1;
            self.reported.note(id, session, counted, (allowed.burst, allowed.open));
            match session.thinks_since.take() {
                Some(since) => lock(&self.think_times).requests(since),
                None => lock(&self.think_times).requests_besides(),
            }
            if now >= session.over_until && !std::mem::replace(&mut session.active, true) {
                self.active.fetch_add(1, Relaxed);
            }
        } else {
            lock(&self.think_times).requests_besides();
            self.make_room(&mut shard);
            self.insert(&mut shard, id, now, counted);
        }
        Ok(SessionConnection { sessions: self.clone(), id, over: false })
    }

    /// Forgets sessions that have had no connection for the linger time.
    pub fn expire(&self, now: Duration) {
        self.expired_at.store(now.as_nanos() as u64, Relaxed);
        let linger = self.rules.load().linger;
        for shard in &self.shards {
            let mut shard = lock(shard);
            while let Some((left, id)) = shard.leaving.front().copied() {
                if left + linger > now {
                    break;
                }
                shard.leaving.pop_front();
                match shard.sessions.get_mut(&id) {
                    Some(kept) if kept.left == left && kept.kept_until > now => {
                        kept.left = now;
                        shard.leaving.push_back((now, id));
                    }
                    _ => self.forget(&mut shard, left, &id),
                }
            }
        }
    }

    fn insert(&self, shard: &mut Shard, id: SessionId, now: Duration, counted: Counted) {
        let allowed = counted.of(&self.rules.load());
        let session = Session { unreported: 1.0, ..Session::new(allowed.burst - 1.0, now) };
        self.reported.note(id, &session, counted, (allowed.burst, allowed.open));
        if shard.sessions.insert(id, session).is_none_or(|before| !before.active) {
            self.active.fetch_add(1, Relaxed);
        }
    }

    fn make_room(&self, shard: &mut Shard) {
        let most = self.rules.load().capacity.div_ceil(SHARDS);
        while shard.sessions.len() >= most {
            let Some((left, id)) = shard.leaving.pop_front() else { break };
            self.forget(shard, left, &id);
        }
    }

    /// Removes a session if it is unchanged since its last connection closed.
    fn forget(&self, shard: &mut Shard, left: Duration, id: &SessionId) {
        if shard.sessions.get(id).is_some_and(|session| session.open == 0 && session.left == left) {
            let gone = shard.sessions.remove(id);
            if let Some(since) = gone.as_ref().and_then(|session| session.thinks_since) {
                lock(&self.think_times).ends(since);
            }
            if gone.is_some_and(|session| session.active) {
                self.active.fetch_sub(1, Relaxed);
            }
        }
    }

    fn close(&self, id: &SessionId, by: ClosedBy, now: Duration) {
        let mut shard = self.shard(id);
        let Some(session) = shard.sessions.get_mut(id) else { return };
        session.open = session.open.saturating_sub(1);
        if session.open > 0 {
            return;
        }
        (session.left, session.kept_until) = (now, now + session.keep);
        let idle_ticks = match by {
            ClosedBy::Customer => 0,
            ClosedBy::Gate { idle_ticks } => idle_ticks,
        };
        match by {
            ClosedBy::Customer if session.keep.is_zero() => {
                if std::mem::replace(&mut session.active, false) {
                    self.active.fetch_sub(1, Relaxed);
                }
            }
            // The service has ended it.
            _ if !session.active => {}
            _ => {
                let think_times = lock(&self.think_times);
                let since = think_times.now().saturating_sub(idle_ticks);
                think_times.began(since);
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

/// A connection whose ticket names a session, before its handshake has proved that the
/// client has the session's secret.
#[derive(Debug)]
pub struct Unproven {
    sessions: Arc<Sessions>,
    id: SessionId,
}

impl Unproven {
    /// The handshake is finished: the connection is the session's, and is charged to its
    /// rate.
    ///
    /// # Errors
    /// Others of the session have meanwhile used up what it may have.
    pub fn prove(self, now: Duration) -> Result<SessionConnection, SessionLimit> {
        self.sessions.connect(self.id, now)
    }
}

mod connection;
#[cfg(test)]
mod tests;
