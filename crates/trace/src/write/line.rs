//! The line of one connection: what it is doing, as it goes on.
//!
//! While a task runs, its line is the current one of the thread, so that the code at the
//! bottom of a call says what begins without a reference to the line. Where nothing is
//! traced there is no current line, and saying so costs one look at a variable.

use super::{clocks, thread};
use crate::context::Context;
use crate::format::record::{Line as Record, Step};
use crate::phase::{Outcome, Phase};
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use clocks::{monotonic_ns, thread_cpu_ns};

/// Most steps that are kept before they are recorded.
const STEPS: usize = 14;

/// The line of a connection. Dropped, it records its last phase and its end.
#[derive(Debug)]
pub struct Line {
    /// What is recorded next, with the status of the response under way and how the connection
    /// ends; both count once they are true.
    next: Record<()>,
    steps: [Step; STEPS],
    /// The time within the steps for which the task ran since it was resumed.
    ran_ns: [u64; STEPS],
    len: usize,
    phase: Phase,
    since_ns: u64,
    /// The time that the open phase has run since the task was resumed.
    open_ran_ns: u64,
    open_cpu_ns: u64,
    /// The clocks when the task was resumed.
    resumed: Option<(u64, u64)>,
    finish_at_pause: bool,
}

impl Line {
    /// The line of a connection that begins now with this phase; `None` if this thread does
    /// not trace. The task runs, until [`Line::pause`].
    #[inline]
    pub fn begin(phase: Phase) -> Option<Box<Self>> {
        Self::begin_ago(phase, || Duration::ZERO)
    }

    /// The same for a connection that began in this phase some time ago, which is asked only
    /// where the thread traces.
    #[inline]
    pub fn begin_ago(phase: Phase, ago: impl FnOnce() -> Duration) -> Option<Box<Self>> {
        if !thread::is_attached() {
            return None;
        }
        let (connection, measured) = thread::next_connection()?;
        let ago = u64::try_from(ago().as_nanos()).unwrap_or(u64::MAX);
        let now = monotonic_ns().saturating_sub(ago);
        let none = Step { phase, took_ns: 0, cpu_ns: 0 };
        let mut line = Box::new(Self {
            next: Record {
                connection,
                request: 0,
                start_ns: now,
                measured,
                outcome: Outcome::Done,
                status: 0,
                context: None,
                steps: (),
            },
            steps: [none; STEPS],
            ran_ns: [0; STEPS],
            len: 0,
            phase,
            since_ns: now,
            open_ran_ns: 0,
            open_cpu_ns: 0,
            resumed: None,
            finish_at_pause: false,
        });
        line.resume();
        Some(line)
    }

    /// The line of a request that begins now with this phase, beside other requests of its
    /// connection: the connection has a line of its own.
    #[inline]
    pub fn begin_request(phase: Phase) -> Option<Box<Self>> {
        let mut line = Self::begin(phase)?;
        line.next.request = 1;
        Some(line)
    }

    /// The phase that it is in.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Another phase begins now.
    pub fn enter(&mut self, phase: Phase) {
        if phase != self.phase {
            self.enter_at(phase, monotonic_ns());
        }
    }

    /// Another phase began at this instant, which lies in the past; not before the last one.
    pub fn enter_at_instant(&mut self, phase: Phase, at: Instant) {
        self.enter_at(phase, monotonic_ns().saturating_sub(clocks::since_ns(at)));
    }

    fn enter_at(&mut self, phase: Phase, now: u64) {
        let now = now.max(self.since_ns);
        if self.len == STEPS {
            self.settle();
            self.record(Outcome::Open, 0);
        }
        let took_ns = now - self.since_ns;
        let ran = match self.resumed {
            Some((wall, _)) => now.saturating_sub(wall.max(self.since_ns)),
            None => 0,
        };
        self.ran_ns[self.len] = self.open_ran_ns + ran;
        self.steps[self.len] = Step { phase: self.phase, took_ns, cpu_ns: self.open_cpu_ns };
        self.len += 1;
        (self.phase, self.since_ns, self.open_ran_ns, self.open_cpu_ns) = (phase, now, 0, 0);
    }

    /// The open phase is another one than was thought.
    pub fn retag(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// The context of the request that is under way.
    pub fn set_context(&mut self, context: Context) {
        self.next.context = Some(context);
    }

    /// How the connection ends, unless it is in order.
    pub fn ends(&mut self, outcome: Outcome) {
        self.next.outcome = outcome;
    }

    /// What is before the first request is over, and `phase` begins.
    pub fn opened(&mut self, phase: Phase) {
        self.enter(phase);
        self.settle();
        self.record(Outcome::Open, 0);
        self.next.request = self.next.request.max(1);
    }

    /// The status of the response to the request that is under way.
    pub fn set_status(&mut self, status: u16) {
        self.next.status = status;
    }

    /// A request is over, and `phase` begins. It belongs to the next request.
    pub fn finish_request(&mut self, phase: Phase) {
        self.enter(phase);
        self.settle();
        let status = std::mem::take(&mut self.next.status);
        self.record(Outcome::Open, status);
        self.next.request = self.next.request.saturating_add(1);
        self.next.context = None;
    }

    /// The task begins to run.
    #[inline]
    pub fn resume(&mut self) {
        if self.next.measured {
            self.resumed = Some((monotonic_ns(), thread_cpu_ns()));
        }
    }

    /// The task ceases to run.
    #[inline]
    pub fn pause(&mut self) {
        if std::mem::take(&mut self.finish_at_pause) {
            self.finish_request(Phase::Idle);
        }
        if self.next.measured {
            self.settle();
            self.resumed = None;
        }
    }

    /// Divides the CPU time since the task was resumed among the phases in which it ran, by
    /// their time: two readings of the clock instead of one for each phase, since a reading
    /// is a system call. A wait for the processor in between is shared by them as well.
    fn settle(&mut self) {
        let Some((wall, cpu)) = self.resumed else { return };
        let (now, cpu_now) = (monotonic_ns(), thread_cpu_ns());
        self.resumed = Some((now, cpu_now));
        self.open_ran_ns += now.saturating_sub(wall.max(self.since_ns));
        let ran = self.ran_ns[..self.len].iter().sum::<u64>() + self.open_ran_ns;
        let used = cpu_now.saturating_sub(cpu);
        let part = |part: u64| match ran {
            0 => 0,
            ran => (u128::from(used) * u128::from(part) / u128::from(ran)) as u64,
        };
        for (step, ran) in self.steps[..self.len].iter_mut().zip(&mut self.ran_ns) {
            step.cpu_ns += part(std::mem::take(ran));
        }
        self.open_cpu_ns += part(std::mem::take(&mut self.open_ran_ns));
        thread::count_reading();
    }

    /// Records the steps so far. The next record begins where they end.
    fn record(&mut self, outcome: Outcome, status: u16) {
        let record = Record { outcome, status, ..self.next };
        thread::record_line(&record.with_steps(&self.steps[..self.len]));
        self.len = 0;
        self.next.start_ns = self.since_ns;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let open = self.phase;
        self.enter_at(open, monotonic_ns());
        self.settle();
        self.record(self.next.outcome, 0);
    }
}

thread_local! {
    /// The line of the task that runs.
    static CURRENT: Cell<Option<Box<Line>>> = const { Cell::new(None) };
}

/// Does something with the line of the task that runs, if it has one.
#[inline]
pub fn with_line<T>(does: impl FnOnce(&mut Line) -> T) -> Option<T> {
    CURRENT.with(|current| {
        let mut line = current.take()?;
        let result = does(&mut line);
        current.set(Some(line));
        Some(result)
    })
}

/// The task that runs enters a phase.
#[inline]
pub fn enter(phase: Phase) {
    with_line(|line| line.enter(phase));
}

/// The open phase of the task that runs is another one than was thought.
#[inline]
pub fn retag(phase: Phase) {
    with_line(|line| line.retag(phase));
}

/// A request of the task that runs begins to be served. `received` gives the context that its
/// sender named, which is asked only where it is traced; without one a trace begins. Returns
/// the value of the field for the next hop.
#[inline]
pub fn request(received: impl FnOnce() -> Option<Context>) -> Option<String> {
    with_line(|line| {
        line.enter(Phase::Service);
        let context = received().unwrap_or_else(Context::begin);
        line.set_context(context);
        context.value()
    })
}

/// The request of the task that runs is over at the end of this turn of the task, when its
/// response has been handed to the kernel.
#[inline]
pub fn finish_at_pause(status: u16) {
    with_line(|line| {
        line.enter(Phase::Respond);
        line.set_status(status);
        line.finish_at_pause = true;
    });
}

/// The task that runs is in this phase until the guard is dropped, then in the former one.
#[inline]
pub fn during(phase: Phase) -> During {
    During(with_line(|line| {
        let former = line.phase();
        line.enter(phase);
        former
    }))
}

/// See [`during`].
#[must_use = "the phase ends when it is dropped"]
#[derive(Debug)]
pub struct During(Option<Phase>);

impl Drop for During {
    fn drop(&mut self) {
        if let Some(former) = self.0 {
            enter(former);
        }
    }
}

pin_project! {
    /// A task with its line.
    pub struct Traced<F> {
        line: Option<Box<Line>>,
        #[pin]
        inner: F,
    }
}

impl<F> Traced<F> {
    /// Makes `line` the current one whenever `inner` runs.
    pub fn new(mut line: Option<Box<Line>>, inner: F) -> Self {
        if let Some(line) = &mut line {
            line.pause();
        }
        Self { line, inner }
    }
}

impl<F: Future> Future for Traced<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if this.line.is_none() {
            return this.inner.poll(cx);
        }
        let running = Running::begin(this.line);
        let polled = this.inner.poll(cx);
        drop(running);
        if polled.is_ready() {
            // The record of the end is not delayed until the task is forgotten.
            *this.line = None;
        }
        polled
    }
}

/// Makes a line the current one, and puts it back also where the task panics.
struct Running<'l>(&'l mut Option<Box<Line>>, Option<Box<Line>>);

impl<'l> Running<'l> {
    fn begin(place: &'l mut Option<Box<Line>>) -> Self {
        let mut line = place.take();
        if let Some(line) = &mut line {
            line.resume();
        }
        let mut former = CURRENT.replace(line);
        // The time of the inner task is not the outer one's too.
        if let Some(former) = &mut former {
            former.pause();
        }
        Self(place, former)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(former) = &mut self.1 {
            former.resume();
        }
        *self.0 = CURRENT.replace(self.1.take());
        if let Some(line) = self.0 {
            line.pause();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context as TaskContext, Waker};

    #[test]
    fn a_task_that_panics_keeps_its_line_and_leaves_none_behind() {
        let folder = tempfile::tempdir().unwrap();
        let tracing = super::super::tracing::tests::start(&folder.path().join("t"), 0);
        let attached = tracing.handle().attach();
        let line = Line::begin(Phase::Service);
        let task = Traced::new(line, async { panic!("a fault") });
        let mut task = Box::pin(task);
        let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            task.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()))
        }));
        assert!(polled.is_err());
        assert!(with_line(|_| ()).is_none());
        drop((task, attached));
        assert_eq!(tracing.finish().records, 1);
    }
}
