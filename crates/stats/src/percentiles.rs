//! The usual percentiles of durations.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::censored::Quantile;

/// The usual percentiles of a [`Histogram`](crate::Histogram) or a
/// [`CensoredHistogram`](crate::CensoredHistogram) in milliseconds; all 0 if it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Number of durations recorded.
    pub count: u64,
    /// Number of waits for a response that did not come. They count as longer than all responses.
    /// Left out if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Number of durations that were going on when the observation ended. They count for as long
    /// as they had lasted. Left out if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Arithmetic mean, each lower bound taken for its duration.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile; 0 in results of versions without it.
    #[serde(default)]
    pub p99_9_ms: f64,
    /// Largest duration.
    pub max_ms: f64,
    /// Which of these figures are lower bounds: the true ones are at least as large. Left out if
    /// none is.
    #[serde(default, skip_serializing_if = "LowerBounds::is_none")]
    pub lower_bounds: LowerBounds,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Percentiles {
    /// The figures that are quantiles, with the quantile.
    pub(crate) fn quantiles_mut(&mut self) -> [(f64, &mut f64); 6] {
        [
            (0.5, &mut self.p50_ms),
            (0.9, &mut self.p90_ms),
            (0.95, &mut self.p95_ms),
            (0.99, &mut self.p99_ms),
            (0.999, &mut self.p99_9_ms),
            (1.0, &mut self.max_ms),
        ]
    }

    /// Each percentile, as a share below 1, with its value.
    pub fn usual(&self) -> [(f64, Quantile); 5] {
        [
            (0.5, self.p50()),
            (0.9, self.p90()),
            (0.95, self.p95()),
            (0.99, self.p99()),
            (0.999, self.p99_9()),
        ]
    }

    /// Mean.
    pub fn mean(&self) -> Quantile {
        self.figure(0, self.mean_ms)
    }

    /// Median.
    pub fn p50(&self) -> Quantile {
        self.figure(1, self.p50_ms)
    }

    /// 90th percentile.
    pub fn p90(&self) -> Quantile {
        self.figure(2, self.p90_ms)
    }

    /// 95th percentile.
    pub fn p95(&self) -> Quantile {
        self.figure(3, self.p95_ms)
    }

    /// 99th percentile.
    pub fn p99(&self) -> Quantile {
        self.figure(4, self.p99_ms)
    }

    /// 99.9th percentile.
    pub fn p99_9(&self) -> Quantile {
        self.figure(5, self.p99_9_ms)
    }

    /// Largest duration.
    pub fn max(&self) -> Quantile {
        self.figure(6, self.max_ms)
    }

    fn figure(&self, bit: u8, ms: f64) -> Quantile {
        Quantile { ms, is_lower_bound: self.lower_bounds.0 >> bit & 1 == 1 }
    }

    /// Whether nothing was recorded, not even a lower bound.
    pub fn is_empty(&self) -> bool {
        self.count + self.unanswered + self.open == 0
    }
}

/// A set of figures of [`Percentiles`], written as a list of their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LowerBounds(u8);

/// Names of the figures in ascending order; the mean is first, since one bound makes it a bound.
const NAMES: [&str; 7] = ["mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms"];

impl LowerBounds {
    /// Of the quantiles in the order of [`Percentiles::quantiles_mut`]; the mean is a bound as soon
    /// as the maximum is.
    pub(crate) fn of(quantiles: [bool; 6]) -> Self {
        let figures = [quantiles[5]].into_iter().chain(quantiles).enumerate();
        Self(figures.map(|(bit, is_bound)| u8::from(is_bound) << bit).sum())
    }

    /// The names of the figures.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let named = NAMES.into_iter().enumerate();
        named.filter(move |(bit, _)| self.0 >> bit & 1 == 1).map(|(_, name)| name)
    }

    fn is_none(&self) -> bool {
        self.0 == 0
    }
}

impl Serialize for LowerBounds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

impl<'de> Deserialize<'de> for LowerBounds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut bits = 0;
        for name in Vec::<String>::deserialize(deserializer)? {
            let bit = NAMES.iter().position(|known| *known == name);
            bits |= 1 << bit.ok_or_else(|| D::Error::custom(format!("{name:?} is no figure")))?;
        }
        Ok(Self(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_bounds_are_written_as_the_names_of_the_figures() {
        let bounds = LowerBounds::of([false, false, false, true, true, true]);
        let percentiles = Percentiles { unanswered: 3, lower_bounds: bounds, ..Default::default() };
        let json = serde_json::to_value(percentiles).unwrap();
        let names = ["mean_ms", "p99_ms", "p99_9_ms", "max_ms"];
        assert_eq!(json["lower_bounds"], serde_json::json!(names));
        assert_eq!(serde_json::from_value::<Percentiles>(json).unwrap(), percentiles);
        assert!(percentiles.p99().is_lower_bound && !percentiles.p95().is_lower_bound);
    }

    #[test]
    fn nothing_is_written_where_all_durations_are_known() {
        let json = serde_json::to_value(Percentiles::default()).unwrap();
        assert!(json.get("unanswered").is_none() && json.get("lower_bounds").is_none());
        assert!(serde_json::from_str::<LowerBounds>(r#"["p42_ms"]"#).is_err());
    }
}
