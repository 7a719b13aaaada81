//! Aggregates the events of all threads into counts, histograms and a series, and makes
//! snapshots.

use std::net::SocketAddr;
use std::time::Duration;

use tidegate_stats::{CensoredHistogram, Observation};

use super::event::{Batch, Event, EventKind};
use super::failed_checks::FailedChecks;
use super::failures::Failures;
use super::figures::Figures;
use super::files::Files;
use super::groups::GroupTallies;
use super::requests::Row;
use super::saved::SavedSeconds;
use super::subwindows::Subwindows;
use super::sum::{IntervalSum, PendingCounts, Span};
use crate::error::Error;
use crate::plan::Plan;
use crate::result::buckets::Buckets;
use crate::result::driver::Driver;
use crate::result::figures::AddressFigures;
use crate::result::interval::{Counts, Interval};
use crate::result::saturation::{Diagnosis, MISSED, diagnose};
use crate::result::series::Point;
use crate::result::shard::Second;
use crate::result::snapshot::{RunStage, Snapshot, SnapshotHistograms};
use crate::result::tally::Tally;
use crate::result::threshold_check::{Evaluated, aborted, watched};
use crate::result::threshold_result::Aborted;
use crate::scenario::page::Page;
use crate::scenario::thresholds::Threshold;
use crate::totals::{Totals, share};

const QUARTER: Duration = Duration::from_millis(250);
const SECOND: Duration = Duration::from_secs(1);

/// Takes batches of events and makes snapshots and the figures of the result.
pub(crate) struct Recorder {
    started_at_unix_ms: u64,
    warm_up: Duration,
    end: Duration,
    page_names: Vec<String>,
    /// By page.
    asset_names: Vec<Vec<String>>,
    class_names: Vec<String>,
    warm: IntervalSum,
    window: Figures,
    threads: Vec<Thread>,
    quarter: OpenInterval,
    /// Events after the open quarter: threads are not synchronised.
    ahead: IntervalSum,
    second: OpenInterval,
    series: Vec<Point>,
    /// Seconds with histograms, for a shard.
    saved: Option<SavedSeconds>,
    stretches: Subwindows,
    buckets: Buckets,
    failed_checks: FailedChecks,
    failures: Failures,
    groups: GroupTallies,
    files: Files,
    /// Counts that are not in all sums yet.
    few: PendingCounts,
    /// Thresholds that can end the run.
    watched: Vec<Threshold>,
    aborted: Option<Aborted>,
}

/// State of a worker thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    until: Duration,
    cpu: Duration,
    /// Time and CPU time at the first report within the window.
    window_start: Option<(Duration, Duration)>,
    /// How long its event loop was behind within the window.
    stalled: Duration,
    in_flight: u64,
    lost: u64,
    done: bool,
}

/// The recorded figures of a run.
pub(crate) struct RecordedRun {
    pub(crate) tally: Tally,
    pub(crate) driver: Driver,
    pub(crate) series: Vec<Point>,
    /// With their histograms; empty unless they are to be merged.
    pub(crate) seconds: Vec<Second>,
    pub(crate) measured: Duration,
    pub(crate) raw_error: Option<String>,
    pub(crate) aborted: Option<Aborted>,
}

/// The histogram of an interval, for the lead of several drivers.
type Spread = Option<CensoredHistogram>;

impl Recorder {
    pub(crate) fn new(plan: &Plan, threads: usize) -> Result<Self, Error> {
        let page_names: Vec<String> =
            plan.scenario.pages().iter().map(|page| page.name.clone()).collect();
        let assets = |page: &Page| page.assets.iter().map(|it| it.text().to_owned()).collect();
        Ok(Self {
            started_at_unix_ms: 0,
            warm_up: plan.warm_up,
            end: plan.warm_up + plan.measure,
            warm: IntervalSum::default(),
            window: Figures::new(page_names.len()),
            page_names,
            asset_names: plan.scenario.pages().iter().map(assets).collect(),
            class_names: plan.scenario.classes().iter().map(|class| class.name.clone()).collect(),
            threads: vec![Thread::default(); threads],
            quarter: OpenInterval::new(QUARTER, threads),
            ahead: IntervalSum::default(),
            second: OpenInterval::new(SECOND, threads),
            series: Vec::new(),
            saved: plan.shard.map(|_| SavedSeconds::default()),
            // Shards of a test need the same stretches.
            stretches: match (plan.max_sessions, plan.shard) {
                (Some(_), None) => Subwindows::growing(plan.warm_up),
                _ => Subwindows::new(plan.warm_up, plan.measure),
            },
            buckets: Buckets::default(),
            failed_checks: FailedChecks::new(plan.scenario.definition().clone()),
            failures: Failures::new(plan.scenario.definition().clone()),
            groups: GroupTallies::new(plan.scenario.classes(), &plan.arrivals()?),
            files: Files::create(plan)?,
            few: PendingCounts::default(),
            watched: watched(plan.scenario.thresholds()).cloned().collect(),
            aborted: None,
        })
    }

    /// Sets the start of the run, milliseconds since 1970.
    pub(crate) fn begins(&mut self, at_unix_ms: u64) {
        self.started_at_unix_ms = at_unix_ms;
    }

    /// Sets the addresses of the target: those in use, by their indices, and the others.
    pub(crate) fn addresses(&mut self, used: &[SocketAddr], others: &[(SocketAddr, String)]) {
        let used = used.iter().map(|address| AddressFigures::new(*address, None));
        let others = others.iter().map(|(it, why)| AddressFigures::new(*it, Some(why.clone())));
        self.window.addresses = used.chain(others).collect();
    }

    /// Adds the batch of a thread.
    pub(crate) fn add(&mut self, batch: &Batch) {
        let thread = &mut self.threads[batch.thread];
        thread.until = batch.until;
        thread.cpu = batch.cpu;
        thread.in_flight = batch.in_flight;
        thread.lost = batch.lost;
        thread.done = batch.last;
        if thread.window_start.is_none() && batch.until >= self.warm_up {
            thread.window_start = Some((batch.until, batch.cpu));
        }
        self.failed_checks.keep(&batch.examples);
        self.failures.keep(&batch.samples);
        let mut events = batch.events.iter().peekable();
        while let Some(first) = events.peek() {
            let span = self.span(first.at);
            let measured = self.measures(span.begins);
            while let Some(event) = events.next_if(|event| span.has(event.at)) {
                self.take_one(event, batch.thread, measured);
            }
            self.add_up(span);
        }
    }

    /// Counts an event for the sums, and adds what is kept of each event.
    fn take_one(&mut self, event: &Event, thread: usize, measured: bool) {
        self.few.count(event);
        if measured {
            self.window.add_rest(event);
            self.failed_checks.add(event);
            self.failures.add(event);
            self.groups.add(event);
        }
        if let EventKind::Heartbeat { late } = event.kind
            && measured
        {
            self.threads[thread].stalled += late.saturating_sub(MISSED);
        }
        if let EventKind::Request(request) = &event.kind {
            let assets = self.asset_names.get(usize::from(request.page)).zip(request.asset);
            let names = [
                name(&self.page_names, request.page.into()),
                name(&self.class_names, request.group.class.into()),
                assets.map_or("", |(names, asset)| name(names, asset.into())),
            ];
            self.files.request(|| Row::new(event, request, names, measured));
        }
        if let Some(Observation::Exact(response)) = event.page_response()
            && event.at <= self.end
        {
            self.buckets.record(response);
        }
    }

    fn measures(&self, at: Duration) -> bool {
        at >= self.warm_up && at <= self.end
    }

    /// The instants around one whose events belong to the same sums.
    fn span(&self, at: Duration) -> Span {
        let after = self.end + Duration::from_nanos(1);
        let cuts = [self.warm_up, after, self.quarter.ends()];
        Span::around(at, cuts.into_iter().chain(self.stretches.cuts(at)))
    }

    /// Adds the few events of a span to all sums that they belong to.
    fn add_up(&mut self, span: Span) {
        let at = span.begins;
        if self.measures(at) {
            self.window.add(&self.few);
            self.stretches.add(at, &self.few);
        } else if at < self.warm_up {
            self.warm.add(&self.few);
        }
        let quarter =
            if at < self.quarter.ends() { &mut self.quarter.sum } else { &mut self.ahead };
        quarter.add(&self.few);
        self.few.clear();
    }

    /// Everything before this has been reported by all threads. One whose customers
    /// have all left has nothing more to report.
    fn until(&self) -> Duration {
        let running = self.threads.iter().filter(|thread| !thread.done);
        let all = self.threads.iter().map(|thread| thread.until);
        running.map(|thread| thread.until).min().or(all.max()).unwrap_or_default()
    }

    pub(crate) fn all_done(&self) -> bool {
        self.threads.iter().all(|thread| thread.done)
    }

    /// Emits the snapshots that are due; normally one or none.
    pub(crate) fn emit_due(&mut self, mut observe: impl FnMut(&Snapshot)) {
        let until = self.until();
        let due = self.quarter.ends() <= until;
        while self.quarter.ends() <= until {
            let last = self.close_quarter(None);
            let second = match self.second.ends() <= self.quarter.begins {
                true => self.close_second(None),
                false => None,
            };
            let snapshot = self.snapshot(last, second, None);
            observe(&snapshot);
        }
        // A shard has a part of the figures; the lead of the drivers has all of them.
        if due && self.saved.is_none() && self.aborted.is_none() {
            let window = until.min(self.end).saturating_sub(self.warm_up);
            let evaluated =
                self.watched.iter().map(|threshold| (threshold, self.evaluated(threshold)));
            self.aborted = aborted(evaluated, self.warm_up, window);
        }
    }

    /// Whether a threshold ends the run.
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.is_some()
    }

    fn evaluated(&self, threshold: &Threshold) -> Evaluated<'_> {
        let window = &self.window;
        let page = |name: &str| {
            let index = self.page_names.iter().position(|known| known == name)?;
            window.pages.get(index)
        };
        let class = |name: &str| self.groups.classes.iter().find(|class| class.name == name);
        let run = (&window.totals, &window.distributions.response);
        Evaluated::of(threshold, run, page, class)
    }

    fn close_quarter(&mut self, early: Option<Duration>) -> (Point, Spread) {
        let interval = self.quarter.close(early, &self.threads, self.warm_up);
        let sum = &mut self.quarter.sum;
        self.second.sum.merge(sum);
        let last = interval.map(|interval| {
            let point = interval.point(sum.response.percentiles());
            (point, self.saved.is_some().then(|| sum.response.clone()))
        });
        std::mem::swap(sum, &mut self.ahead);
        self.ahead.clear();
        last.unwrap_or_default()
    }

    fn close_second(&mut self, early: Option<Duration>) -> Option<(Point, Spread)> {
        let interval = self.second.close(early, &self.threads, self.warm_up);
        let response = &self.second.sum.response;
        let second = interval.map(|interval| {
            let point = interval.point(response.percentiles());
            self.files.second(&point);
            self.series.push(point);
            let spread = self.saved.as_mut().map(|saved| {
                saved.push(interval, response);
                response.clone()
            });
            (point, spread)
        });
        self.second.sum.clear();
        second
    }

    fn snapshot(
        &self,
        (last, last_spread): (Point, Spread),
        second: Option<(Point, Spread)>,
        stage: Option<RunStage>,
    ) -> Snapshot {
        let until = self.until();
        let stage = stage.unwrap_or(if until < self.warm_up {
            RunStage::WarmUp
        } else {
            RunStage::Measure
        });
        let window = &self.window;
        let (before, totals, response) = match stage {
            RunStage::WarmUp => (Totals::default(), &self.warm.totals, &self.warm.response),
            _ => (self.warm.totals.clone(), &window.totals, &window.distributions.response),
        };
        Snapshot {
            started_at_unix_ms: self.started_at_unix_ms,
            elapsed_s: until.as_secs_f64(),
            planned_s: self.end.as_secs_f64(),
            stage,
            before,
            totals: totals.clone(),
            response: response.percentiles(),
            buckets: self.buckets,
            in_flight: self.threads.iter().map(|thread| thread.in_flight).sum(),
            last,
            second: second.as_ref().map(|(second, _)| *second),
            driver_warnings: match stage {
                RunStage::WarmUp => Vec::new(),
                _ => self.driver().saturated_because,
            },
            drivers: Vec::new(),
            histograms: last_spread.map(|last| {
                let stage = response.clone();
                let second = second.and_then(|(_, spread)| spread);
                let evaluated =
                    self.watched.iter().map(|it| self.evaluated(it).into_owned()).collect();
                Box::new(SnapshotHistograms { stage, last, second, evaluated })
            }),
        }
    }

    fn driver(&self) -> Driver {
        let of_window = |thread: &Thread| {
            let (at, cpu) = thread.window_start.unwrap_or_default();
            (thread.until.saturating_sub(at), thread.cpu.saturating_sub(cpu))
        };
        // Over less than half a second it would be noise.
        let of_time = |thread: &Thread, what: Duration| {
            let time = of_window(thread).0;
            if time < SECOND / 2 { 0.0 } else { what.as_secs_f64() / time.as_secs_f64() }
        };
        let cpu_share = |thread: &Thread| of_time(thread, of_window(thread).1);
        // A stall may have begun before the window.
        let stalled_share = |thread: &Thread| of_time(thread, thread.stalled).min(1.0);
        let stalled = self.threads.iter().map(|thread| thread.stalled).max();
        let totals = &self.window.totals;
        let mut driver = Driver {
            threads: self.threads.len(),
            cpu_share: self.threads.iter().map(cpu_share).fold(0.0, f64::max),
            cpu_s: self.threads.iter().map(|thread| of_window(thread).1.as_secs_f64()).sum(),
            folding_cpu_s: 0.0,
            start_delay: self.window.distributions.start_delay.percentiles(),
            loop_delay: self.window.distributions.loop_delay.percentiles(),
            stalled_s: stalled.unwrap_or_default().as_secs_f64(),
            stalled_share: self.threads.iter().map(stalled_share).fold(0.0, f64::max),
            missed_share: share(totals.missed_starts, totals.starts),
            events_lost: self.threads.iter().map(|thread| thread.lost).sum(),
            saturated_because: Vec::new(),
            warned_because: Vec::new(),
        };
        let response = self.window.distributions.response.percentiles();
        let measured = self.threads.iter().map(|thread| of_window(thread).0).max();
        let measured = measured.unwrap_or_default();
        let Diagnosis { saturated, warned } = diagnose(&driver, totals, &response, measured);
        (driver.saturated_because, driver.warned_because) = (saturated, warned);
        driver
    }

    /// Emits the last snapshot and returns all figures.
    pub(crate) fn finish(mut self, mut observe: impl FnMut(&Snapshot)) -> RecordedRun {
        let until = self.until();
        self.emit_due(&mut observe);
        let last = self.close_quarter(Some(until));
        let second = self.close_second(Some(until));
        observe(&self.snapshot(last, second, Some(RunStage::Done)));
        let driver = self.driver();
        let measured = until.min(self.end).saturating_sub(self.warm_up);
        let names = self.page_names.into_iter();
        let pages = names.zip(self.window.pages).filter(|(_, page)| page.is_requested());
        RecordedRun {
            driver,
            measured,
            raw_error: self.files.finish(),
            aborted: self.aborted,
            series: self.series,
            seconds: self.saved.map(SavedSeconds::finish).unwrap_or_default(),
            tally: Tally {
                totals: self.window.totals,
                distributions: self.window.distributions,
                agreed: self.window.agreed,
                pages: pages.collect(),
                classes: self.groups.classes,
                models: self.groups.models,
                failed_checks: self.failed_checks.finish(),
                failures: self.failures.finish(),
                statuses: self.window.statuses,
                stretches: self.stretches.finish(measured),
                addresses: self.window.addresses,
            },
        }
    }
}

fn name(names: &[String], index: usize) -> &str {
    names.get(index).map_or("", String::as_str)
}

/// The current interval of a series.
struct OpenInterval {
    length: Duration,
    begins: Duration,
    sum: IntervalSum,
    /// CPU time of each thread at the last cut.
    cpu: Vec<(Duration, Duration)>,
}

impl OpenInterval {
    fn new(length: Duration, threads: usize) -> Self {
        let cpu = vec![Default::default(); threads];
        Self { length, begins: Duration::ZERO, sum: IntervalSum::default(), cpu }
    }

    fn ends(&self) -> Duration {
        self.begins + self.length
    }

    /// Closes the interval, at its end or earlier, and opens the next; the caller resets the
    /// sum. Intervals of less than a millisecond are dropped.
    fn close(
        &mut self,
        early: Option<Duration>,
        threads: &[Thread],
        warm_up: Duration,
    ) -> Option<Interval> {
        let end = early.unwrap_or(self.ends()).min(self.ends());
        let length = end.saturating_sub(self.begins);
        let mut busiest: f64 = 0.0;
        for (last, thread) in self.cpu.iter_mut().zip(threads) {
            let time = thread.until.saturating_sub(last.0).as_secs_f64();
            if time > 0.0 {
                busiest = busiest.max(thread.cpu.saturating_sub(last.1).as_secs_f64() / time);
            }
            *last = (thread.until, thread.cpu);
        }
        let measured = self.begins >= warm_up;
        self.begins = end;
        (length >= Duration::from_millis(1)).then(|| Interval {
            at: end,
            length,
            measured,
            counts: Counts::from(&self.sum.totals),
            in_flight: threads.iter().map(|thread| thread.in_flight).sum(),
            cpu_share: busiest,
        })
    }
}
