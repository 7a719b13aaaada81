//! How many sessions complete in a window if the site keeps up, by the lengths of sessions. Pure.
//!
//! Customers who arrive shortly before the end of a window complete after it, and the first
//! customers of a run complete no sooner than a session lasts. So even a site that answers at once
//! completes fewer sessions in a window than arrive in it: with five exponential think times, a
//! warm-up of one mean session and a window of two, 91 %. Simulated sessions tell how many, and how
//! much of a difference is chance.

use tidegate_load::scenario::DrawnSession;

/// Sessions that arrived evenly between two times, in seconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arrived {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) count: f64,
}

/// Sessions that are expected to complete, and the standard deviation of their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Expected {
    pub(crate) count: f64,
    pub(crate) deviation: f64,
}

/// How long sessions last on a site that answers each request after `response_s`, in ascending
/// order; `scale` is the factor on think times.
pub(crate) fn durations(drawn: &[DrawnSession], scale: f64, response_s: f64) -> Vec<f64> {
    let of = |it: &DrawnSession| {
        scale * it.think.as_secs_f64() + f64::from(it.requests) * response_s.max(0.0)
    };
    let mut all: Vec<f64> = drawn.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// The duration that 99 of 100 sessions do not exceed, of durations in ascending order.
pub(crate) fn p99(durations: &[f64]) -> f64 {
    let rank = (durations.len() * 99).div_ceil(100).saturating_sub(1);
    durations.get(rank).copied().unwrap_or(0.0)
}

pub(crate) fn mean(durations: &[f64]) -> f64 {
    tidegate_stats::mean(durations.iter().copied()).unwrap_or(0.0)
}

/// Half the mean difference of two durations, which are in ascending order: `∫ F (1 − F)`. Of
/// sessions that arrive at a rate λ, the number that complete in a long window has the variance
/// `2 λ ∫ F (1 − F)` once the arrivals are known.
pub(crate) fn half_difference(durations: &[f64]) -> f64 {
    let count = durations.len() as f64;
    let weighted = durations.iter().enumerate();
    let sum: f64 = weighted.map(|(at, it)| (2.0 * at as f64 - count + 1.0) * it).sum();
    if count > 0.0 { sum / (count * count) } else { 0.0 }
}

/// The sessions that are expected to complete in a window, of these durations and arrivals.
pub(crate) fn expected(
    arrivals: &[Arrived],
    (begin, end): (f64, f64),
    durations: &[f64],
) -> Expected {
    let (mut count, mut variance) = (0.0, 0.0);
    for it in arrivals.iter().filter(|it| it.count > 0.0) {
        let length = (it.to_s - it.from_s).max(1e-9);
        // Who arrives from `begin − duration` to `end − duration` completes in the window.
        let share = |duration: &f64| {
            let (from, to) = ((begin - duration).max(it.from_s), (end - duration).min(it.to_s));
            (to - from).max(0.0) / length
        };
        let share =
            (durations.iter().map(share).sum::<f64>() / durations.len().max(1) as f64).min(1.0);
        count += it.count * share;
        variance += it.count * share * (1.0 - share);
    }
    Expected { count, deviation: variance.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tidegate_load::Scenario;

    /// Erlang with so many exponential times of 1 s, as the scenario draws it.
    fn erlang(thinks: usize) -> Vec<f64> {
        let steps = vec!["\"Page\""; thinks + 1].join(", ");
        let text = format!(
            "[session]\nsteps = [{steps}]\nthink = \"1s\"\n[pages]\nPage = {{ path = \"/\" }}\n"
        );
        let scenario = Scenario::from_toml(&text, "erlang.toml").unwrap();
        durations(scenario.drawn_sessions(), 1.0, 0.0)
    }

    fn evenly(per_s: f64, end: f64) -> [Arrived; 1] {
        [Arrived { from_s: 0.0, to_s: end, count: per_s * end }]
    }

    #[test]
    fn an_infinitely_fast_site_completes_fewer_than_arrive_after_a_warm_up_of_a_mean_session() {
        // Erlang with five stages of 1 s, of which E[(D − 5)⁺] = 5⁵ e⁻⁵ / 4! = 0.877: of those who
        // arrive in ten seconds, 1 − 0.0877 complete in these after a warm-up of 5 s.
        let found = expected(&evenly(100.0, 15.0), (5.0, 15.0), &erlang(5));
        assert!((found.count / 1000.0 - 0.912).abs() < 0.005, "{found:?}");
        // After the 99th percentile nearly all do.
        let durations = erlang(5);
        let warm_up = p99(&durations);
        assert!((warm_up - 11.6).abs() < 0.4, "{warm_up}");
        let window = (warm_up, warm_up + 10.0);
        let found = expected(&evenly(100.0, window.1), window, &durations);
        assert!((found.count / 1000.0 - 0.998).abs() < 0.003, "{found:?}");
    }

    #[test]
    fn sessions_of_one_length_complete_when_they_are_due() {
        // Each takes 2 s: who arrives from 1 to 3 completes from 3 to 5.
        let second = |at: u32| {
            let (from_s, count) = (f64::from(at), f64::from(10 * at));
            Arrived { from_s, to_s: from_s + 1.0, count }
        };
        let arrivals: Vec<Arrived> = (0..5).map(second).collect();
        let found = expected(&arrivals, (3.0, 5.0), &[2.0]);
        assert_eq!(found, Expected { count: 30.0, deviation: 0.0 });
        // From 1.5 to 3.5: half of the ten, the twenty, and half of the thirty.
        let found = expected(&arrivals, (3.5, 5.5), &[2.0]);
        assert_eq!(found.count, 40.0);
        assert!((found.deviation - (2.5f64 + 7.5).sqrt()).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_time_of_responses_lengthens_a_session_and_the_scale_shortens_thinking_only() {
        let drawn = [
            DrawnSession { requests: 4, think: Duration::from_secs(30) },
            DrawnSession { requests: 1, think: Duration::ZERO },
        ];
        assert_eq!(durations(&drawn, 0.1, 0.5), [0.5, 5.0]);
        assert_eq!((mean(&[0.5, 5.0]), p99(&[0.5, 5.0])), (2.75, 5.0));
    }

    #[test]
    fn chance_is_half_the_mean_difference_of_two_sessions() {
        // Pairs of 1 and 4: half of them differ by 3.
        assert_eq!(half_difference(&[1.0, 4.0]), 0.75);
        assert_eq!((half_difference(&[]), p99(&[]), mean(&[])), (0.0, 0.0, 0.0));
        // In a long window, arrivals known by the second: 2 λ ∫ F (1 − F).
        let durations = erlang(4);
        let second =
            |at: u32| Arrived { from_s: f64::from(at), to_s: f64::from(at + 1), count: 50.0 };
        let arrivals: Vec<Arrived> = (0..60).map(second).collect();
        let found = expected(&arrivals, (20.0, 60.0), &durations);
        let by_formula = (2.0 * 50.0 * half_difference(&durations)).sqrt();
        assert!((found.deviation / by_formula - 1.0).abs() < 0.05, "{found:?} {by_formula}");
    }
}
