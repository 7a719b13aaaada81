//! The seeds of the arrivals.

/// Multiplier of the seed of a test, so that arrivals draw from streams of their own. Any odd
/// number serves: over all seeds the arrivals are those of their process. This one was searched
/// so that the streams of the first five seeds are typical from their beginning on.
const ARRIVALS: u64 = 0x5EE5_3E57_681C_099D;

/// The seed of an entry of the arrivals, by its index; no session has the same.
pub(crate) fn seed_of_entry(seed: u64, index: usize) -> u64 {
    (seed ^ (index as u64) << 32).wrapping_mul(ARRIVALS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::arrivals::{Process, Rate, Schedule};

    fn counts(seed: u64, index: usize, per_s: f64, seconds: u64) -> f64 {
        let schedule = Schedule::Rate(Process::Poisson, Rate::constant(per_s));
        let end = Duration::from_secs(seconds);
        let stream = schedule.stream(0, 1, seed_of_entry(seed, index));
        stream.take_while(|at| *at < end).count() as f64
    }

    #[test]
    fn the_first_seconds_of_the_first_seeds_are_typical() {
        for (seed, index) in [(1, 0), (1, 1), (1, 2), (2, 0), (3, 0), (4, 0), (5, 0)] {
            for (per_s, seconds) in
                [(5.0, 8), (20.0, 1), (20.0, 2), (20.0, 5), (20.0, 30), (200.0, 2), (200.0, 30)]
            {
                let expected = per_s * seconds as f64;
                let deviations = (counts(seed, index, per_s, seconds) - expected) / expected.sqrt();
                let most = if seed == 1 && index == 0 { 1.0 } else { 1.8 };
                assert!(deviations.abs() < most, "{seed}, {index}: {deviations} at {per_s}/s");
            }
        }
    }

    #[test]
    fn over_all_seeds_the_first_seconds_are_those_of_a_poisson_process() {
        // 40 arrivals in two seconds, with a variance of 40; over 2000 seeds the mean is off by
        // √(40/2000) = 0.14, the variance by 40·√(2/2000) = 1.3. Four times that is allowed.
        let counts: Vec<f64> = (0..2000).map(|seed| counts(seed, 0, 20.0, 2)).collect();
        let mean = counts.iter().sum::<f64>() / 2000.0;
        let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 2000.0;
        assert!((mean - 40.0).abs() < 0.57 && (variance - 40.0).abs() < 5.1, "{mean} {variance}");
    }
}
