//! A figure that is not known exactly.

use serde::{Deserialize, Serialize};

/// A figure with the range in which it is expected: a middle value, and bounds that it hardly
/// exceeds. Between them its distribution is taken to be triangular.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The most likely value.
    pub value: f64,
    /// Lower bound, at most `value`.
    pub low: f64,
    /// Upper bound, at least `value`.
    pub high: f64,
}

impl Range {
    /// A figure that is known.
    pub fn exactly(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// A figure between two bounds, with the middle between them as its value.
    pub fn between(low: f64, high: f64) -> Self {
        Self { value: f64::midpoint(low, high), low, high }
    }

    /// Whether it is known exactly.
    pub fn is_exact(&self) -> bool {
        self.low >= self.high
    }

    /// The quantile of a probability, 0 to 1, of the triangular distribution.
    ///
    /// Below the middle value it is `low + √(p · (high − low) · (value − low))`, above
    /// `high − √((1 − p) · (high − low) · (high − value))`.
    pub fn quantile(&self, p: f64) -> f64 {
        let width = self.high - self.low;
        if width <= 0.0 {
            return self.value;
        }
        if p * width < self.value - self.low {
            self.low + (p * width * (self.value - self.low)).sqrt()
        } else {
            self.high - ((1.0 - p) * width * (self.high - self.value)).sqrt()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        // Of the triangle over 0 to 10 with its top at 2 a fifth is below 2.
        let range = Range { value: 2.0, low: 0.0, high: 10.0 };
        assert_eq!(
            (range.quantile(0.0), range.quantile(0.2), range.quantile(1.0)),
            (0.0, 2.0, 10.0)
        );
        // P(X > 6) = (10 − 6)² / (10 · 8) = 0.2.
        assert!((range.quantile(0.8) - 6.0).abs() < 1e-12);
        assert_eq!(Range::exactly(3.0).quantile(0.9), 3.0);
        assert_eq!(Range::between(1.0, 3.0).quantile(0.5), 2.0);
    }
}
