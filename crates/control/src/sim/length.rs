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
    /// A power law whose exponent gives the mean asked for, heavy-tailed up to
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
    fn a_power_law_has_the_mean_asked_for() {
        for (mean, max) in [(12.0, 60.0), (12.0, 12.0), (3.0, 40.0), (1.0, 1.0)] {
            let length = SessionLength::power_law(mean, max);
            let Kind::PowerLaw(shares) = &length.kind else { panic!() };
            let expected = 1.0 + shares.iter().map(|share| 1.0 - share).sum::<f64>();
            assert!((expected - mean).abs() < 1e-6, "{mean}: {expected}");
            assert!((mean_of(&length) / mean - 1.0).abs() < 0.01, "{mean}");
        }
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
