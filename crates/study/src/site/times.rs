//! The times of steps: they follow from the length of sessions.

use std::time::Duration;

use tidegate_lab::{Error, Result};
use tidegate_load::Scenario;

use super::completions::{durations, half_difference, mean, p99};
use super::step::Limit;

/// Least factor on think times.
const LEAST_SCALE: f64 = 0.002;

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
        let longest = whole_s / budget.steps as f64;
        let drawn = scenario.drawn_sessions();
        let (think, busy) = (durations(drawn, 1.0, 0.0), durations(drawn, 0.0, response_s));
        let whole = |of: &[f64]| p99(of) + 2.0 * mean(of);
        let fits = ((longest - whole(&busy)).max(0.1) / whole(&think).max(1e-9)).min(1.0);
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
        let seconds = |seconds: f64| Duration::from_secs_f64(seconds.min(longest / 2.0));
        let shortest = budget.shortest;
        let warm_up = seconds(p99(&sessions)).max(fixed.step.unwrap_or(shortest) / 3);
        let longest = Duration::from_secs_f64(longest).saturating_sub(warm_up);
        let grown = Duration::from_secs_f64(LIMITS * limit.ms / 1000.0).min(longest);
        let two = seconds(2.0 * mean(&sessions));
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
