//! Merges the snapshots of several drivers while they run.

use std::collections::VecDeque;
use std::time::Duration;

use tidegate_stats::CensoredHistogram;

use crate::counted::Counted;
use crate::plan::Plan;
use crate::plan::shard::Shard;
use crate::result::series::Point;
use crate::result::snapshot::{DriverNow, RunStage, Snapshot};
use crate::result::threshold_check::{Evaluated, aborted, watched};
use crate::result::threshold_result::Aborted;
use crate::totals::Totals;

/// Most seconds of a driver that wait for a slower driver.
const WAITING: usize = 4;

/// The latest snapshots of all drivers of a test.
pub struct LiveMerge {
    drivers: Vec<Driver>,
}

#[derive(Default)]
struct Driver {
    last: Option<Snapshot>,
    /// Seconds that were not shown yet.
    seconds: VecDeque<(Point, CensoredHistogram)>,
    ended: bool,
    /// It ended before its run did.
    lost: bool,
    /// Its name, if it is shown beside the sum.
    name: Option<String>,
}

impl LiveMerge {
    /// Without any snapshot yet.
    pub fn new(drivers: u32) -> Self {
        Self { drivers: (0..drivers).map(|_| Driver::default()).collect() }
    }

    /// Shows a driver by this name beside the sum.
    pub fn name(&mut self, shard: Shard, name: &str) {
        if let Some(driver) = self.drivers.get_mut(shard.number() as usize - 1) {
            driver.name = Some(name.to_owned());
        }
    }

    /// Adds the snapshot of a driver.
    pub fn add(&mut self, shard: Shard, mut snapshot: Snapshot) {
        let Some(driver) = self.drivers.get_mut(shard.number() as usize - 1) else { return };
        let spread = snapshot.histograms.as_mut().and_then(|spread| spread.second.take());
        if let (Some(second), Some(spread)) = (snapshot.second.take(), spread) {
            driver.seconds.push_back((second, spread));
        }
        driver.ended = snapshot.stage == RunStage::Done;
        driver.last = Some(snapshot);
    }

    /// Stops waiting for a driver.
    pub fn remove(&mut self, shard: Shard) {
        if let Some(driver) = self.drivers.get_mut(shard.number() as usize - 1) {
            driver.ended = true;
            driver.lost = driver.last.as_ref().is_none_or(|last| last.stage != RunStage::Done);
        }
    }

    /// The state of all drivers; `None` before the first snapshot.
    pub fn snapshot(&mut self) -> Option<Snapshot> {
        let second = self.second();
        let last = || self.drivers.iter().filter_map(|driver| driver.last.as_ref());
        // A driver that has ended does not delay the others.
        let running = || {
            let running = self.drivers.iter().filter(|driver| !driver.ended);
            running.filter_map(|driver| driver.last.as_ref())
        };
        let elapsed = |all: &mut dyn Iterator<Item = &Snapshot>, pick: fn(f64, f64) -> f64| {
            all.map(|snapshot| snapshot.elapsed_s).reduce(pick)
        };
        let elapsed_s =
            elapsed(&mut running(), f64::min).or_else(|| elapsed(&mut last(), f64::max))?;
        let warming = running().any(|snapshot| snapshot.stage == RunStage::WarmUp);
        let stage = match (warming, running().next()) {
            (true, _) => RunStage::WarmUp,
            (false, Some(_)) => RunStage::Measure,
            (false, None) => RunStage::Done,
        };
        let started = last().map(|snapshot| snapshot.started_at_unix_ms);
        let mut whole = Snapshot {
            started_at_unix_ms: started.min().unwrap_or_default(),
            elapsed_s,
            planned_s: last().map(|snapshot| snapshot.planned_s).fold(0.0, f64::max),
            stage,
            before: Totals::default(),
            totals: Totals::default(),
            response: CensoredHistogram::new().percentiles(),
            buckets: Default::default(),
            in_flight: 0,
            last: Point::default(),
            second,
            driver_warnings: Vec::new(),
            drivers: self.drivers.iter().filter_map(Driver::now).collect(),
            histograms: None,
        };
        let (mut response, mut points) = (CensoredHistogram::new(), Vec::new());
        for (number, driver) in (1..).zip(&self.drivers) {
            let Some(snapshot) = &driver.last else { continue };
            whole.buckets.merge(&snapshot.buckets);
            let warnings = snapshot.driver_warnings.iter();
            whole.driver_warnings.extend(warnings.map(|why| format!("driver {number}: {why}")));
            if warming && snapshot.stage != RunStage::WarmUp {
                // It is slightly ahead of the others.
                whole.totals.merge(&snapshot.before);
            } else {
                whole.before.merge(&snapshot.before);
                whole.totals.merge(&snapshot.totals);
                if let Some(spread) = &snapshot.histograms {
                    response.merge(&spread.stage);
                }
            }
            if !driver.ended {
                whole.in_flight += snapshot.in_flight;
            }
            if let Some(spread) = &snapshot.histograms
                && (!driver.ended || stage == RunStage::Done)
            {
                points.push((snapshot.last, spread.last.clone()));
            }
        }
        whole.response = response.percentiles();
        whole.last = add_points(points);
        Some(whole)
    }

    /// The threshold that ends the test, if one does: by the sum over all drivers that were not
    /// lost, once all of them measure.
    pub fn aborted(&self, plan: &Plan) -> Option<Aborted> {
        let drivers = self.drivers.iter().filter(|driver| !driver.lost);
        let all: Option<Vec<_>> = drivers.map(|driver| driver.last.as_ref()).collect();
        let all = all.filter(|all| {
            !all.is_empty() && all.iter().all(|last| last.stage == RunStage::Measure)
        })?;
        let elapsed = all.iter().map(|last| last.elapsed_s).fold(f64::MAX, f64::min);
        let elapsed = Duration::try_from_secs_f64(elapsed).ok()?;
        let window = elapsed.saturating_sub(plan.warm_up);
        let sum = |(index, threshold)| {
            let mut sum = Evaluated::default();
            let histograms = all.iter().filter_map(|last| last.histograms.as_ref());
            histograms.filter_map(|it| it.evaluated.get(index)).for_each(|it| sum.merge(it));
            (threshold, sum)
        };
        let evaluated = watched(plan.scenario.thresholds()).enumerate().map(sum);
        aborted(evaluated, plan.warm_up, window)
    }

    /// The next second, once all running drivers have sent it.
    fn second(&mut self) -> Option<Point> {
        let lacks = |driver: &Driver| driver.seconds.is_empty() && !driver.ended;
        let longest = self.drivers.iter().map(|driver| driver.seconds.len()).max()?;
        if longest == 0 || (self.drivers.iter().any(lacks) && longest <= WAITING) {
            return None;
        }
        let next = self.drivers.iter_mut().filter_map(|driver| driver.seconds.pop_front());
        Some(add_points(next.collect()))
    }
}

impl Driver {
    /// How it is shown; `None` without a name.
    fn now(&self) -> Option<DriverNow> {
        let last = self.last.as_ref();
        let saturated = last.is_some_and(|last| !last.driver_warnings.is_empty());
        let (name, last) = (self.name.clone()?, last.map(|last| last.last));
        Some(DriverNow { name, last, ended: self.ended, saturated })
    }
}

/// Adds rates and histograms of the same time.
fn add_points(points: Vec<(Point, CensoredHistogram)>) -> Point {
    let (mut whole, mut response) = (Point::default(), CensoredHistogram::new());
    for (mut point, spread) in points {
        response.merge(&spread);
        whole.at_s = whole.at_s.max(point.at_s);
        whole.length_s = whole.length_s.max(point.length_s);
        whole.measured |= point.measured;
        let rates = whole.rates_mut().into_iter().zip(point.rates_mut());
        rates.for_each(|(sum, rate)| *sum += *rate);
        whole.in_flight += point.in_flight;
        whole.missed_starts += point.missed_starts;
        whole.driver_cpu_share = whole.driver_cpu_share.max(point.driver_cpu_share);
    }
    whole.response = response.percentiles();
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::snapshot::SnapshotHistograms;
    use tidegate_stats::Observation;

    /// A snapshot at the end of a second with `answers` responses.
    fn snapshot_of(elapsed_s: f64, stage: RunStage, answers: u64, ms: u64) -> Snapshot {
        let mut spread = CensoredHistogram::new();
        spread.record_many(Observation::Exact(Duration::from_millis(ms)), answers);
        let point = Point {
            at_s: elapsed_s,
            length_s: 1.0,
            requests_per_s: answers as f64,
            response: spread.percentiles(),
            in_flight: 3,
            ..Point::default()
        };
        Snapshot {
            started_at_unix_ms: 1_700_000_000_000,
            elapsed_s,
            planned_s: 10.0,
            stage,
            before: Totals { offered: 1, ..Totals::default() },
            totals: Totals { requests_ok: answers, ..Totals::default() },
            response: spread.percentiles(),
            buckets: Default::default(),
            in_flight: 3,
            last: point,
            second: Some(point),
            driver_warnings: Vec::new(),
            drivers: Vec::new(),
            histograms: Some(Box::new(SnapshotHistograms {
                stage: spread.clone(),
                last: spread.clone(),
                second: Some(spread),
                evaluated: Vec::new(),
            })),
        }
    }

    fn shard(number: u32) -> Shard {
        Shard::new(number, 2).unwrap()
    }

    #[test]
    fn rates_and_histograms_add_up_and_a_second_waits_for_the_slower_driver() {
        let mut live = LiveMerge::new(2);
        assert!(live.snapshot().is_none());
        live.add(shard(1), snapshot_of(1.0, RunStage::Measure, 30, 10));
        let alone = live.snapshot().unwrap();
        assert_eq!((alone.totals.requests_ok, alone.second), (30, None));
        live.add(shard(2), snapshot_of(1.0, RunStage::Measure, 10, 90));
        let both = live.snapshot().unwrap();
        assert_eq!((both.totals.requests_ok, both.before.offered, both.in_flight), (40, 2, 6));
        let second = both.second.unwrap();
        assert_eq!((second.requests_per_s, second.response.count), (40.0, 40));
        assert!((second.response.p50_ms - 10.0).abs() < 0.1, "{second:?}");
        assert!((second.response.p95_ms - 90.0).abs() < 0.1, "{second:?}");
        assert_eq!(live.snapshot().unwrap().second, None);
    }

    #[test]
    fn an_ended_or_silent_driver_delays_no_second() {
        let mut live = LiveMerge::new(2);
        live.add(shard(1), snapshot_of(1.0, RunStage::Measure, 30, 10));
        live.remove(shard(2));
        assert!(live.snapshot().unwrap().second.is_some());
        let mut live = LiveMerge::new(2);
        for second in 1..=WAITING {
            live.add(shard(1), snapshot_of(second as f64, RunStage::Measure, 30, 10));
            assert!(live.snapshot().unwrap().second.is_none());
        }
        live.add(shard(1), snapshot_of(9.0, RunStage::Measure, 30, 10));
        assert_eq!(live.snapshot().unwrap().second.unwrap().at_s, 1.0);
    }

    #[test]
    fn a_lost_driver_holds_nothing_up() {
        let mut live = LiveMerge::new(2);
        live.name(shard(2), "lon-2");
        for number in [1, 2] {
            live.add(shard(number), snapshot_of(1.0, RunStage::Measure, 30, 10));
        }
        live.remove(shard(2));
        live.add(shard(1), snapshot_of(5.0, RunStage::Measure, 90, 10));
        let now = live.snapshot().unwrap();
        assert_eq!((now.elapsed_s, now.stage, now.in_flight), (5.0, RunStage::Measure, 3));
        assert!(now.drivers.len() == 1 && now.drivers[0].ended);
    }

    #[test]
    fn the_stage_is_the_earliest_of_all_drivers() {
        let mut live = LiveMerge::new(2);
        live.add(shard(1), snapshot_of(1.0, RunStage::Measure, 30, 10));
        live.add(shard(2), snapshot_of(0.9, RunStage::WarmUp, 10, 10));
        let snapshot = live.snapshot().unwrap();
        assert_eq!((snapshot.stage, snapshot.elapsed_s), (RunStage::WarmUp, 0.9));
        assert_eq!((snapshot.totals.offered, snapshot.totals.requests_ok), (1, 10));
        live.add(shard(2), snapshot_of(2.0, RunStage::Done, 10, 10));
        assert_eq!(live.snapshot().unwrap().stage, RunStage::Measure);
        live.add(shard(1), snapshot_of(3.0, RunStage::Done, 30, 10));
        let done = live.snapshot().unwrap();
        assert_eq!((done.stage, done.elapsed_s), (RunStage::Done, 3.0));
    }
}
