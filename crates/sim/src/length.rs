//! How many requests a session has.

use super::distribution::Distribution;
use super::random::Random;

/// A distribution of session lengths, in requests: at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionLength {
    mean: f64,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// Cumulative shares of the lengths 1, 2, … but the longest.
    PowerLaw(Vec<f64>),
    /// Of the requests after the first.
    Later(Distribution),
}

impl SessionLength {
    /// A power law whose exponent gives the requested mean, heavy-tailed up to
    /// the longest; where that equals the mean, all sessions are equal.
    pub fn power_law(mean: f64, max: f64) -> Self {
        let max = max.max(1.0) as u32;
        let mean = mean.clamp(1.0, f64::from(max));
        // Relative to the longest, so that no exponent in the bracket overflows.
        let weight = |k: u32, exponent: f64| (f64::from(k) / f64::from(max)).powf(-exponent);
        let mean_at = |exponent: f64| {
            let weights = (1..=max).map(|k| (f64::from(k), weight(k, exponent)));
            let (sum, total) = weights.fold((0.0, 0.0), |(s, t), (k, w)| (s + k * w, t + w));
            sum / total
        };
        let (mut low, mut high) = (-500.0, 60.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if mean_at(middle) > mean { low = middle } else { high = middle }
        }
        let weights: Vec<f64> = (1..=max).map(|k| weight(k, high)).collect();
        let total: f64 = weights.iter().sum();
        let shares = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight / total;
            Some(*sum)
        });
        let mut shares: Vec<f64> = shares.collect();
        // Rounding must not leave a draw of 1 without a length.
        shares.pop();
        Self { mean, kind: Kind::PowerLaw(shares) }
    }

    /// One request, and after it as many as a distribution says. What is no
    /// whole number is rounded up or down at random, so that the mean stays.
    pub fn one_and(later: Distribution) -> Self {
        Self { mean: 1.0 + later.mean(), kind: Kind::Later(later) }
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The mean of `1 + p + p² + …`, a term for each request: those until the first
    /// that something happens before, which happens before each but the first with
    /// the probability `1 − p`.
    pub(crate) fn discounted(&self, p: f64) -> f64 {
        // The share of sessions that have a request with so many before it.
        let has_more: Box<dyn Fn(usize) -> f64> = match &self.kind {
            Kind::PowerLaw(shares) => {
                Box::new(|before| shares.get(before - 1).map_or(0.0, |share| 1.0 - share))
            }
            // Exact for whole numbers, which are never between two.
            Kind::Later(later) => Box::new(|before| later.above(before as f64 - 0.5)),
        };
        let (mut sum, mut stays) = (1.0, 1.0);
        for before in 1..100_000 {
            stays *= p;
            let term = stays * has_more(before);
            sum += term;
            if term < 1e-12 {
                break;
            }
        }
        sum
    }

    /// Draws the length of a session.
    pub fn draw(&self, random: &mut Random) -> u32 {
        match &self.kind {
            Kind::PowerLaw(shares) => {
                let draw = random.uniform();
                shares.partition_point(|share| *share < draw) as u32 + 1
            }
            Kind::Later(later) => {
                let later = later.draw(random);
                (later + 1.0 - random.uniform()) as u32 + 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(length: &SessionLength) -> f64 {
        let mut random = Random::new(5);
        let draws = (0..400_000).map(|_| f64::from(length.draw(&mut random)));
        draws.sum::<f64>() / 400_000.0
    }

    #[test]
    fn a_power_law_has_the_requested_mean() {
        for (mean, max) in [(12.0, 60.0), (12.0, 12.0), (3.0, 40.0), (1.0, 1.0)] {
            let length = SessionLength::power_law(mean, max);
            let Kind::PowerLaw(shares) = &length.kind else { panic!() };
            let expected = 1.0 + shares.iter().map(|share| 1.0 - share).sum::<f64>();
            assert!((expected - mean).abs() < 1e-6, "{mean}: {expected}");
            assert!((mean_of(&length) / mean - 1.0).abs() < 0.01, "{mean}");
        }
    }

    #[test]
    fn requests_until_something_happens_worked_out_by_hand() {
        // 1 + ½ + ¼.
        assert!((SessionLength::power_law(3.0, 3.0).discounted(0.5) - 1.75).abs() < 1e-9);
        let later = Distribution::empirical(&[(0.0, 1.0), (2.0, 1.0)]).unwrap();
        // Half have 1 request, half 3.
        assert!((SessionLength::one_and(later).discounted(0.5) - 1.375).abs() < 1e-9);
        let even = SessionLength::power_law(12.0, 60.0);
        assert!((even.discounted(1.0) - 12.0).abs() < 1e-6);
    }

    #[test]
    fn rounding_leaves_the_mean_alone() {
        for later in [
            Distribution::constant(1.5),
            Distribution::lognormal(3.2, 2.0),
            Distribution::pareto(0.4, 1.2, 500.0),
        ] {
            let length = SessionLength::one_and(later);
            let drawn = mean_of(&length);
            assert!((drawn / length.mean() - 1.0).abs() < 0.01, "{drawn}: {length:?}");
        }
    }

    #[test]
    fn measured_lengths_come_as_they_are() {
        let later = Distribution::empirical(&[(0.0, 1.0), (6.0, 2.0), (99.0, 1.0)]).unwrap();
        let length = SessionLength::one_and(later);
        assert!((length.mean() - (1.0 + 14.0 + 100.0) / 4.0).abs() < 1e-9);
        let mut random = Random::new(9);
        let mut drawn: Vec<u32> = (0..1000).map(|_| length.draw(&mut random)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [1, 7, 100]);
    }
}
