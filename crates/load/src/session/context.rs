//! What the customers of a thread share: settings, connector, buffers, and the counts of
//! sessions.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::event_log::EventLog;
use super::in_flight::{InFlight, OpenPage};
use super::message::FixedRequests;
use super::sample::HttpDebug;
use super::timers::Timers;
use super::waiting::LastLetIn;
use crate::arrivals::seed::seed_of_entry;
use crate::client::connection::Connector;
use crate::client::connections::{Close, KeepAlive};
use crate::client::http::head::LastHead;
use crate::plan::shard::ThreadShard;
use crate::recorder::event::{EventKind, Expectation, Request, SessionGroup};
use crate::rng::Rng;
use crate::scenario::class::draw;
use crate::scenario::definition::ScenarioDefinition;
use crate::scenario::walk::exponential;

/// What the customers of a thread share.
pub(crate) struct ThreadContext {
    pub(crate) definition: Arc<ScenarioDefinition>,
    /// The target, and the other hosts of the scenario.
    pub(crate) sites: Vec<Site>,
    /// `https://host[:port]` of each.
    pub(crate) origins: Vec<String>,
    pub(crate) timers: Rc<Timers>,
    pub(crate) buffers: Buffers,
    pub(crate) fixed: FixedRequests,
    pub(crate) last_head: LastHead,
    pub(crate) keep: KeepAlive,
    pub(crate) close: Close,
    /// Patience of each class.
    pub(crate) patience: Vec<Duration>,
    pub(crate) time_scale: f64,
    /// Number of customer accounts.
    pub(crate) customers: u64,
    pub(crate) seed: u64,
    /// Number of the run, for identifiers.
    pub(crate) run: u64,
    /// Start of the run.
    pub(crate) start: Instant,
    /// End of the run.
    pub(crate) end: Instant,
    pub(crate) shard: ThreadShard,
    pub(crate) max_in_flight: usize,
    /// Most sessions of this thread.
    pub(crate) max_sessions: Option<u64>,
    pub(crate) log: EventLog,
    pub(crate) debug: HttpDebug,
    pub(crate) open_requests: InFlight<Request>,
    pub(crate) open_pages: InFlight<OpenPage>,
    pub(crate) counts: SessionCounts,
    pub(crate) last_let_in: LastLetIn,
}

/// A host that customers request.
pub(crate) struct Site {
    pub(crate) connector: Connector,
    /// Header fields of every request to it.
    pub(crate) headers: String,
}

/// Numbers of sessions of a thread.
#[derive(Default)]
pub(crate) struct SessionCounts {
    /// Sessions offered so far.
    offered: Cell<u64>,
    /// Sessions in flight by group, see [`ThreadContext::count_of`].
    in_flight: Vec<Cell<usize>>,
    /// Customers between two sessions, who will return.
    away: Cell<usize>,
    /// A customer of the closed model has left because no row is left.
    used_up: Cell<bool>,
}

impl SessionCounts {
    pub(crate) fn new(groups: usize) -> Self {
        Self { in_flight: vec![Cell::new(0); groups], ..Self::default() }
    }

    /// Records that a customer of the closed model leaves because the rows of a feeder are used
    /// up.
    pub(crate) fn set_rows_used_up(&self) {
        self.used_up.set(true);
    }
}

/// An entry of the arrivals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its index.
    pub(crate) model: u8,
    /// The class of its customers, if it names one.
    pub(crate) class: Option<u8>,
}

/// The outcome of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// A session begins; [`ThreadContext::leave`] ends it.
    Session(SessionGroup),
    /// The limit in flight is reached.
    Full,
    /// The run has had its number of sessions.
    Enough,
}

impl ThreadContext {
    /// Records an event that happens now.
    pub(crate) fn record(&self, kind: EventKind) {
        self.record_at(Instant::now(), kind);
    }

    /// Records an event with its time.
    pub(crate) fn record_at(&self, at: Instant, kind: EventKind) {
        self.log.record(self.since_start(at), kind);
    }

    /// Records a failed check; `found` is called for the first failure of its kind only.
    pub(crate) fn check_failed(
        &self,
        page: u16,
        expectation: Expectation,
        found: impl FnOnce() -> String,
    ) {
        self.record(EventKind::CheckFailed { page, expectation });
        self.log.add_example(page, expectation, found);
    }

    /// Counts the arrival of a session and begins it if possible. The class is drawn unless
    /// the entry names one.
    pub(crate) fn arrive(&self, intended: Instant, session: u64, entry: Entry) -> Arrived {
        let count = self.counts.offered.get();
        if self.max_sessions.is_some_and(|most| count >= most) {
            return Arrived::Enough;
        }
        self.counts.offered.set(count + 1);
        let drawn = || draw(&self.definition.classes, self.seed_of(session));
        let group = SessionGroup { class: entry.class.unwrap_or_else(drawn), model: entry.model };
        self.record_at(intended, EventKind::Offered { group });
        if self.begin(group) { Arrived::Session(group) } else { Arrived::Full }
    }

    fn begin(&self, group: SessionGroup) -> bool {
        // One that was due before the end counts, also if the loop is late.
        let at = Instant::now().min(self.end);
        if self.in_flight() >= self.max_in_flight {
            self.record_at(at, EventKind::NotStarted { group });
            return false;
        }
        self.record_at(at, EventKind::Started { group });
        let count = self.count_of(group);
        count.set(count.get() + 1);
        true
    }

    /// Sessions in flight of a group.
    fn count_of(&self, group: SessionGroup) -> &Cell<usize> {
        let classes = self.definition.classes.len();
        &self.counts.in_flight[usize::from(group.model) * classes + usize::from(group.class)]
    }

    /// All groups with sessions in flight, and their number.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (SessionGroup, usize)> {
        let classes = self.definition.classes.len();
        let group = move |index| SessionGroup {
            class: (index % classes) as u8,
            model: (index / classes) as u8,
        };
        let all = self.counts.in_flight.iter().enumerate();
        all.map(move |(index, count)| (group(index), count.get())).filter(|(_, count)| *count > 0)
    }

    /// Registers a customer who will return later. Returns false if too many are away: the
    /// return is then counted as not started.
    pub(crate) fn go_away(&self, group: SessionGroup) -> bool {
        if self.counts.away.get() >= self.max_in_flight {
            self.record(EventKind::Returned { group });
            self.record(EventKind::NotStarted { group });
            return false;
        }
        self.counts.away.set(self.counts.away.get() + 1);
        true
    }

    /// Begins the session of a returning customer.
    pub(crate) fn come_back(&self, intended: Instant, group: SessionGroup) -> bool {
        self.counts.away.set(self.counts.away.get() - 1);
        self.record_at(intended, EventKind::Returned { group });
        self.begin(group)
    }

    /// The seed of a session.
    pub(crate) fn seed_of(&self, session: u64) -> u64 {
        // Neighbouring seeds must not give neighbouring streams.
        self.seed ^ session.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// The seed of an entry of the arrivals; no session has the same.
    pub(crate) fn seed_of_model(&self, index: usize) -> u64 {
        seed_of_entry(self.seed, index)
    }

    /// Sessions in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.counts.in_flight.iter().map(Cell::get).sum()
    }

    /// Whether the thread has had the number of sessions that limits the run, or the rows of a
    /// feeder limit it.
    pub(crate) fn has_enough(&self) -> bool {
        let most = self.max_sessions;
        self.counts.used_up.get() || most.is_some_and(|most| self.counts.offered.get() >= most)
    }

    /// Whether no session is in flight and no customer will return.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight() + self.counts.away.get() == 0
    }

    /// A think time: negative exponential, capped at a multiple of its mean.
    pub(crate) fn think(&self, mean: Duration, cap: f64, rng: &mut Rng) -> Duration {
        // Always drawn, so that later draws do not depend on the mean.
        let drawn = exponential(cap, rng);
        if mean.is_zero() { mean } else { mean.mul_f64(drawn * self.time_scale) }
    }

    /// Counts the end of a session.
    pub(crate) fn leave(&self, group: SessionGroup) {
        let count = self.count_of(group);
        count.set(count.get() - 1);
    }

    /// The instant at an offset, if it lies before the end of the run.
    pub(crate) fn instant(&self, since_start: Duration) -> Option<Instant> {
        self.start.checked_add(since_start).filter(|at| *at < self.end)
    }

    pub(crate) fn since_start(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start)
    }
}

/// A pool of buffers: requests in flight hold one, thinking customers hold none.
#[derive(Default)]
pub(crate) struct Buffers(RefCell<Vec<Vec<u8>>>);

impl Buffers {
    /// Most buffers in the pool.
    const MOST: usize = 64;
    /// Largest buffer that returns to the pool.
    const LARGEST: usize = 512 * 1024;

    pub(crate) fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_default()
    }

    pub(crate) fn put_back(&self, mut buffer: Vec<u8>) {
        let mut pool = self.0.borrow_mut();
        if pool.len() < Self::MOST && (1..=Self::LARGEST).contains(&buffer.capacity()) {
            buffer.clear();
            pool.push(buffer);
        }
    }
}
