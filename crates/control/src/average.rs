//! An average that forgets by amount of evidence, not by time.

use serde::{Deserialize, Serialize};

/// Sum over weight, of about the last `window` units of weight. An idle hour
/// changes nothing; a busy second replaces what was known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Average {
    sum: f64,
    weight: f64,
    window: f64,
}

const OUTLIER: f64 = 8.0;

impl Average {
    /// Starts from a prior, believed as if it had been seen `weight` times.
    pub fn new(prior: f64, weight: f64, window: f64) -> Self {
        Self { sum: prior * weight, weight, window }
    }

    /// Adds a measurement of `weight` units that may be an outlier: what is
    /// more than eight times the known average counts as eight times it. So an
    /// outlier moves the average a little, and a lasting change still gets
    /// through within a few additions.
    pub fn add_measured(&mut self, amount: f64, weight: f64) {
        self.add_near(self.value(), amount, weight);
    }

    /// The same where `known` is the known average: this one may have no evidence yet.
    pub(crate) fn add_near(&mut self, known: f64, amount: f64, weight: f64) {
        self.add(amount.min(known * weight * OUTLIER), weight);
    }

    /// The evidence, in units of weight.
    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    /// Adds an amount that `weight` units took together. An amount of no
    /// weight counts to units seen before: requests come after the connection
    /// that brings them.
    pub fn add(&mut self, amount: f64, weight: f64) {
        if !amount.is_finite() || amount < 0.0 || !weight.is_finite() || weight < 0.0 {
            return;
        }
        self.sum += amount;
        self.weight += weight;
        if self.weight > self.window {
            self.sum *= self.window / self.weight;
            self.weight = self.window;
        }
        // Never all the way to zero, from where no factor leads back.
        self.sum = self.sum.max(f64::MIN_POSITIVE.sqrt() * self.weight);
    }

    /// Forgets a share of the evidence, down to a weight of 50 at least.
    pub fn fade(&mut self, keep: f64) {
        if self.weight > 50.0 {
            let keep = keep.max(50.0 / self.weight);
            (self.sum, self.weight) = (self.sum * keep, self.weight * keep);
        }
    }

    /// The average, in which this prior stands for the evidence that is missing up to
    /// this weight.
    pub fn value_or(&self, prior: f64, weight: f64) -> f64 {
        let missing = (weight - self.weight).max(0.0);
        (self.sum + prior * missing) / (self.weight + missing)
    }

    /// The average; above zero.
    pub fn value(&self) -> f64 {
        self.sum / self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_counts_as_so_much_evidence() {
        // (4 × 10 + 40) / (4 + 1)
        let mut average = Average::new(10.0, 4.0, 100.0);
        average.add(40.0, 1.0);
        assert_eq!(average.value(), 16.0);
    }

    #[test]
    fn a_prior_stands_for_missing_evidence_only() {
        // (6 + 10 × 1) / 4, then (8 + 0) / 4.
        let mut average = Average::new(2.0, 3.0, 100.0);
        assert_eq!(average.value_or(10.0, 4.0), 4.0);
        average.add(2.0, 1.0);
        assert_eq!(average.value_or(10.0, 4.0), 2.0);
    }

    #[test]
    fn beyond_the_window_the_oldest_is_forgotten_in_proportion() {
        // 100 of 1.0 and 100 of 3.0: mean 2.0, of weight 100; then 100 of 3.0.
        let mut average = Average::new(1.0, 100.0, 100.0);
        average.add(300.0, 100.0);
        assert_eq!(average.value(), 2.0);
        average.add(300.0, 100.0);
        assert_eq!(average.value(), 2.5);
    }

    #[test]
    fn an_outlier_counts_as_eight_times_what_is_known() {
        let mut average = Average::new(1.0, 1.0, 100.0);
        average.add_measured(1e9, 1.0);
        assert_eq!(average.value(), 4.5);
    }
}
