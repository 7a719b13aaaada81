//! The figures of one run, measured or simulated.

use crate::testbed::figure;
use serde::Serialize;
use tidegate_experiment::record::Record;
use tidegate_load::Point;
use tidegate_sim::{Evaluated, Measure, Tenth};

/// Figures over the observed time, and the course.
#[derive(Clone, Debug, Serialize)]
pub struct Observed {
    /// Sessions per second that could have been completed at best.
    pub best_per_s: f64,
    /// Completed sessions per second.
    pub completed_per_s: f64,
    /// The same as a share of the best.
    pub goodput: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    /// Refused, of those offered.
    pub refused: f64,
    /// Admitted and not completed, of the admitted that ended.
    pub lost: f64,
    /// Second by second, from the start.
    pub course: Vec<Second>,
}

/// One second.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Second {
    /// Its end.
    pub at_s: f64,
    pub responses_per_s: f64,
    /// Mean response time; `None` where nothing was answered.
    pub response_ms: Option<f64>,
    pub completed_per_s: f64,
    pub refused_per_s: f64,
}

impl Observed {
    /// The driver's figures, where `best_per_s` sessions per second could be completed.
    pub fn measured(record: &Record, seconds: &[Point], best_per_s: f64) -> Self {
        let figure = |name| figure(record, name);
        Self {
            best_per_s,
            completed_per_s: figure("completed_per_s"),
            goodput: share(figure("completed_per_s"), best_per_s),
            p50_ms: figure("response_p50_ms"),
            p95_ms: figure("response_p95_ms"),
            refused: share(figure("refused_per_s"), figure("offered_per_s")),
            lost: 1.0 - figure("completed_ratio"),
            course: seconds.iter().map(measured_second).collect(),
        }
    }

    /// The simulator's figures: means over the seeds, and the first run's course.
    pub fn simulated(run: &Evaluated) -> Self {
        let best_per_s = run.first.best / run.first.seconds.max(1e-9);
        // As the driver counts them: unweighted.
        let completed_per_s = run.first.completed as f64 / run.first.seconds.max(1e-9);
        Self {
            best_per_s,
            completed_per_s,
            goodput: share(completed_per_s, best_per_s),
            p50_ms: run.value(Measure::P50).unwrap_or(0.0),
            p95_ms: run.value(Measure::P95).unwrap_or(0.0),
            refused: run.value(Measure::Refused).unwrap_or(0.0),
            lost: run.value(Measure::Lost).unwrap_or(0.0),
            course: run.first.course.chunks(10).map(simulated_second).collect(),
        }
    }
}

fn measured_second(point: &Point) -> Second {
    Second {
        at_s: point.at_s,
        responses_per_s: point.requests_per_s,
        response_ms: (point.response.count > 0).then_some(point.response.mean_ms),
        completed_per_s: point.completed_per_s,
        refused_per_s: point.refused_per_s,
    }
}

fn simulated_second(tenths: &[Tenth]) -> Second {
    let sum = |of: fn(&Tenth) -> u64| tenths.iter().map(of).sum::<u64>() as f64;
    let length_s = tenths.len() as f64 / 10.0;
    let responses = sum(|tenth| tenth.responses);
    let time_s: f64 = tenths.iter().map(|tenth| tenth.response_time_s).sum();
    Second {
        at_s: tenths.last().map_or(0.0, |tenth| tenth.at_s),
        responses_per_s: responses / length_s,
        response_ms: (responses > 0.0).then(|| time_s / responses * 1e3),
        completed_per_s: sum(|tenth| tenth.completed) / length_s,
        refused_per_s: sum(|tenth| tenth.refused) / length_s,
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_tenths_are_one_second() {
        let tenth = |n: u64| Tenth {
            at_s: n as f64 / 10.0,
            responses: 5,
            response_time_s: 0.010,
            completed: n % 2,
            ..Tenth::default()
        };
        let tenths: Vec<_> = (1..=10).map(tenth).collect();
        let second = simulated_second(&tenths);
        assert_eq!((second.at_s, second.responses_per_s, second.completed_per_s), (1.0, 50.0, 5.0));
        assert!((second.response_ms.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(simulated_second(&[Tenth::default()]).response_ms, None);
    }
}
