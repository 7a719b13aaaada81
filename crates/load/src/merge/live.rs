//! How several drivers stand together, while they run.

use std::collections::VecDeque;

use tidegate_stats::Latency as Histogram;

use crate::plan::shard::Part;
use crate::result::counted::Counted;
use crate::result::summary::{Point, RunStage, Snapshot, Totals};

/// Seconds of a driver that wait for those of a slower one. Then they go on
/// without.
const WAITING: usize = 4;

/// The last that each driver of a test said.
pub struct Together {
    drivers: Vec<Driver>,
}

#[derive(Default)]
struct Driver {
    last: Option<Snapshot>,
    /// Seconds not shown yet.
    seconds: VecDeque<(Point, Histogram)>,
    gone: bool,
}

impl Together {
    /// Of so many drivers.
    pub fn new(drivers: u32) -> Self {
        Self { drivers: (0..drivers).map(|_| Driver::default()).collect() }
    }

    /// Takes in what a driver says.
    pub fn take(&mut self, part: Part, mut snapshot: Snapshot) {
        let Some(driver) = self.drivers.get_mut(part.number() as usize - 1) else { return };
        let spread = snapshot.spread.as_mut().and_then(|spread| spread.second.take());
        if let (Some(second), Some(spread)) = (snapshot.second.take(), spread) {
            driver.seconds.push_back((second, spread));
        }
        driver.gone = snapshot.stage == RunStage::Done;
        driver.last = Some(snapshot);
    }

    /// Waits for a driver no longer.
    pub fn without(&mut self, part: Part) {
        if let Some(driver) = self.drivers.get_mut(part.number() as usize - 1) {
            driver.gone = true;
        }
    }

    /// How all stand; `None` before any has said so.
    pub fn snapshot(&mut self) -> Option<Snapshot> {
        let second = self.second();
        let last = || self.drivers.iter().filter_map(|driver| driver.last.as_ref());
        // A driver that has ended holds up none of the others.
        let running = || last().filter(|snapshot| snapshot.stage != RunStage::Done);
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
            response: Histogram::new().summary(),
            buckets: Default::default(),
            in_flight: 0,
            last: Point::default(),
            second,
            driver_warnings: Vec::new(),
            spread: None,
        };
        let (mut response, mut points) = (Histogram::new(), Vec::new());
        for (number, driver) in (1..).zip(&self.drivers) {
            let Some(snapshot) = &driver.last else { continue };
            whole.buckets.merge(&snapshot.buckets);
            let warnings = snapshot.driver_warnings.iter();
            whole.driver_warnings.extend(warnings.map(|why| format!("driver {number}: {why}")));
            if warming && snapshot.stage != RunStage::WarmUp {
                // It is ahead by a moment.
                whole.totals.merge(&snapshot.before);
            } else {
                whole.before.merge(&snapshot.before);
                whole.totals.merge(&snapshot.totals);
                if let Some(spread) = &snapshot.spread {
                    response.merge(&spread.stage);
                }
            }
            if !driver.gone {
                whole.in_flight += snapshot.in_flight;
            }
            if let Some(spread) = &snapshot.spread
                && (!driver.gone || stage == RunStage::Done)
            {
                points.push((snapshot.last, spread.last.clone()));
            }
        }
        whole.response = response.summary();
        whole.last = add_points(points);
        Some(whole)
    }

    /// The next second, once all drivers that still run have had it.
    fn second(&mut self) -> Option<Point> {
        let lacks = |driver: &Driver| driver.seconds.is_empty() && !driver.gone;
        let longest = self.drivers.iter().map(|driver| driver.seconds.len()).max()?;
        if longest == 0 || (self.drivers.iter().any(lacks) && longest <= WAITING) {
            return None;
        }
        let next = self.drivers.iter_mut().filter_map(|driver| driver.seconds.pop_front());
        Some(add_points(next.collect()))
    }
}

/// Rates at the same time add up, and histograms do.
fn add_points(points: Vec<(Point, Histogram)>) -> Point {
    let (mut whole, mut response) = (Point::default(), Histogram::new());
    for (point, spread) in points {
        response.merge(&spread);
        whole.at_s = whole.at_s.max(point.at_s);
        whole.length_s = whole.length_s.max(point.length_s);
        whole.measured |= point.measured;
        for (sum, rate) in [
            (&mut whole.offered_per_s, point.offered_per_s),
            (&mut whole.admitted_per_s, point.admitted_per_s),
            (&mut whole.refused_per_s, point.refused_per_s),
            (&mut whole.completed_per_s, point.completed_per_s),
            (&mut whole.abandoned_per_s, point.abandoned_per_s),
            (&mut whole.failed_per_s, point.failed_per_s),
            (&mut whole.requests_per_s, point.requests_per_s),
            (&mut whole.full_handshakes_per_s, point.full_handshakes_per_s),
            (&mut whole.resumed_handshakes_per_s, point.resumed_handshakes_per_s),
        ] {
            *sum += rate;
        }
        whole.in_flight += point.in_flight;
        whole.missed_starts += point.missed_starts;
        whole.driver_cpu_share = whole.driver_cpu_share.max(point.driver_cpu_share);
    }
    whole.response = response.summary();
    whole
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::result::summary::SnapshotSpread;

    /// A driver's snapshot at the end of a second with so many answers.
    fn says(elapsed_s: f64, stage: RunStage, answers: u64, ms: u64) -> Snapshot {
        let mut spread = Histogram::new();
        spread.record_many(Duration::from_millis(ms), answers);
        let point = Point {
            at_s: elapsed_s,
            length_s: 1.0,
            requests_per_s: answers as f64,
            response: spread.summary(),
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
            response: spread.summary(),
            buckets: Default::default(),
            in_flight: 3,
            last: point,
            second: Some(point),
            driver_warnings: Vec::new(),
            spread: Some(Box::new(SnapshotSpread {
                stage: spread.clone(),
                last: spread.clone(),
                second: Some(spread),
            })),
        }
    }

    fn part(number: u32) -> Part {
        Part::new(number, 2).unwrap()
    }

    #[test]
    fn rates_and_histograms_of_drivers_add_up_and_a_second_waits_for_the_slower() {
        let mut together = Together::new(2);
        assert!(together.snapshot().is_none());
        together.take(part(1), says(1.0, RunStage::Measure, 30, 10));
        let alone = together.snapshot().unwrap();
        assert_eq!((alone.totals.requests_ok, alone.second), (30, None));
        together.take(part(2), says(1.0, RunStage::Measure, 10, 90));
        let both = together.snapshot().unwrap();
        assert_eq!((both.totals.requests_ok, both.before.offered, both.in_flight), (40, 2, 6));
        let second = both.second.unwrap();
        assert_eq!((second.requests_per_s, second.response.count), (40.0, 40));
        assert!((second.response.p50_ms - 10.0).abs() < 0.1, "{second:?}");
        assert!((second.response.p95_ms - 90.0).abs() < 0.1, "{second:?}");
        assert_eq!(together.snapshot().unwrap().second, None);
    }

    #[test]
    fn a_driver_that_is_gone_or_says_nothing_holds_up_no_second() {
        let mut together = Together::new(2);
        together.take(part(1), says(1.0, RunStage::Measure, 30, 10));
        together.without(part(2));
        assert!(together.snapshot().unwrap().second.is_some());
        let mut together = Together::new(2);
        for second in 1..=WAITING {
            together.take(part(1), says(second as f64, RunStage::Measure, 30, 10));
            assert!(together.snapshot().unwrap().second.is_none());
        }
        together.take(part(1), says(9.0, RunStage::Measure, 30, 10));
        assert_eq!(together.snapshot().unwrap().second.unwrap().at_s, 1.0);
    }

    #[test]
    fn it_is_warm_up_until_all_have_done_with_it_and_done_when_all_are() {
        let mut together = Together::new(2);
        together.take(part(1), says(1.0, RunStage::Measure, 30, 10));
        together.take(part(2), says(0.9, RunStage::WarmUp, 10, 10));
        let snapshot = together.snapshot().unwrap();
        assert_eq!((snapshot.stage, snapshot.elapsed_s), (RunStage::WarmUp, 0.9));
        assert_eq!((snapshot.totals.offered, snapshot.totals.requests_ok), (1, 10));
        together.take(part(2), says(2.0, RunStage::Done, 10, 10));
        assert_eq!(together.snapshot().unwrap().stage, RunStage::Measure);
        together.take(part(1), says(3.0, RunStage::Done, 30, 10));
        let done = together.snapshot().unwrap();
        assert_eq!((done.stage, done.elapsed_s), (RunStage::Done, 3.0));
    }
}
