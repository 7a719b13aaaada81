//! The times of steps: they follow from the length of sessions.

use std::time::Duration;

use tidegate_lab::{Error, Result};
use tidegate_load::Scenario;

use super::completions::{durations, half_difference, mean, p99};
use super::step::Limit;

/// Least factor on think times.
const LEAST_SCALE: f64 = 0.0005;

/// Largest part of the completions that may be chance, where the time allows: three standard
/// deviations of their number.
const CHANCE: f64 = 0.1;
/// Least length of a window in limits: in it a queue exceeds the limit if the load exceeds what
/// the site carries by `1 / LIMITS`.
const LIMITS: f64 = 20.0;

/// The times of a study, fixed once the length of a session is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    /// Factor on think times.
    pub(crate) scale: f64,
    /// Time before the measured window of each step: 99 of 100 sessions are shorter.
    pub(crate) warm_up: Duration,
    /// Measured window.
    pub(crate) measure: Duration,
    /// The longest that a window may become where few sessions come.
    pub(crate) longest: Duration,
    /// Response time of one customer alone.
    pub(crate) response_s: f64,
    /// Half the mean difference of two sessions.
    pub(crate) spread_s: f64,
}

/// The time that there is for steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// For all of them.
    pub(crate) whole: Duration,
    /// Their number.
    pub(crate) steps: usize,
    /// Least length of a measured window.
    pub(crate) shortest: Duration,
}

/// What the operator has fixed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fixed {
    /// Factor on think times.
    pub(crate) scale: Option<f64>,
    /// Measured window of a step.
    pub(crate) step: Option<Duration>,
}

impl Times {
    /// Times that the sessions fit into, if a request takes `response_s`: a step warms up until 99
    /// of 100 sessions are over, so that as many leave as come, and is measured for two sessions.
    /// Where sessions do not fit though nobody thinks for long, steps take longer than the budget.
    ///
    /// # Errors
    /// [`Error::Operator`]: sessions are too long for the given scale.
    pub(crate) fn fit(
        scenario: &Scenario,
        limit: Limit,
        budget: Budget,
        fixed: Fixed,
        response_s: f64,
    ) -> Result<Self> {
        let whole_s = budget.whole.as_secs_f64();
        let share = whole_s / budget.steps as f64;
        let drawn = scenario.drawn_sessions();
        let (think, busy) = (durations(drawn, 1.0, 0.0), durations(drawn, 0.0, response_s));
        let whole = |of: &[f64]| p99(of) + 2.0 * mean(of);
        let fits = ((share - whole(&busy)).max(0.1) / whole(&think).max(1e-9)).min(1.0);
        let scale = match fixed.scale {
            None => fits.max(LEAST_SCALE),
            Some(scale) if scale <= fits * 1.01 => scale,
            Some(scale) => {
                return Err(Error::Operator(format!(
                    "--time-scale {scale}: a session thinks for {:.0} s, and 1 of 100 for more than {:.0} s, too long for {} steps in {:.0} minutes; leave the flag out, or give at most {fits:.3}",
                    mean(&think) * scale,
                    p99(&think) * scale,
                    budget.steps,
                    whole_s / 60.0
                )));
            }
        };
        let sessions = durations(drawn, scale, response_s);
        let seconds = Duration::from_secs_f64;
        let shortest = budget.shortest;
        let warm_up = seconds(p99(&sessions)).max(fixed.step.unwrap_or(shortest) / 3);
        let two = seconds(2.0 * mean(&sessions));
        let longest = seconds(share).saturating_sub(warm_up).max(two);
        let grown = seconds(LIMITS * limit.ms / 1000.0).min(longest);
        let measure = fixed.step.unwrap_or_else(|| two.max(shortest).max(grown));
        let spread_s = half_difference(&sessions);
        Ok(Self { scale, warm_up, measure, longest: longest.max(measure), response_s, spread_s })
    }

    /// The measured window at a rate: longer where few sessions come, so that they are `fewest`,
    /// and that chance explains no more than [`CHANCE`] of the completions.
    pub(crate) fn window(&self, per_s: f64, fewest: f64) -> Duration {
        let steady = 3.0 / CHANCE * (2.0 * self.spread_s / per_s).sqrt();
        let longest = self.longest.as_secs_f64();
        self.measure.max(Duration::from_secs_f64((fewest / per_s).max(steady).min(longest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(steps: usize, think: &str, response_s: f64) -> (Times, Vec<f64>) {
        let pages = vec!["\"A\""; steps].join(", ");
        let text = format!(
            "[session]\nsteps = [{pages}]\nthink = \"{think}\"\n[pages]\nA = {{ path = \"/\" }}\n"
        );
        let scenario = Scenario::from_toml(&text, "shop.toml").unwrap();
        let budget =
            Budget { whole: Duration::from_secs(30), steps: 6, shortest: Duration::from_secs(1) };
        let limit = Limit { ms: 100.0, percentile: 95 };
        let times = Times::fit(&scenario, limit, budget, Fixed::default(), response_s).unwrap();
        let sessions = durations(scenario.drawn_sessions(), times.scale, response_s);
        (times, sessions)
    }

    #[test]
    fn the_warm_up_is_as_long_as_sessions_are_whatever_the_budget() {
        for (steps, think, response_s) in
            [(5, "1s", 0.001), (60, "7s", 0.001), (450, "7s", 0.001), (300, "7s", 0.1)]
        {
            let (times, sessions) = fit(steps, think, response_s);
            assert!(times.warm_up.as_secs_f64() >= p99(&sessions) - 1e-9, "{steps}: {times:?}");
            assert!(times.measure.as_secs_f64() >= 2.0 * mean(&sessions) - 1e-9, "{times:?}");
            assert!(times.longest >= times.measure, "{times:?}");
        }
    }

    #[test]
    fn sessions_that_fit_keep_to_the_budget() {
        let (times, _) = fit(60, "7s", 0.001);
        assert!(times.warm_up + times.measure <= Duration::from_secs_f64(5.01), "{times:?}");
    }
}
