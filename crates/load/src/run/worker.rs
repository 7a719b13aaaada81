//! A worker thread: a current-thread runtime on which customers are tasks. It sends its
//! events to the recorder in batches and never waits for the recorder.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use tidegate_host::{Cores, cpu_clock};
use tidegate_stats::Observation;

use super::sites::RunSite;
use super::source;
use crate::arrivals::Arrivals;
use crate::client::addresses::Addresses;
use crate::client::connection::Connector;
use crate::client::connections::{Close, KeepAlive, Sources};
use crate::client::http::coding::ACCEPTED;
use crate::client::http::head::LastHead;
use crate::client::target::Target;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::plan::shard::ThreadShard;
use crate::plan::{Avoided, Stop};
use crate::recorder::event::{Batch, Event, EventKind, Request};
use crate::scenario::definition::ScenarioDefinition;
use crate::session::context::{Buffers, SessionCounts, Site, ThreadContext};
use crate::session::event_log::EventLog;
use crate::session::in_flight::{InFlight, OpenPage};
use crate::session::message::FixedRequests;
use crate::session::sample::HttpDebug;
use crate::session::timers::Timers;
use crate::session::waiting::LastLetIn;

/// Interval of the heartbeat of the event loop; batches are sent with it.
const HEARTBEAT: Duration = Duration::from_millis(20);
/// Longest time after the end in which sessions begin that were due before it.
const CATCHES_UP: Duration = Duration::from_millis(500);
/// Multiplier of the seed for the order of full and resumed handshakes.
const SCHEDULE: u64 = 0xA076_1D64_78BD_642F;

/// Everything a worker thread needs.
#[derive(Clone)]
pub(crate) struct Assignment {
    pub(crate) thread: usize,
    pub(crate) threads: usize,
    /// The thread's shard of the test.
    pub(crate) shard: ThreadShard,
    pub(crate) core: Option<usize>,
    pub(crate) definition: Arc<ScenarioDefinition>,
    /// The target, and the other hosts of the scenario.
    pub(crate) sites: Vec<RunSite>,
    pub(crate) sources: Sources,
    pub(crate) avoided: Avoided,
    pub(crate) keep: KeepAlive,
    pub(crate) close: Close,
    pub(crate) accept_encoding: bool,
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
    /// Records what customers do, if the plan says so.
    pub(crate) tracing: Option<tidegate_trace::Handle>,
    /// Sessions whose requests are printed.
    pub(crate) http_debug: u32,
}

impl Assignment {
    /// The context of the thread's customers.
    fn into_context(self, timers: Rc<Timers>) -> ThreadContext {
        // Source: RFC 9112, section 9.6, for a connection of one request.
        let accepted = format!("Accept-Encoding: {ACCEPTED}\r\n");
        let headers = |target: &Target| {
            format!(
                "Host: {}\r\nUser-Agent: tidegate-load\r\nAccept: text/html,*/*;q=0.8\r\n{}{}",
                target.authority,
                if self.accept_encoding { &accepted } else { "" },
                if self.keep == KeepAlive::Request { "Connection: close\r\n" } else { "" }
            )
        };
        let headers: Vec<String> = self.sites.iter().map(|site| headers(&site.target)).collect();
        let origins: Vec<String> =
            self.sites.iter().map(|site| site.target.origin.clone()).collect();
        let fixed = FixedRequests::new(&self.definition, &origins, &headers);
        let seed = (self.seed ^ self.shard.first as u64).wrapping_mul(SCHEDULE);
        let classes = &self.definition.classes;
        let site = |(site, headers): (RunSite, String)| {
            // Threads and drivers begin with different addresses.
            let addresses = Addresses::new(&site.addresses, &self.sources, self.shard.first);
            let addresses = addresses.numbered_from(site.number).without(self.avoided.clone());
            Site { connector: Connector::new(addresses, site.tls, site.http, seed), headers }
        };
        ThreadContext {
            sites: self.sites.into_iter().zip(headers).map(site).collect(),
            origins,
            patience: classes
                .iter()
                .map(|class| class.session.patience.mul_f64(self.patience_factor))
                .collect(),
            counts: SessionCounts::new(classes.len() * self.arrivals.models().len()),
            fixed,
            definition: self.definition,
            timers,
            buffers: Buffers::default(),
            last_head: LastHead::default(),
            keep: self.keep,
            close: self.close,
            time_scale: self.time_scale,
            customers: self.customers,
            seed: self.seed,
            run: self.run,
            start: self.start,
            end: self.start + self.length,
            shard: self.shard,
            max_in_flight: self.max_in_flight,
            max_sessions: self.max_sessions.map(|most| self.shard.of_first(most)),
            log: EventLog::default(),
            debug: HttpDebug::new(self.http_debug),
            open_requests: InFlight::default(),
            open_pages: InFlight::default(),
            last_let_in: LastLetIn::default(),
        }
    }
}

/// Runs the thread's shard of the load to its end. Emptied vectors for events return by
/// `spare`.
pub(crate) fn work(
    assignment: Assignment,
    out: &SyncSender<Batch>,
    spare: &Receiver<Vec<Event>>,
) -> Result<(), Error> {
    if let Some(core) = assignment.core {
        pin(core)?;
    }
    // Dropped after the customers, whose lines end with them.
    let _traced = assignment.tracing.as_ref().map(tidegate_trace::Handle::attach);
    let system = |what| move |source| Error::System { what, source };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("a runtime for a load generator thread"))?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, drive(assignment, out, spare)).map_err(system("a timer of the kernel"))
}

async fn drive(
    assignment: Assignment,
    out: &SyncSender<Batch>,
    spare: &Receiver<Vec<Event>>,
) -> std::io::Result<()> {
    let timers = Timers::new()?;
    let firing = timers.clone();
    tokio::task::spawn_local(async move { firing.run().await });
    let (start, thread) = (assignment.start, assignment.thread);
    let (arrivals, stop) = (assignment.arrivals.clone(), assignment.stop.clone());
    let context = Rc::new(assignment.into_context(timers.clone()));
    let end = context.end;
    let arriving = source::start(&context, &arrivals);
    let mut reporter = Reporter { out, spare, thread, pending: None };
    let mut heartbeat = Heartbeat { last: start.max(Instant::now()) };
    loop {
        timers.at(heartbeat.due().min(end)).await;
        let now = Instant::now();
        context.record_at(now, EventKind::Heartbeat { late: heartbeat.beat(now) });
        // Rates have no end: the time after the last arrival is a part of the window that was
        // asked for. A schedule that has one, or a number of sessions, ends the run.
        let has_end = arrivals.have_an_end() || context.has_enough();
        let over = has_end && arriving.are_over() && context.is_idle();
        if now >= end || stop.is_stopped() || over {
            if now >= end {
                catch_up(&arriving).await;
            }
            // An instant within the window, even if the loop is late.
            let ended = now.min(end);
            for (group, count) in context.groups() {
                let kind = EventKind::Ended { group, outcome: Outcome::CutOff, admitted: true };
                (0..count).for_each(|_| context.record_at(ended, kind));
            }
            context.open_pages.each(|OpenPage { page, intended }| {
                let time = context.since_start(ended).saturating_sub(intended);
                let time = Observation::Open(time);
                context.record_at(ended, EventKind::PageLoad { page, time });
            });
            context.open_requests.each(|request| {
                // A request that is due only after the end has not waited.
                let outcome = Some(Outcome::CutOff);
                context.record_at(ended, EventKind::Request(Request { outcome, ..request }));
            });
            reporter.send(&context, ended, true);
            // Thinking customers close their connections; each turn polls some dozens of
            // tasks.
            for _ in 0..=timers.end() / 16 {
                tokio::task::yield_now().await;
            }
            return Ok(());
        }
        reporter.send(&context, now, false);
    }
}

/// Lets sessions begin that were due before the end, so that they count however late the loop
/// is; bounded, since one that is far behind has many.
async fn catch_up(arriving: &source::Sources) {
    let most = Instant::now() + CATCHES_UP;
    while !arriving.have_caught_up() && Instant::now() < most {
        tokio::task::yield_now().await;
    }
    // The last ones reach their first request.
    tokio::task::yield_now().await;
}

/// Beats one interval after another. Counted from the last beat, not from when the loop waits for
/// the next: a thread that loses its processor while it sends a batch is late too.
struct Heartbeat {
    last: Instant,
}

impl Heartbeat {
    fn due(&self) -> Instant {
        self.last + HEARTBEAT
    }

    /// Beats at `now`, and returns how late that is.
    fn beat(&mut self, now: Instant) -> Duration {
        let late = now.saturating_duration_since(self.due());
        self.last = now;
        late
    }
}

/// Sends batches; keeps one while the channel is full.
struct Reporter<'a> {
    out: &'a SyncSender<Batch>,
    /// Emptied vectors of earlier batches: the kernel would have to clear fresh memory at
    /// every heartbeat.
    spare: &'a Receiver<Vec<Event>>,
    thread: usize,
    pending: Option<Batch>,
}

impl Reporter<'_> {
    fn send(&mut self, context: &ThreadContext, until: Instant, last: bool) {
        let mut batch = self.pending.take().unwrap_or_default();
        context.log.drain_into(&mut batch, || self.spare.try_recv().unwrap_or_default());
        batch.thread = self.thread;
        batch.until = context.since_start(until);
        batch.cpu = cpu_clock::of_this_thread();
        batch.in_flight = context.in_flight() as u64;
        batch.last = last;
        if last {
            // Nothing is measured any more, so blocking is harmless.
            let _ = self.out.send(batch);
        } else if let Err(TrySendError::Full(batch)) = self.out.try_send(batch) {
            self.pending = Some(batch);
        }
    }
}

/// Binds the calling thread to one processor.
fn pin(core: usize) -> Result<(), Error> {
    let what = "pinning a load generator thread to its processor";
    let pinned = Cores::one(core).and_then(|cores| cores.pin_this_thread());
    pinned.map_err(|source| Error::System { what, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_between_a_beat_and_the_wait_for_the_next_is_a_delay() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat { last: start };
        assert_eq!(heartbeat.beat(start + HEARTBEAT), Duration::ZERO);
        // The batch of that beat is still being sent two seconds later.
        let resumed = start + HEARTBEAT + Duration::from_secs(2);
        assert_eq!(heartbeat.beat(resumed), Duration::from_secs(2) - HEARTBEAT);
        // The beats that were missed are not made up for.
        assert_eq!(heartbeat.beat(resumed + HEARTBEAT), Duration::ZERO);
    }
}
