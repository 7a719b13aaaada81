//! Whether a figure keeps to a limit, as far as a run can tell.

use serde::Serialize;

/// The outcome of a goal. A run that is too noisy to tell a figure from its limit shows
/// neither that the goal is met nor that it is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval of the figure keeps to the limit.
    Met,
    /// The interval contains the limit.
    Close,
    /// The whole interval is beyond the limit.
    Missed,
}

impl Verdict {
    /// Of a figure that is to be at most `limit`, by its interval.
    pub fn at_most(limit: f64, (low, high): (f64, f64)) -> Self {
        if high <= limit {
            Self::Met
        } else if low > limit {
            Self::Missed
        } else {
            Self::Close
        }
    }

    /// Of a figure that is to be at least `limit`, by its interval.
    pub fn at_least(limit: f64, (low, high): (f64, f64)) -> Self {
        Self::at_most(-limit, (-high, -low))
    }

    /// Of something that is counted and has no interval.
    pub fn exactly(met: bool) -> Self {
        if met { Self::Met } else { Self::Missed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interval_beyond_the_limit_misses_it() {
        for (interval, most, least) in [
            ((1.0, 3.0), Verdict::Met, Verdict::Missed),
            ((1.0, 3.2), Verdict::Close, Verdict::Close),
            ((3.2, 4.0), Verdict::Missed, Verdict::Met),
        ] {
            assert_eq!(Verdict::at_most(3.0, interval), most, "{interval:?}");
            let limit = if interval == (1.0, 3.0) { 3.1 } else { 3.0 };
            assert_eq!(Verdict::at_least(limit, interval), least, "{interval:?}");
        }
        // A figure that was not measured proves nothing, and is no error of the run.
        assert_eq!(Verdict::at_least(3.0, (3.0, 3.0)), Verdict::Met);
        assert_eq!(Verdict::exactly(false), Verdict::Missed);
    }
}
