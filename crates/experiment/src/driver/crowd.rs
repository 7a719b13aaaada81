//! A crowd that comes and goes: what arrives in a run, and what completes before, during and after it.

use std::time::Duration;

use tidegate_load::arrivals::{Process, Segment};
use tidegate_load::{Arrivals, Point};

use super::faults::mean_within;
use crate::experiment::Windows;
use crate::metrics::Figures;

/// The quarters of the measured window, in the names of figures. Those who came with the crowd may
/// still be there in the third.
const QUARTERS: [&str; 4] = ["before", "during", "next", "after"];
/// The one with the crowd.
const CROWDED: usize = 1;

/// A constant rate, and `times` as much of it in the second quarter of the measured window.
pub(super) fn arrivals(per_s: f64, times: f64, windows: &Windows) -> Arrivals {
    let quarter_s = windows.measured_s / 4.0;
    let lasts = |seconds: f64, per_s: f64| Segment {
        lasts: Duration::from_secs_f64(seconds),
        from_per_s: per_s,
        to_per_s: per_s,
    };
    let rest = Segment { lasts: Duration::MAX, from_per_s: per_s, to_per_s: per_s };
    let before = lasts(windows.warm_up_s + quarter_s, per_s);
    Arrivals::segments(Process::Poisson, vec![before, lasts(quarter_s, times * per_s), rest])
}

/// Sessions completed per second in each quarter, and the response time of that with the crowd, from
/// the seconds of the run.
pub(super) fn figures(series: &[Point], windows: &Windows) -> Figures {
    let mean = |quarter: usize, value: fn(&Point) -> f64| {
        let quarter_s = windows.measured_s / 4.0;
        let within = (quarter as f64 * quarter_s, (quarter + 1) as f64 * quarter_s);
        mean_within(series, windows.warm_up_s, within, value)
    };
    let completed = QUARTERS.into_iter().enumerate().map(|(quarter, name)| {
        (format!("completed_{name}_per_s"), mean(quarter, |second| second.completed_per_s))
    });
    let response = mean(CROWDED, |second| second.response.p95_ms);
    let all = completed.chain([("response_p95_during_ms".to_owned(), response)]);
    all.filter_map(|(name, figure)| Some((name, figure?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_stats::Percentiles;

    const WINDOWS: Windows = Windows {
        warm_up_s: 3.0,
        measured_s: 16.0,
        repetitions: 5,
        warm_up_per_customer_s: 0.0,
        requests: None,
        requests_at_most: None,
        warm_up_once_s: None,
    };

    #[test]
    fn the_crowd_is_in_the_second_quarter_of_the_measured_window_alone() {
        let arrivals = arrivals(10.0, 4.0, &WINDOWS);
        let at = |seconds: f64| arrivals.rate_at(Duration::from_secs_f64(seconds));
        assert_eq!(
            [0.0, 6.9, 7.1, 10.9, 11.1, 600.0].map(at),
            [10.0, 10.0, 40.0, 40.0, 10.0, 10.0]
        );
        assert_eq!(arrivals.end(), None, "the run ends it");
    }

    #[test]
    fn what_completes_is_counted_in_each_quarter_and_responses_are_timed_in_the_crowds() {
        // Seconds end at 4 s, 5 s and so on; 5 sessions each before, 9 with the crowd, 1 in the
        // quarter after it, 7 at the end.
        let completed = |at_s: u32| match at_s {
            ..=7 => 5.0,
            8..=11 => 9.0,
            12..=15 => 1.0,
            _ => 7.0,
        };
        let second = |at_s: u32| Point {
            at_s: f64::from(at_s),
            length_s: 1.0,
            measured: at_s > 3,
            completed_per_s: completed(at_s),
            response: Percentiles { p95_ms: f64::from(at_s), ..Percentiles::default() },
            ..Point::default()
        };
        let series: Vec<Point> = (1..=19).map(second).collect();
        let figures = figures(&series, &WINDOWS);
        let of = |name: &str| figures[&format!("completed_{name}_per_s")];
        assert_eq!(["before", "during", "next", "after"].map(of), [5.0, 9.0, 1.0, 7.0]);
        assert_eq!(figures["response_p95_during_ms"], 9.5, "of the seconds that end at 8 to 11 s");
    }
}
