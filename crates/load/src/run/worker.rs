//! One driver thread: a current-thread runtime on which customers are tasks.
//! It sends what it records in batches and never waits for who takes them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use tidegate_host::{Cores, cpu_clock};

use crate::Rng;
use crate::arrivals::Arrivals;
use crate::client::{Connector, LastHead, Target, Tls};
use crate::error::Error;
use crate::outcome::Outcome;
use crate::plan::shard::Share;
use crate::plan::{Close, Http, Keep, Sources, Stop};
use crate::recorder::{Batch, Event, Example, Group, What, Why};
use crate::run::source::{self, Entry};
use crate::scenario::walk::exponential;
use crate::scenario::{Parts, draw};
use crate::session::clock::Clock;
use crate::session::message::Fixed;

/// The heartbeat of the event loop; batches go out with it.
const HEARTBEAT: Duration = Duration::from_millis(20);
/// Numbers of the seed's own for the order of full and resumed handshakes.
const SHARE: u64 = 0xA076_1D64_78BD_642F;
/// Numbers of the seed's own for arrivals.
const ARRIVALS: u64 = 0xD134_2543_DE82_EF95;
/// Events kept while nobody takes them; beyond, they are dropped and counted.
const MOST_EVENTS: usize = 1 << 20;

/// All that a driver thread needs; goes to it whole.
#[derive(Clone)]
pub(crate) struct Assignment {
    pub(crate) thread: usize,
    pub(crate) threads: usize,
    /// What of the whole test is the thread's.
    pub(crate) share: Share,
    pub(crate) core: Option<usize>,
    pub(crate) parts: Arc<Parts>,
    pub(crate) target: Target,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) tls: Option<Tls>,
    pub(crate) http: Http,
    pub(crate) sources: Sources,
    pub(crate) keep: Keep,
    pub(crate) close: Close,
    pub(crate) arrivals: Arrivals,
    pub(crate) patience_factor: f64,
    pub(crate) time_scale: f64,
    pub(crate) customers: u64,
    pub(crate) seed: u64,
    pub(crate) run: u64,
    pub(crate) max_in_flight: usize,
    pub(crate) max_sessions: Option<u64>,
    /// Start of the run, the same for all threads.
    pub(crate) start: Instant,
    pub(crate) length: Duration,
    pub(crate) stop: Stop,
}

/// What the customers of a thread share.
pub(crate) struct Shared {
    pub(crate) parts: Arc<Parts>,
    pub(crate) target: Target,
    pub(crate) connector: Connector,
    pub(crate) clock: Rc<Clock>,
    pub(crate) buffers: Buffers,
    /// Headers that every request has.
    pub(crate) headers: String,
    pub(crate) fixed: Fixed,
    pub(crate) last_head: LastHead,
    pub(crate) keep: Keep,
    pub(crate) close: Close,
    /// Of each class.
    pub(crate) patience: Vec<Duration>,
    pub(crate) time_scale: f64,
    pub(crate) customers: u64,
    seed: u64,
    pub(crate) run: u64,
    start: Instant,
    /// End of the run.
    pub(crate) end: Instant,
    pub(crate) share: Share,
    max_in_flight: usize,
    /// Most sessions of this thread.
    max_sessions: Option<u64>,
    /// Sessions asked for so far.
    offered: Cell<u64>,
    events: RefCell<Vec<Event>>,
    /// What was told of already, and examples that are on their way.
    told: RefCell<BTreeSet<(u16, Why)>>,
    examples: RefCell<Vec<Example>>,
    lost: Cell<u64>,
    /// Of each group: see [`Shared::here`].
    in_flight: Vec<Cell<usize>>,
    /// Customers who will come back.
    away: Cell<usize>,
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// A session begins; [`Shared::leave`] ends it.
    Session(Group),
    /// Too many in flight.
    Full,
    /// The run has had as many as it was to have.
    Enough,
}

impl Shared {
    /// Records what happens now.
    pub(crate) fn record(&self, what: What) {
        self.record_at(Instant::now(), what);
    }

    /// Records what happened at an instant.
    pub(crate) fn record_at(&self, at: Instant, what: What) {
        self.record_since_start(self.since_start(at), what);
    }

    /// The same, of an instant since the start of the run.
    pub(crate) fn record_since_start(&self, at: Duration, what: What) {
        let mut events = self.events.borrow_mut();
        if events.len() < MOST_EVENTS {
            events.push(Event { at, what });
        } else {
            self.lost.set(self.lost.get() + 1);
        }
    }

    /// Records that a page's expectation was not met; `came` is only asked for
    /// the first time.
    pub(crate) fn unmet(&self, page: u16, why: Why, came: impl FnOnce() -> String) {
        self.record(What::Unmet { page, why });
        if self.told.borrow_mut().insert((page, why)) {
            self.examples.borrow_mut().push(Example { page, why, came: came() });
        }
    }

    /// Lets the session of this number begin, of an entry of the arrivals; its class
    /// is drawn unless that says it.
    pub(crate) fn arrive(&self, intended: Instant, session: u64, entry: Entry) -> Arrived {
        let count = self.offered.get();
        if self.max_sessions.is_some_and(|most| count >= most) {
            return Arrived::Enough;
        }
        self.offered.set(count + 1);
        let drawn = || draw(&self.parts.classes, self.seed_of(session));
        let group = Group { class: entry.class.unwrap_or_else(drawn), model: entry.model };
        self.record_at(intended, What::Offered { group });
        if self.begin(group) { Arrived::Session(group) } else { Arrived::Full }
    }

    fn begin(&self, group: Group) -> bool {
        if self.in_flight() >= self.max_in_flight {
            self.record(What::NotStarted { group });
            return false;
        }
        self.record(What::Started { group });
        let here = self.here(group);
        here.set(here.get() + 1);
        true
    }

    /// Sessions in flight of a group.
    fn here(&self, group: Group) -> &Cell<usize> {
        let classes = self.parts.classes.len();
        &self.in_flight[usize::from(group.model) * classes + usize::from(group.class)]
    }

    /// All groups with sessions in flight, and how many.
    fn groups(&self) -> impl Iterator<Item = (Group, usize)> {
        let classes = self.parts.classes.len();
        let group =
            move |index| Group { class: (index % classes) as u8, model: (index / classes) as u8 };
        let all = self.in_flight.iter().enumerate();
        all.map(move |(index, here)| (group(index), here.get())).filter(|(_, here)| *here > 0)
    }

    /// Lets a customer go who will come back; with too many of them she will
    /// not.
    pub(crate) fn go_away(&self, group: Group) -> bool {
        if self.away.get() >= self.max_in_flight {
            self.record(What::Returned { group });
            self.record(What::NotStarted { group });
            return false;
        }
        self.away.set(self.away.get() + 1);
        true
    }

    /// Lets a session begin of a customer who had gone away.
    pub(crate) fn come_back(&self, intended: Instant, group: Group) -> bool {
        self.away.set(self.away.get() - 1);
        self.record_at(intended, What::Returned { group });
        self.begin(group)
    }

    /// The seed of a session.
    pub(crate) fn seed_of(&self, session: u64) -> u64 {
        // Neighbouring seeds must not give neighbouring streams.
        self.seed ^ session.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// The seed of a model of the arrivals, which no session has.
    pub(crate) fn seed_of_model(&self, index: usize) -> u64 {
        (self.seed ^ (index as u64) << 32).wrapping_mul(ARRIVALS)
    }

    /// Sessions in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.iter().map(Cell::get).sum()
    }

    /// A think time: negative exponential, cut at a multiple of its mean.
    pub(crate) fn think(&self, mean: Duration, cap: f64, rng: &mut Rng) -> Duration {
        // Drawn in any case: what is drawn later does not depend on it.
        let drawn = exponential(cap, rng);
        if mean.is_zero() { mean } else { mean.mul_f64(drawn * self.time_scale) }
    }

    /// A session of this group is over.
    pub(crate) fn leave(&self, group: Group) {
        let here = self.here(group);
        here.set(here.get() - 1);
    }

    /// An instant of the run, if it lies before its end.
    pub(crate) fn instant(&self, since_start: Duration) -> Option<Instant> {
        self.start.checked_add(since_start).filter(|at| *at < self.end)
    }

    pub(crate) fn since_start(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start)
    }
}

/// Buffers in turn: only requests in flight hold one, not customers who
/// think.
#[derive(Default)]
pub(crate) struct Buffers(RefCell<Vec<Vec<u8>>>);

impl Buffers {
    /// Most buffers kept, and the largest.
    const KEPT: usize = 64;
    const LARGEST: usize = 512 * 1024;

    pub(crate) fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_default()
    }

    pub(crate) fn give(&self, mut buffer: Vec<u8>) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < Self::KEPT && (1..=Self::LARGEST).contains(&buffer.capacity()) {
            buffer.clear();
            kept.push(buffer);
        }
    }
}

/// Runs a thread's part of the load to its end. Space for events comes back empty by
/// `spare`.
pub(crate) fn work(
    assignment: Assignment,
    out: &SyncSender<Batch>,
    spare: &Receiver<Vec<Event>>,
) -> Result<(), Error> {
    if let Some(core) = assignment.core {
        pin(core)?;
    }
    let system = |what| move |source| Error::System { what, source };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("a runtime for a driver thread"))?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, drive(assignment, out, spare)).map_err(system("a timer of the kernel"))
}

async fn drive(
    job: Assignment,
    out: &SyncSender<Batch>,
    spare: &Receiver<Vec<Event>>,
) -> std::io::Result<()> {
    let clock = Clock::new()?;
    let ticking = clock.clone();
    tokio::task::spawn_local(async move { ticking.tick().await });
    // Source: RFC 9112, section 9.6, for a connection of one request.
    let headers = format!(
        "Host: {}\r\nUser-Agent: tidegate-load\r\nAccept: text/html,*/*;q=0.8\r\n{}",
        job.target.authority,
        if job.keep == Keep::Request { "Connection: close\r\n" } else { "" }
    );
    let end = job.start + job.length;
    let most = job.max_sessions.map(|most| job.share.of_first(most));
    let shared = Rc::new(Shared {
        connector: Connector::new(
            job.address,
            &job.sources,
            job.tls,
            job.http,
            (job.seed ^ job.share.first as u64).wrapping_mul(SHARE),
        ),
        patience: job
            .parts
            .classes
            .iter()
            .map(|class| class.session.patience.mul_f64(job.patience_factor))
            .collect(),
        in_flight: vec![Cell::new(0); job.parts.classes.len() * job.arrivals.models().len()],
        fixed: Fixed::new(&job.parts, &job.target.origin, &headers),
        parts: job.parts,
        target: job.target,
        clock: clock.clone(),
        buffers: Buffers::default(),
        last_head: LastHead::default(),
        headers,
        keep: job.keep,
        close: job.close,
        time_scale: job.time_scale,
        customers: job.customers,
        seed: job.seed,
        run: job.run,
        start: job.start,
        end,
        share: job.share,
        max_in_flight: job.max_in_flight,
        max_sessions: most,
        offered: Cell::new(0),
        events: RefCell::default(),
        told: RefCell::default(),
        examples: RefCell::default(),
        lost: Cell::new(0),
        away: Cell::new(0),
    });
    let arriving = source::start(&shared, &job.arrivals);
    let mut reporter = Reporter { out, spare, thread: job.thread, pending: None };
    let mut beat = job.start;
    loop {
        beat = (beat + HEARTBEAT).max(Instant::now());
        clock.at(beat.min(end)).await;
        let now = Instant::now();
        shared.record_at(now, What::Heartbeat { late: now.saturating_duration_since(beat) });
        let idle = arriving.are_over() && shared.in_flight() + shared.away.get() == 0;
        if now >= end || job.stop.is_stopped() || idle {
            // An instant of the window itself, should the loop be late.
            let ended = now.min(end);
            for (group, here) in shared.groups() {
                let what = What::Ended { group, outcome: Outcome::CutOff, admitted: true };
                (0..here).for_each(|_| shared.record_at(ended, what));
            }
            reporter.send(&shared, ended, true);
            // Who rests closes her connection; each turn lets some dozens do so.
            for _ in 0..=clock.end() / 16 {
                tokio::task::yield_now().await;
            }
            return Ok(());
        }
        reporter.send(&shared, now, false);
    }
}

/// Sends batches; keeps one back while the channel is full.
struct Reporter<'a> {
    out: &'a SyncSender<Batch>,
    /// Space that was sent and is empty again: fresh memory would be cleared by the
    /// kernel first, at every heartbeat.
    spare: &'a Receiver<Vec<Event>>,
    thread: usize,
    pending: Option<Batch>,
}

impl Reporter<'_> {
    fn send(&mut self, shared: &Shared, until: Instant, last: bool) {
        let mut batch = self.pending.take().unwrap_or_default();
        let mut events = shared.events.borrow_mut();
        if batch.events.is_empty() {
            let space = self.spare.try_recv().unwrap_or_default();
            batch.events = std::mem::replace(&mut *events, space);
        } else {
            batch.events.append(&mut events);
        }
        drop(events);
        batch.examples.append(&mut shared.examples.borrow_mut());
        if batch.events.len() > 2 * MOST_EVENTS {
            shared.lost.set(shared.lost.get() + batch.events.len() as u64);
            batch.events.clear();
        }
        batch.thread = self.thread;
        batch.until = shared.since_start(until);
        batch.cpu = cpu_clock::of_this_thread();
        batch.in_flight = shared.in_flight() as u64;
        batch.lost = shared.lost.get();
        batch.last = last;
        if last {
            // Nothing is measured any more: waiting harms nobody.
            let _ = self.out.send(batch);
        } else if let Err(TrySendError::Full(batch)) = self.out.try_send(batch) {
            self.pending = Some(batch);
        }
    }
}

/// Binds the calling thread to one processor.
fn pin(core: usize) -> Result<(), Error> {
    let what = "pinning a driver thread to its processor";
    let pinned = Cores::one(core).and_then(|cores| cores.pin_this_thread());
    pinned.map_err(|source| Error::System { what, source })
}
