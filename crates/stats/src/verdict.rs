//! Whether a figure keeps to a limit, as far as a run can tell.

use serde::{Deserialize, Serialize};

/// What a run shows of a claim, a goal or an expectation. A run that is too noisy to tell a
/// figure from its limit shows neither that it holds nor that it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The whole interval of the figure keeps to the limit.
    #[serde(rename = "holds")]
    Holds,
    /// The whole interval is beyond the limit.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// The interval contains the limit, or the data are missing.
    #[serde(rename = "undecided")]
    Undecided,
}

impl Verdict {
    /// Of a figure that is to be at most `limit`, by its interval.
    pub fn at_most(limit: f64, (low, high): (f64, f64)) -> Self {
        if high <= limit {
            Self::Holds
        } else if low > limit {
            Self::DoesNotHold
        } else {
            Self::Undecided
        }
    }

    /// Of a figure that is to be at least `limit`, by its interval.
    pub fn at_least(limit: f64, (low, high): (f64, f64)) -> Self {
        Self::at_most(-limit, (-high, -low))
    }

    /// Of a figure with either limit, or both, by its interval.
    pub fn within(least: Option<f64>, most: Option<f64>, interval: (f64, f64)) -> Self {
        let least = least.map(|limit| Self::at_least(limit, interval));
        let most = most.map(|limit| Self::at_most(limit, interval));
        Self::of_all(least.into_iter().chain(most))
    }

    /// Of several that are claimed together: one that does not hold decides, then one that is
    /// undecided. Nothing holds.
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().fold(Self::Holds, |all, one| match (all, one) {
            (Self::DoesNotHold, _) | (_, Self::DoesNotHold) => Self::DoesNotHold,
            (Self::Undecided, _) | (_, Self::Undecided) => Self::Undecided,
            (Self::Holds, Self::Holds) => Self::Holds,
        })
    }

    /// Of something that is counted and has no interval.
    pub fn exactly(met: bool) -> Self {
        if met { Self::Holds } else { Self::DoesNotHold }
    }

    /// Its words, as in results: `holds`, `does not hold`, `undecided`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Undecided => "undecided",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interval_beyond_the_limit_fails() {
        use Verdict::{DoesNotHold, Holds, Undecided};
        for (interval, most, least) in [
            ((1.0, 3.0), Holds, DoesNotHold),
            ((1.0, 3.2), Undecided, Undecided),
            ((3.2, 4.0), DoesNotHold, Holds),
        ] {
            assert_eq!(Verdict::at_most(3.0, interval), most, "{interval:?}");
            let limit = if interval == (1.0, 3.0) { 3.1 } else { 3.0 };
            assert_eq!(Verdict::at_least(limit, interval), least, "{interval:?}");
        }
        assert_eq!(Verdict::at_least(3.0, (3.0, 3.0)), Holds);
        assert_eq!(Verdict::exactly(false), DoesNotHold);
        for (interval, expected) in
            [((1.2, 1.8), Holds), ((0.9, 1.8), Undecided), ((2.1, 2.2), DoesNotHold)]
        {
            assert_eq!(Verdict::within(Some(1.0), Some(2.0), interval), expected);
        }
        assert_eq!(Verdict::of_all([Holds, Undecided, DoesNotHold]), DoesNotHold);
        assert_eq!(Verdict::of_all([Undecided, Holds]), Undecided);
        for verdict in [Holds, DoesNotHold, Undecided] {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.words());
        }
    }
}
