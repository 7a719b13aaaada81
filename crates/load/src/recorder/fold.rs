//! Folds the events of all driver threads into counts, distributions and a
//! series, and says how the run stands.

use std::time::Duration;

use tidegate_stats::Latency;

use super::event::{Batch, Event, What};
use super::figures::Figures;
use super::file::RowFile;
use super::groups::Groups;
use super::requests::{JsonLines, Parquet, Row};
use super::saved::SavedSeconds;
use super::seconds::Seconds;
use super::stretches::Stretches;
use super::sum::{Few, Span, Sum};
use super::unmet::Disappointments;
use crate::error::Error;
use crate::output::metrics::Buckets;
use crate::plan::Plan;
use crate::result::interval::{Counts, Interval};
use crate::result::saturation::{MISSED, diagnose};
use crate::result::shard::Second;
use crate::result::summary::{Driver, Point, RunStage, Snapshot, SnapshotSpread, Totals, share};
use crate::result::tally::Tally;

const QUARTER: Duration = Duration::from_millis(250);
const SECOND: Duration = Duration::from_secs(1);

/// Takes batches, gives snapshots, and the figures in the end.
pub(crate) struct Recorder {
    started_at_unix_ms: u64,
    warm_up: Duration,
    end: Duration,
    page_names: Vec<String>,
    class_names: Vec<String>,
    warm: Sum,
    window: Figures,
    threads: Vec<Thread>,
    quarter: Open,
    /// What lies behind the open quarter: a thread may be ahead of another.
    ahead: Sum,
    second: Open,
    series: Vec<Point>,
    /// Of a part of a test, which is to be merged.
    saved: Option<SavedSeconds>,
    stretches: Stretches,
    buckets: Buckets,
    unmet: Disappointments,
    groups: Groups,
    files: Files,
    /// Events that are not in all sums yet.
    few: Few,
}

/// What is known of a driver thread.
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

/// What came out in the end.
pub(crate) struct Folded {
    pub(crate) tally: Tally,
    pub(crate) driver: Driver,
    pub(crate) series: Vec<Point>,
    /// With their histograms; empty unless they are to be merged.
    pub(crate) seconds: Vec<Second>,
    pub(crate) measured: Duration,
    pub(crate) raw_error: Option<String>,
}

/// An interval's histogram, kept for the drivers' lead.
type Spread = Option<Latency>;

impl Recorder {
    pub(crate) fn new(plan: &Plan, threads: usize) -> Result<Self, Error> {
        let page_names: Vec<String> =
            plan.scenario.pages().iter().map(|page| page.name.clone()).collect();
        Ok(Self {
            started_at_unix_ms: 0,
            warm_up: plan.warm_up,
            end: plan.warm_up + plan.measure,
            warm: Sum::default(),
            window: Figures::new(page_names.len()),
            page_names,
            class_names: plan.scenario.classes().iter().map(|class| class.name.clone()).collect(),
            threads: vec![Thread::default(); threads],
            quarter: Open::new(QUARTER, threads),
            ahead: Sum::default(),
            second: Open::new(SECOND, threads),
            series: Vec::new(),
            saved: plan.part.map(|_| SavedSeconds::default()),
            stretches: Stretches::new(plan.warm_up, plan.measure),
            buckets: Buckets::default(),
            unmet: Disappointments::new(plan.scenario.parts().clone()),
            groups: Groups::new(plan.scenario.classes(), &plan.arrivals()?),
            files: Files::create(plan)?,
            few: Few::default(),
        })
    }

    /// Says when the run begins, milliseconds since 1970.
    pub(crate) fn begins(&mut self, at_unix_ms: u64) {
        self.started_at_unix_ms = at_unix_ms;
    }

    /// Takes in what a thread reports.
    pub(crate) fn take(&mut self, batch: &Batch) {
        let thread = &mut self.threads[batch.thread];
        thread.until = batch.until;
        thread.cpu = batch.cpu;
        thread.in_flight = batch.in_flight;
        thread.lost = batch.lost;
        thread.done = batch.last;
        if thread.window_start.is_none() && batch.until >= self.warm_up {
            thread.window_start = Some((batch.until, batch.cpu));
        }
        self.unmet.keep(&batch.examples);
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

    /// Takes in what is kept of each event, and counts it for the sums.
    fn take_one(&mut self, event: &Event, thread: usize, measured: bool) {
        self.few.count(event);
        if measured {
            self.window.add_rest(event);
            self.unmet.add(event);
            self.groups.add(event);
        }
        if let What::Heartbeat { late } = event.what
            && measured
        {
            self.threads[thread].stalled += late.saturating_sub(MISSED);
        }
        if let What::Request(request) = &event.what {
            let names = [
                name(&self.page_names, request.page.into()),
                name(&self.class_names, request.group.class.into()),
            ];
            self.files.request(|| Row::new(event, request, names, measured));
        }
        if let Some(response) = event.response()
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

    /// The snapshots that have become due. Normally one or none.
    pub(crate) fn due(&mut self, mut observe: impl FnMut(&Snapshot)) {
        let until = self.until();
        while self.quarter.ends() <= until {
            let last = self.close_quarter(None);
            let second = match self.second.ends() <= self.quarter.begins {
                true => self.close_second(None),
                false => None,
            };
            let snapshot = self.snapshot(last, second, None);
            observe(&snapshot);
        }
    }

    fn close_quarter(&mut self, early: Option<Duration>) -> (Point, Spread) {
        let interval = self.quarter.close(early, &self.threads, self.warm_up);
        let sum = &mut self.quarter.sum;
        self.second.sum.merge(sum);
        let last = interval.map(|interval| {
            let point = interval.point(sum.response.summary());
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
            let point = interval.point(response.summary());
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
            _ => (self.warm.totals.clone(), &window.totals, &window.spreads.response),
        };
        Snapshot {
            started_at_unix_ms: self.started_at_unix_ms,
            elapsed_s: until.as_secs_f64(),
            planned_s: self.end.as_secs_f64(),
            stage,
            before,
            totals: totals.clone(),
            response: response.summary(),
            buckets: self.buckets,
            in_flight: self.threads.iter().map(|thread| thread.in_flight).sum(),
            last,
            second: second.as_ref().map(|(second, _)| *second),
            driver_warnings: match stage {
                RunStage::WarmUp => Vec::new(),
                _ => self.driver().saturated_because,
            },
            spread: last_spread.map(|last| {
                let stage = response.clone();
                let second = second.and_then(|(_, spread)| spread);
                Box::new(SnapshotSpread { stage, last, second })
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
        // A standstill may have begun before the window.
        let stalled_share = |thread: &Thread| of_time(thread, thread.stalled).min(1.0);
        let stalled = self.threads.iter().map(|thread| thread.stalled).max();
        let totals = &self.window.totals;
        let mut driver = Driver {
            threads: self.threads.len(),
            cpu_share: self.threads.iter().map(cpu_share).fold(0.0, f64::max),
            cpu_s: self.threads.iter().map(|thread| of_window(thread).1.as_secs_f64()).sum(),
            folding_cpu_s: 0.0,
            start_delay: self.window.spreads.start_delay.summary(),
            loop_delay: self.window.spreads.loop_delay.summary(),
            stalled_s: stalled.unwrap_or_default().as_secs_f64(),
            stalled_share: self.threads.iter().map(stalled_share).fold(0.0, f64::max),
            missed_share: share(totals.missed_starts, totals.starts),
            events_lost: self.threads.iter().map(|thread| thread.lost).sum(),
            saturated_because: Vec::new(),
        };
        driver.saturated_because = diagnose(&driver, totals);
        driver
    }

    /// The end: the last snapshot, and all figures.
    pub(crate) fn finish(mut self, mut observe: impl FnMut(&Snapshot)) -> Folded {
        let until = self.until();
        self.due(&mut observe);
        let last = self.close_quarter(Some(until));
        let second = self.close_second(Some(until));
        observe(&self.snapshot(last, second, Some(RunStage::Done)));
        let driver = self.driver();
        let measured = until.min(self.end).saturating_sub(self.warm_up);
        let names = self.page_names.into_iter();
        let pages = names.zip(self.window.pages).filter(|(_, page)| page.ok + page.failed > 0);
        Folded {
            driver,
            measured,
            raw_error: self.files.finish(),
            series: self.series,
            seconds: self.saved.map(SavedSeconds::finish).unwrap_or_default(),
            tally: Tally {
                totals: self.window.totals,
                spreads: self.window.spreads,
                agreed: self.window.agreed,
                pages: pages.collect(),
                classes: self.groups.classes,
                models: self.groups.models,
                unmet: self.unmet.finish(),
                stretches: self.stretches.finish(measured),
            },
        }
    }
}

fn name(names: &[String], index: usize) -> &str {
    names.get(index).map_or("", String::as_str)
}

/// What is written while the run goes on.
struct Files {
    lines: Option<RowFile<JsonLines>>,
    parquet: Option<RowFile<Parquet>>,
    seconds: Option<RowFile<Seconds>>,
}

impl Files {
    fn create(plan: &Plan) -> Result<Self, Error> {
        Ok(Self {
            lines: plan.raw.as_deref().map(RowFile::create).transpose()?,
            parquet: plan.parquet.as_deref().map(RowFile::create).transpose()?,
            seconds: plan.csv.as_deref().map(RowFile::create).transpose()?,
        })
    }

    fn request<'a>(&mut self, row: impl FnOnce() -> Row<'a>) {
        if self.lines.is_none() && self.parquet.is_none() {
            return;
        }
        let row = row();
        self.lines.iter_mut().for_each(|file| file.write(&row));
        self.parquet.iter_mut().for_each(|file| file.write(&row));
    }

    fn second(&mut self, second: &Point) {
        self.seconds.iter_mut().for_each(|file| file.write(second));
    }

    /// Ends all files; gives what went wrong with any.
    fn finish(&mut self) -> Option<String> {
        let errors = [
            self.lines.take().and_then(RowFile::finish),
            self.parquet.take().and_then(RowFile::finish),
            self.seconds.take().and_then(RowFile::finish),
        ];
        let errors: Vec<String> = errors.into_iter().flatten().collect();
        (!errors.is_empty()).then(|| errors.join("; "))
    }
}

/// The open one of stretches of one length.
struct Open {
    length: Duration,
    begins: Duration,
    sum: Sum,
    /// CPU time of each thread at the last cut.
    cpu: Vec<(Duration, Duration)>,
}

impl Open {
    fn new(length: Duration, threads: usize) -> Self {
        let cpu = vec![Default::default(); threads];
        Self { length, begins: Duration::ZERO, sum: Sum::default(), cpu }
    }

    fn ends(&self) -> Duration {
        self.begins + self.length
    }

    /// Closes it, at its end or earlier, and opens the next, whose sum is yet to be
    /// set. A stretch of less than a millisecond gives nothing.
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
