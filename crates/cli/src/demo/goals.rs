//! The goals of `tide`, evaluated by this run's own figures and their spread.

use tidegate_stats::{Difference, Estimate, Interval, Verdict};

use super::plan::ASSESSED;
use super::summary::{Goal, Point, Summary};

/// Goodput under overload, as a share of the peak.
const GOODPUT: f64 = 0.95;
/// Response time at four times the capacity against that of the unprotected site just below
/// it: whoever is inside does not notice the crowd.
const RESPONSE: f64 = 1.0;
/// Admitted sessions that complete.
const COMPLETE: f64 = 0.98;
/// Seconds of a window that are joined to one value: neighbours are correlated.
const JOINED: usize = 2;

/// Evaluates every goal whose points were measured; a run without them (`--quick`) has fewer
/// goals.
pub fn evaluate(summary: &Summary) -> Vec<Goal> {
    let tide = |multiple| summary.point(ASSESSED, multiple);
    let mut goals = Vec::new();
    for multiple in [2.0, 4.0] {
        goals.extend(tide(multiple).map(|p| goodput(p, summary)));
    }
    goals.extend(tide(4.0).and_then(|four| response(four, summary)));
    goals.extend(tide(0.5).map(none_refused));
    let curve = summary.curve(ASSESSED);
    if !curve.is_empty() {
        goals.push(no_returning_refused(&curve));
        goals.push(admitted_complete(&curve));
        goals.push(driver_keeps_up(&curve));
    }
    goals
}

/// Whether the run so far leaves open if a goal at this load is met, which more windows would
/// decide.
pub fn is_close(summary: &Summary, multiple: f64) -> bool {
    let Some(point) = summary.point(ASSESSED, multiple) else { return false };
    let response =
        || response(point, summary).is_some_and(|goal| goal.verdict == Verdict::Undecided);
    goodput(point, summary).verdict == Verdict::Undecided || multiple == 4.0 && response()
}

/// The interval of a share of the peak.
///
/// Windows of the same service scatter as its baselines do, by the coefficient of variation
/// `s` of `b` baselines. A share of `n` windows divides each by the mean of the two baselines
/// beside it, so that its relative standard error is `s √(3/2n)`, with `b − 1` degrees of
/// freedom.
fn goodput_interval(point: &Point, summary: &Summary) -> (f64, f64) {
    let share = summary.share_of_peak(point);
    let (scatter, baselines) = (summary.scatter(), summary.carried().count());
    if !scatter.is_finite() {
        return (share, share);
    }
    let windows = summary.windows_of(point).count().max(1) as f64;
    let error = share * scatter * (1.5 / windows).sqrt();
    Interval::from(Estimate { value: share, error, freedom: baselines as f64 - 1.0 }).ends()
}

/// A goal that is missed only at points whose figures are not the server's alone is not shown to
/// be missed.
fn undisturbed(goal: Goal, points: &[&Point]) -> Goal {
    let what = |point: &&Point| Some(format!("at {}× {}", point.multiple, point.disturbance()?));
    match points.iter().map(what).collect::<Option<Vec<_>>>() {
        Some(disturbances) if goal.verdict == Verdict::DoesNotHold && !disturbances.is_empty() => {
            let measured = format!("{}; but {}", goal.measured, disturbances.join(", "));
            Goal::new(goal.text, measured, Verdict::Undecided)
        }
        _ => goal,
    }
}

fn goodput(point: &Point, summary: &Summary) -> Goal {
    let share = summary.share_of_peak(point);
    let (low, high) = goodput_interval(point, summary);
    let best = point.completed_per_s / summary.peak_completed_per_s;
    let goal = Goal::new(
        format!(
            "at {}× completed sessions stay at {:.0} % of the peak",
            point.multiple,
            GOODPUT * 100.0
        ),
        format!(
            "{:.1} % ({:.0} to {:.0} %) of {:.0}/s, the peak by the baselines before and after it, which scatter by {:.0} % ({:.1} % of the run's best window, {:.0}/s)",
            share * 100.0,
            low * 100.0,
            high * 100.0,
            summary.peak_beside(point),
            summary.scatter() * 100.0,
            best * 100.0,
            summary.peak_completed_per_s
        ),
        Verdict::at_least(GOODPUT, (low, high)),
    );
    undisturbed(goal, &[point])
}

/// The logarithms of a point's response times, second by second after the warm-up, joined to
/// stretches.
fn logarithms(point: &Point, summary: &Summary) -> Vec<f64> {
    let windows: Vec<&Point> = summary.windows_of(point).collect();
    let windows = if windows.is_empty() { vec![point] } else { windows };
    let of_window = |window: &&Point| {
        let measured = |second: &&super::summary::Second| {
            second.at_s > summary.setting.warm_up_s + 0.5 && second.response_p95_ms > 0.0
        };
        let seconds: Vec<f64> =
            window.series.iter().filter(measured).map(|s| s.response_p95_ms.ln()).collect();
        let joined = seconds.chunks_exact(JOINED);
        joined.map(|chunk| chunk.iter().sum::<f64>() / JOINED as f64).collect::<Vec<f64>>()
    };
    windows.iter().flat_map(of_window).collect()
}

/// Compares the response time at this point with that of the baselines, by the ratio to their
/// geometric mean. Its interval is that of the difference of the logarithms. `None` without a
/// baseline that carried its load.
fn response(four: &Point, summary: &Summary) -> Option<Goal> {
    let baselines: Vec<f64> = summary.carried().map(|b| b.response_p95_ms.ln()).collect();
    if baselines.is_empty() {
        return None;
    }
    let usual_ms = (baselines.iter().sum::<f64>() / baselines.len() as f64).exp();
    let ratio = four.response_p95_ms / usual_ms;
    let estimates =
        Estimate::of_mean(&baselines).zip(Estimate::of_mean(&logarithms(four, summary)));
    let interval = estimates.map(|(usual, at_four)| {
        let difference = Difference::welch(usual, at_four).estimate;
        let (low, high) = Interval::from(difference).ends();
        (ratio * (low - difference.value).exp(), ratio * (high - difference.value).exp())
    });
    let spread = interval.map_or(String::new(), |(low, high)| format!(" ({low:.1} to {high:.1})"));
    let goal = Goal::new(
        format!(
            "customers inside wait no longer at {}× than without the gate just below the capacity",
            four.multiple
        ),
        format!(
            "{ratio:.2}{spread} of it, p95 {:.1} against {usual_ms:.1} ms",
            four.response_p95_ms
        ),
        interval.filter(|_| ratio.is_finite()).map_or_else(
            || Verdict::exactly(ratio <= RESPONSE),
            |interval| Verdict::at_most(RESPONSE, interval),
        ),
    );
    Some(undisturbed(goal, &[four]))
}

fn none_refused(half: &Point) -> Goal {
    let goal = Goal::new(
        "at 0.5× no new session is refused".into(),
        format!("{:.2} refused/s", half.refused_per_s),
        Verdict::exactly(half.refused_per_s == 0.0),
    );
    // Half the capacity is more than the server has where other programs use the other half.
    undisturbed(goal, &[half])
}

fn no_returning_refused(curve: &[&Point]) -> Goal {
    let refused: u64 = curve.iter().map(|p| p.returning_refused).sum();
    Goal::new(
        "no connection of an admitted session is refused".into(),
        format!("{refused} refused"),
        Verdict::exactly(refused == 0),
    )
}

fn admitted_complete(curve: &[&Point]) -> Goal {
    let worst = curve.iter().map(|p| p.admitted_completed_ratio).fold(1.0, f64::min);
    let goal = Goal::new(
        format!("at least {:.0} % of admitted sessions complete", COMPLETE * 100.0),
        format!("{:.2} % at worst", worst * 100.0),
        Verdict::exactly(worst >= COMPLETE),
    );
    let missed: Vec<&Point> =
        curve.iter().filter(|p| p.admitted_completed_ratio < COMPLETE).copied().collect();
    undisturbed(goal, &missed)
}

/// A saturated driver offers less than it reports, and measures its own delays: the run does
/// not tell what the server would have done.
fn driver_keeps_up(curve: &[&Point]) -> Goal {
    let late: Vec<_> = curve.iter().filter(|p| p.driver_saturated).map(|p| p.multiple).collect();
    let late: Vec<_> = late.iter().map(|multiple| format!("{multiple}×")).collect();
    let (measured, verdict) = match late.is_empty() {
        true => ("at every load".into(), Verdict::Holds),
        false => (
            format!("saturated at {}: these figures are not the server's", late.join(", ")),
            Verdict::Undecided,
        ),
    };
    Goal::new("the driver keeps the offered load".into(), measured, verdict)
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
        not(Verdict::Holds, &summary(four))
    }

    fn not(verdict: Verdict, summary: &Summary) -> Vec<String> {
        let goals = evaluate(summary).into_iter();
        goals.filter(|goal| goal.verdict != verdict).map(|goal| goal.text).collect()
    }

    /// 100 sessions per second at the use of [`GOOD`].
    const BASELINE: Baseline = Baseline {
        at_s: 10.0,
        offered_per_s: 80.0,
        response_p95_ms: 15.0,
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
        others_use: 0.02,
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
        assert!(missed(Point { response_p95_ms: 15.1, ..GOOD })[0].contains("wait no longer"));
        assert!(
            missed(Point { returning_refused: 1, ..GOOD })[0]
                .contains("admitted session is refused")
        );
        assert!(missed(Point { admitted_completed_ratio: 0.97, ..GOOD })[0].contains("98 %"));
        assert!(missed(Point { driver_saturated: true, ..GOOD })[0].contains("offered load"));
    }

    #[test]
    fn figures_that_are_not_the_servers_alone_show_no_goal_to_be_missed() {
        let bad = Point {
            completed_per_s: 50.0,
            admitted_completed_ratio: 0.8,
            response_p95_ms: 90.0,
            ..GOOD
        };
        let missed = |four: Point| {
            let goals = evaluate(&summary(four)).into_iter();
            goals.filter(|goal| goal.verdict == Verdict::DoesNotHold).count()
        };
        assert_eq!(missed(bad.clone()), 3);
        assert_eq!(missed(Point { others_use: 0.3, ..bad.clone() }), 0);
        assert_eq!(missed(Point { driver_saturated: true, ..bad.clone() }), 0);
        let mut both = summary(Point { others_use: 0.3, ..bad.clone() });
        both.points.push(Point { policy: "tide".into(), multiple: 1.0, ..bad.clone() });
        let goals = evaluate(&both);
        let complete = goals.iter().find(|goal| goal.text.contains("98 %")).unwrap();
        assert_eq!(complete.verdict, Verdict::DoesNotHold, "nothing disturbed the other point");
        let refused = Point { others_use: 0.3, returning_refused: 1, ..bad };
        assert_eq!(missed(refused), 1, "a refusal is the gate's, whatever else runs");
        let mut at_half = summary(GOOD);
        at_half.points[0].refused_per_s = 3.0;
        assert_eq!(not(Verdict::Holds, &at_half).len(), 1);
        at_half.points[0].others_use = 0.5;
        let verdicts: Vec<_> = evaluate(&at_half).iter().map(|goal| goal.verdict).collect();
        assert!(
            !verdicts.contains(&Verdict::DoesNotHold),
            "half the capacity was not there: {verdicts:?}"
        );
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

    /// A run whose baselines scatter by a tenth, with these shares of the peak in two windows.
    fn noisy(shares: [f64; 2]) -> Summary {
        let mut run = summary(GOOD);
        run.points.pop();
        run.baselines = [-8.0, 0.0, 8.0, -8.0, 8.0, 0.0]
            .into_iter()
            .enumerate()
            .map(|(n, more)| Baseline {
                at_s: 10.0 * n as f64,
                carried_per_s: 80.0 + more,
                ..BASELINE
            })
            .collect();
        let window = |(n, share): (usize, f64)| Point {
            policy: "tide".into(),
            at_s: 10.0 * n as f64 + 5.0,
            completed_per_s: 100.0 * share,
            ..GOOD
        };
        let windows: Vec<Point> = shares.into_iter().enumerate().map(window).collect();
        run.set(&windows);
        run
    }

    fn goodput_of(summary: &Summary) -> Verdict {
        let goals = evaluate(summary);
        goals.iter().find(|goal| goal.text.contains("of the peak")).unwrap().verdict
    }

    #[test]
    fn a_share_within_the_scatter_of_the_baselines_is_close_and_no_error() {
        assert_eq!(goodput_of(&noisy([0.93, 0.92])), Verdict::Undecided);
        assert_eq!(goodput_of(&noisy([0.97, 0.98])), Verdict::Undecided);
        assert_eq!(goodput_of(&noisy([0.5, 0.5])), Verdict::DoesNotHold);
        assert_eq!(goodput_of(&noisy([1.5, 1.5])), Verdict::Holds);
        assert!(!super::super::summary::any_missed(&evaluate(&noisy([0.93, 0.92]))));
        assert!(super::super::summary::any_missed(&evaluate(&noisy([0.5, 0.5]))));
    }

    /// A run with these p95 response times second by second at 4×, beside baselines of 13 to
    /// 17 ms.
    fn responses(four: [f64; 6]) -> Verdict {
        let second = |(n, ms): (usize, f64)| crate::demo::summary::Second {
            at_s: n as f64 + 1.0,
            response_p95_ms: ms,
            ..crate::demo::summary::Second::default()
        };
        let worst = four.iter().copied().fold(0.0, f64::max);
        let series = four.into_iter().enumerate().map(second).collect();
        let mut run = summary(Point { response_p95_ms: worst, series, ..GOOD });
        let baseline = |response_p95_ms| Baseline { response_p95_ms, ..BASELINE };
        run.baselines = [13.0, 15.0, 17.0, 14.0, 16.0].map(baseline).to_vec();
        let goals = evaluate(&run);
        goals.iter().find(|goal| goal.text.contains("wait no longer")).unwrap().verdict
    }

    #[test]
    fn a_ratio_of_response_times_is_missed_only_if_all_of_its_interval_is() {
        assert_eq!(responses([6.0, 6.5, 6.0, 7.0, 6.5, 6.0]), Verdict::Holds);
        assert_eq!(responses([6.0, 6.5, 60.0, 64.0, 6.5, 6.0]), Verdict::Undecided);
        assert_eq!(responses([60.0, 65.0, 60.0, 64.0, 65.0, 60.0]), Verdict::DoesNotHold);
    }
}
