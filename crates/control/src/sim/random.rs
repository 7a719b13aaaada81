//! Random numbers that are the same everywhere, for ever: a seed replays a run.

/// A small generator, good enough to simulate with.
///
/// Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number
/// Generators" (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers follow from the seed alone.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in (0, 1]: never 0, so that its logarithm is finite.
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// Gamma with the given mean and squared coefficient of variation, for
    /// service times: 0 is a constant, 1 the exponential; above 1, a mixture
    /// of two exponentials with balanced means.
    pub fn service(&mut self, mean: f64, scv: f64) -> f64 {
        if scv <= 0.0 {
            mean
        } else if scv < 1.0 {
            let stages = (1.0 / scv).round().max(1.0);
            (0..stages as u32).map(|_| self.exponential(mean / stages)).sum()
        } else {
            let p = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
            let share = if self.uniform() <= p { p } else { 1.0 - p };
            self.exponential(mean / (2.0 * share))
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_times_have_the_mean_and_spread_asked_for() {
        for scv in [0.0, 0.25, 1.0, 4.0] {
            let mut random = Random::new(7);
            let n = 200_000;
            let samples: Vec<f64> = (0..n).map(|_| random.service(2.0, scv)).collect();
            let mean = samples.iter().sum::<f64>() / n as f64;
            let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
            assert!((mean - 2.0).abs() < 0.05, "{scv}: mean {mean}");
            assert!((variance / 4.0 - scv).abs() < 0.1 + scv * 0.05, "{scv}: {variance}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let run = |seed| Random::new(seed).uniform();
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }
}
