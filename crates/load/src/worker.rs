//! One driver thread: a current-thread runtime on which customers are tasks.
//! It sends what it records in batches and never waits for who takes them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::{Duration, Instant};

use rand::SeedableRng;

use crate::Rng;
use crate::arrivals::{Arrivals, Stream};
use crate::client::{Connector, Target, Tls};
use crate::clock::Clock;
use crate::customer::Customer;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::plan::{Close, Sources, Stop};
use crate::recorder::{Batch, Event, What};
use crate::scenario::Parts;

/// The heartbeat of the event loop; batches go out with it.
const HEARTBEAT: Duration = Duration::from_millis(20);
/// Events kept while nobody takes them; beyond, they are dropped and counted.
const MOST_EVENTS: usize = 1 << 20;

/// All that a driver thread needs; goes to it whole.
#[derive(Clone)]
pub(crate) struct Assignment {
    pub(crate) thread: usize,
    pub(crate) threads: usize,
    pub(crate) core: Option<usize>,
    pub(crate) parts: Arc<Parts>,
    pub(crate) target: Target,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) tls: Option<Tls>,
    pub(crate) sources: Sources,
    pub(crate) close: Close,
    pub(crate) arrivals: Arrivals,
    pub(crate) patience: Duration,
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
    pub(crate) close: Close,
    pub(crate) patience: Duration,
    pub(crate) time_scale: f64,
    pub(crate) customers: u64,
    pub(crate) seed: u64,
    pub(crate) run: u64,
    start: Instant,
    events: RefCell<Vec<Event>>,
    lost: Cell<u64>,
    in_flight: Cell<usize>,
}

impl Shared {
    /// Records what happens now.
    pub(crate) fn record(&self, what: What) {
        self.record_at(Instant::now(), what);
    }

    /// Records what happened at an instant.
    pub(crate) fn record_at(&self, at: Instant, what: What) {
        let mut events = self.events.borrow_mut();
        if events.len() < MOST_EVENTS {
            events.push(Event { at: self.since_start(at), what });
        } else {
            self.lost.set(self.lost.get() + 1);
        }
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

/// Runs a thread's part of the load to its end.
pub(crate) fn work(assignment: Assignment, out: &SyncSender<Batch>) -> Result<(), Error> {
    if let Some(core) = assignment.core {
        pin(core)?;
    }
    let system = |what| move |source| Error::System { what, source };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("a runtime for a driver thread"))?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, drive(assignment, out)).map_err(system("a timer of the kernel"))
}

async fn drive(job: Assignment, out: &SyncSender<Batch>) -> std::io::Result<()> {
    let clock = Clock::new()?;
    let ticking = clock.clone();
    tokio::task::spawn_local(async move { ticking.tick().await });
    let headers = format!(
        "Host: {}\r\nUser-Agent: tidegate-load\r\nAccept: text/html,*/*;q=0.8\r\n",
        job.target.authority
    );
    let end = job.start + job.length;
    let arrivals = job.arrivals.stream(job.thread, job.threads);
    // Numbers of the seed's own for arrivals, which no session has.
    let rng = Rng::seed_from_u64(job.seed.wrapping_mul(0xD134_2543_DE82_EF95) ^ job.thread as u64);
    let most = job.max_sessions.map(|most| {
        let (threads, thread) = (job.threads as u64, job.thread as u64);
        most / threads + u64::from(thread < most % threads)
    });
    let source = Source { stream: arrivals, rng, most, thread: job.thread, threads: job.threads };
    let shared = Rc::new(Shared {
        connector: Connector::new(job.address, &job.sources, job.tls),
        parts: job.parts,
        target: job.target,
        clock: clock.clone(),
        buffers: Buffers::default(),
        headers,
        close: job.close,
        patience: job.patience,
        time_scale: job.time_scale,
        customers: job.customers,
        seed: job.seed,
        run: job.run,
        start: job.start,
        events: RefCell::default(),
        lost: Cell::new(0),
        in_flight: Cell::new(0),
    });
    let arriving = tokio::task::spawn_local(source.run(shared.clone(), job.max_in_flight, end));
    let mut reporter = Reporter { out, thread: job.thread, pending: None };
    let mut beat = job.start;
    loop {
        beat = (beat + HEARTBEAT).max(Instant::now());
        clock.at(beat.min(end)).await;
        let now = Instant::now();
        shared.record_at(now, What::Heartbeat { late: now.saturating_duration_since(beat) });
        let idle = arriving.is_finished() && shared.in_flight.get() == 0;
        if now >= end || job.stop.is_stopped() || idle {
            // An instant of the window itself, should the loop be late.
            let ended = now.min(end);
            for _ in 0..shared.in_flight.get() {
                let what = What::Ended { outcome: Outcome::CutOff, admitted: true };
                shared.record_at(ended, what);
            }
            reporter.send(&shared, ended, true);
            return Ok(());
        }
        reporter.send(&shared, now, false);
    }
}

/// Brings customers into being.
struct Source {
    stream: Stream,
    rng: Rng,
    most: Option<u64>,
    thread: usize,
    threads: usize,
}

impl Source {
    async fn run(mut self, shared: Rc<Shared>, max_in_flight: usize, end: Instant) {
        let mut count = 0u64;
        while self.most.is_none_or(|most| count < most) {
            let Some(offset) = self.stream.next(&mut self.rng) else { return };
            let Some(arrival) = shared.start.checked_add(offset).filter(|at| *at < end) else {
                return;
            };
            shared.clock.at(arrival).await;
            let session = self.thread as u64 + count * self.threads as u64;
            count += 1;
            shared.record_at(arrival, What::Offered);
            if shared.in_flight.get() >= max_in_flight {
                shared.record(What::NotStarted);
                continue;
            }
            shared.record(What::Started);
            shared.in_flight.set(shared.in_flight.get() + 1);
            let customer = Customer::new(shared.clone(), session);
            let shared = shared.clone();
            tokio::task::spawn_local(async move {
                customer.run(arrival).await;
                shared.in_flight.set(shared.in_flight.get() - 1);
            });
            // With arrivals overdue, let those who are here go on.
            if count.is_multiple_of(16) {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Sends batches; keeps one back while the channel is full.
struct Reporter<'a> {
    out: &'a SyncSender<Batch>,
    thread: usize,
    pending: Option<Batch>,
}

impl Reporter<'_> {
    fn send(&mut self, shared: &Shared, until: Instant, last: bool) {
        let mut batch = self.pending.take().unwrap_or_default();
        batch.events.append(&mut shared.events.borrow_mut());
        if batch.events.len() > 2 * MOST_EVENTS {
            shared.lost.set(shared.lost.get() + batch.events.len() as u64);
            batch.events.clear();
        }
        batch.thread = self.thread;
        batch.until = shared.since_start(until);
        batch.cpu = thread_cpu();
        batch.in_flight = shared.in_flight.get() as u64;
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

/// CPU time of the calling thread, in which waiting for the processor does not count.
pub fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives through the call.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if result != 0 {
        return Duration::ZERO;
    }
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Binds the calling thread to one processor.
fn pin(core: usize) -> Result<(), Error> {
    let what = "pinning a driver thread to its processor";
    // SAFETY: cpu_set_t is plain bits, for which zero is valid; CPU_SET is
    // given an index within it; the set lives through the call.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if core >= 8 * size_of::<libc::cpu_set_t>() {
            let source = std::io::Error::other(format!("there is no processor {core}"));
            return Err(Error::System { what, source });
        }
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result != 0 {
        return Err(Error::System { what, source: std::io::Error::last_os_error() });
    }
    Ok(())
}
