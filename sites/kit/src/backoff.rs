//! Exponential back-off with jitter.

use std::time::Duration;

/// Pauses between attempts: each twice as long as the one before, up to a longest one, and
/// half of each by chance, so that those who failed together do not come back together.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The first pause.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Backoff {
    /// The pause after this many failed attempts (1 or more): between half and all of
    /// `min(first × 2^(failed − 1), longest)`.
    pub fn pause(&self, failed: u32) -> Duration {
        let doublings = failed.saturating_sub(1).min(31);
        let whole = self.first.saturating_mul(1 << doublings).min(self.longest);
        whole.mul_f64(rand::random_range(0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_half_of_each_is_chance() {
        let backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(60) };
        for (failed, whole) in
            [(1, 2.0), (2, 4.0), (3, 8.0), (5, 32.0), (6, 60.0), (u32::MAX, 60.0)]
        {
            for _ in 0..100 {
                let pause = backoff.pause(failed).as_secs_f64();
                assert!((whole / 2.0..=whole).contains(&pause), "{failed}: {pause}");
            }
        }
        let several: std::collections::HashSet<_> = (0..20).map(|_| backoff.pause(1)).collect();
        assert!(several.len() > 10, "pauses differ");
    }
}
