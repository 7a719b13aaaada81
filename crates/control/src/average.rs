//! An average that forgets by amount of evidence, not by time.

use serde::{Deserialize, Serialize};

use crate::experience::Evidence;

/// Sum over weight, of about the last `window` units of weight. An idle hour
/// changes nothing; a busy second replaces what was known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Average {
    sum: f64,
    weight: f64,
    window: f64,
    /// The part of sum and weight that was not measured here: a prior, or what other gates know.
    #[serde(default)]
    assumed: (f64, f64),
}

const OUTLIER: f64 = 8.0;
/// Part of the window up to which evidence of others stands for what is missing here.
const OF_OTHERS: f64 = 0.1;

impl Average {
    /// Starts from a prior, believed as if it had been seen `weight` times.
    pub fn new(prior: f64, weight: f64, window: f64) -> Self {
        let sum = prior * weight;
        Self { sum, weight, window, assumed: (sum, weight) }
    }

    /// What was measured here; `None`: nothing was.
    pub(crate) fn evidence(&self) -> Option<Evidence> {
        let (sum, weight) = (self.sum - self.assumed.0, self.weight - self.assumed.1);
        // Differences of sums that are nearly the same show nothing.
        let is_some = weight > 1e-6 * self.weight && sum >= 0.0;
        is_some.then(|| Evidence { value: sum / weight, weight })
    }

    /// Takes what others know in place of what was assumed, for what is missing here to a tenth of
    /// the window. To take the same again changes nothing.
    pub(crate) fn assume(&mut self, known: Evidence) {
        let measured = self.weight - self.assumed.1;
        let enough = self.window * OF_OTHERS;
        if measured >= enough || known.weight < self.assumed.1 {
            return;
        }
        let weight = known.weight.min(enough - measured);
        let least = f64::MIN_POSITIVE.sqrt() * weight;
        let assumed = ((known.value * weight).max(least), weight);
        self.sum = (self.sum - self.assumed.0).max(0.0) + assumed.0;
        self.weight = measured + weight;
        self.assumed = assumed;
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
            let keep = self.window / self.weight;
            self.sum *= keep;
            self.weight = self.window;
            self.assumed = (self.assumed.0 * keep, self.assumed.1 * keep);
        }
        // Never all the way to zero, from where no factor leads back.
        self.sum = self.sum.max(f64::MIN_POSITIVE.sqrt() * self.weight);
    }

    /// Forgets a share of the evidence, down to a weight of 50 at least.
    pub fn fade(&mut self, keep: f64) {
        if self.weight > 50.0 {
            let keep = keep.max(50.0 / self.weight);
            (self.sum, self.weight) = (self.sum * keep, self.weight * keep);
            self.assumed = (self.assumed.0 * keep, self.assumed.1 * keep);
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
    fn what_others_know_stands_for_what_is_missing_and_is_not_told_as_evidence() {
        // A prior of 4 × 10; 20 of 200 that count are missing.
        let mut average = Average::new(10.0, 4.0, 200.0);
        assert_eq!(average.evidence(), None);
        let known = Evidence { value: 2.0, weight: 1000.0 };
        average.assume(known);
        assert_eq!((average.value(), average.weight(), average.evidence()), (2.0, 20.0, None));
        // 5 of 4.0 were measured: (15 × 2 + 20) / 20, however often it is sent.
        average.add(20.0, 5.0);
        (0..3).for_each(|_| average.assume(known));
        assert_eq!((average.value(), average.weight()), (2.5, 20.0));
        assert_eq!(average.evidence(), Some(Evidence { value: 4.0, weight: 5.0 }));
        // From 20 on, what was measured here is not touched.
        average.add(60.0, 15.0);
        let before = average.value();
        average.assume(Evidence { value: 9.0, weight: 1000.0 });
        assert_eq!(average.value(), before);
    }

    #[test]
    fn less_evidence_than_was_assumed_changes_nothing() {
        let mut average = Average::new(10.0, 4.0, 200.0);
        average.assume(Evidence { value: 1.0, weight: 3.0 });
        assert_eq!(average.value(), 10.0);
        average.assume(Evidence { value: 0.0, weight: 5.0 });
        assert!(average.value() > 0.0 && average.value() < 1e-9);
    }

    #[test]
    fn an_outlier_counts_as_eight_times_what_is_known() {
        let mut average = Average::new(1.0, 1.0, 100.0);
        average.add_measured(1e9, 1.0);
        assert_eq!(average.value(), 4.5);
    }
}
