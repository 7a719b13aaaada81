//! The goals of `tide`, assessed by this run's own figures.

use super::plan::ASSESSED;
use super::summary::{Goal, Point, Summary};

/// Goodput under overload, as a share of the peak.
const GOODPUT: f64 = 0.95;
/// Response time at four times the capacity against that at half of it.
const RESPONSE: f64 = 3.0;
/// Admitted sessions that complete.
const COMPLETE: f64 = 0.98;

/// Evaluates every goal whose points were measured; a run without them (`--quick`) has fewer
/// goals.
pub fn evaluate(summary: &Summary) -> Vec<Goal> {
    let tide = |multiple| summary.point(ASSESSED, multiple);
    let mut goals = Vec::new();
    for multiple in [2.0, 4.0] {
        goals.extend(tide(multiple).map(|p| goodput(p, summary)));
    }
    if let (Some(half), Some(four)) = (tide(0.5), tide(4.0)) {
        goals.push(response(half, four));
    }
    goals.extend(tide(0.5).map(none_refused));
    let curve = summary.curve(ASSESSED);
    if !curve.is_empty() {
        goals.push(no_returning_refused(&curve));
        goals.push(admitted_complete(&curve));
        goals.push(driver_keeps_up(&curve));
    }
    goals
}

fn goodput(point: &Point, summary: &Summary) -> Goal {
    let share = summary.share_of_peak(point);
    let best = point.completed_per_s / summary.peak_completed_per_s;
    Goal {
        text: format!(
            "at {}× completed sessions stay at {:.0} % of the peak",
            point.multiple,
            GOODPUT * 100.0
        ),
        measured: format!(
            "{:.1} % of {:.0}/s, the peak by the baselines before and after it, which scatter by {:.0} % ({:.1} % of the run's best window, {:.0}/s)",
            share * 100.0,
            summary.peak_beside(point),
            summary.scatter() * 100.0,
            best * 100.0,
            summary.peak_completed_per_s
        ),
        met: share >= GOODPUT,
    }
}

fn response(half: &Point, four: &Point) -> Goal {
    let ratio = four.response_p95_ms / half.response_p95_ms;
    Goal {
        text: format!("p95 response time at 4× is at most {RESPONSE} times that at 0.5×"),
        measured: format!(
            "{ratio:.2} ({:.1} against {:.1} ms)",
            four.response_p95_ms, half.response_p95_ms
        ),
        met: ratio <= RESPONSE,
    }
}

fn none_refused(half: &Point) -> Goal {
    Goal {
        text: "at 0.5× no new session is refused".into(),
        measured: format!("{:.2} refused/s", half.refused_per_s),
        met: half.refused_per_s == 0.0,
    }
}

fn no_returning_refused(curve: &[&Point]) -> Goal {
    let refused: u64 = curve.iter().map(|p| p.returning_refused).sum();
    Goal {
        text: "no connection of an admitted session is refused".into(),
        measured: format!("{refused} refused"),
        met: refused == 0,
    }
}

fn admitted_complete(curve: &[&Point]) -> Goal {
    let worst = curve.iter().map(|p| p.admitted_completed_ratio).fold(1.0, f64::min);
    Goal {
        text: format!("at least {:.0} % of admitted sessions complete", COMPLETE * 100.0),
        measured: format!("{:.2} % at worst", worst * 100.0),
        met: worst >= COMPLETE,
    }
}

/// A saturated driver offers less than it reports, and measures its own delays.
fn driver_keeps_up(curve: &[&Point]) -> Goal {
    let late: Vec<_> = curve.iter().filter(|p| p.driver_saturated).map(|p| p.multiple).collect();
    let late: Vec<_> = late.iter().map(|multiple| format!("{multiple}×")).collect();
    Goal {
        text: "the driver keeps the offered load".into(),
        measured: match late.is_empty() {
            true => "at every load".into(),
            false => {
                format!("saturated at {}: these figures are not the server's", late.join(", "))
            }
        },
        met: late.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::summary::Baseline;

    fn summary(four: Point) -> Summary {
        let half = Point {
            policy: "tide".into(),
            multiple: 0.5,
            completed_per_s: 50.0,
            admitted_completed_ratio: 1.0,
            response_p95_ms: 5.0,
            machine_speed: 1.0,
            ..Point::default()
        };
        Summary {
            capacity_sessions_per_s: 100.0,
            peak_completed_per_s: 100.0,
            points: vec![half, Point { policy: "tide".into(), multiple: 4.0, ..four }],
            baselines: vec![BASELINE],
            ..Summary::default()
        }
    }

    fn missed(four: Point) -> Vec<String> {
        evaluate(&summary(four)).into_iter().filter(|g| !g.met).map(|g| g.text).collect()
    }

    /// 100 sessions per second at the use of [`GOOD`].
    const BASELINE: Baseline = Baseline {
        at_s: 10.0,
        offered_per_s: 80.0,
        carried_per_s: 80.0,
        completed_ratio: 1.0,
        server_use: 0.76,
        machine_speed: 1.0,
    };

    const GOOD: Point = Point {
        policy: String::new(),
        multiple: 4.0,
        capacity_per_s: 100.0,
        at_s: 20.0,
        offered_per_s: 400.0,
        admitted_per_s: 96.0,
        refused_per_s: 304.0,
        completed_per_s: 95.0,
        abandoned_per_s: 0.0,
        admitted_completed_ratio: 0.99,
        response_p50_ms: 5.0,
        response_p95_ms: 15.0,
        response_p99_ms: 20.0,
        requests_per_s: 1000.0,
        server_use: 0.95,
        full_handshake_share: 0.2,
        returning_refused: 0,
        driver_saturated: false,
        machine_speed: 1.0,
        series: Vec::new(),
    };

    #[test]
    fn a_run_at_the_limits_meets_every_goal() {
        assert_eq!(missed(GOOD), Vec::<String>::new());
    }

    #[test]
    fn each_missed_goal_is_named() {
        assert!(missed(Point { completed_per_s: 94.0, ..GOOD })[0].contains("95 % of the peak"));
        assert!(missed(Point { response_p95_ms: 15.1, ..GOOD })[0].contains("p95"));
        assert!(
            missed(Point { returning_refused: 1, ..GOOD })[0]
                .contains("admitted session is refused")
        );
        assert!(missed(Point { admitted_completed_ratio: 0.97, ..GOOD })[0].contains("98 %"));
        assert!(missed(Point { driver_saturated: true, ..GOOD })[0].contains("offered load"));
    }

    #[test]
    fn goodput_is_judged_at_the_machines_speed() {
        let slow = Point { completed_per_s: 80.0, machine_speed: 0.84, ..GOOD };
        assert_eq!(missed(slow), Vec::<String>::new());
        let fast = Point { completed_per_s: 96.0, machine_speed: 1.05, ..GOOD };
        assert!(missed(fast)[0].contains("95 % of the peak"));
    }

    #[test]
    fn a_response_time_that_was_not_measured_misses_its_goal() {
        assert!(!missed(Point { response_p95_ms: f64::NAN, ..GOOD }).is_empty());
    }
}
