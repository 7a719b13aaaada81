//! Random numbers that are the same everywhere, for ever: a seed replays a run.

use std::convert::Infallible;

use rand::TryRng;

/// A small generator, good enough to simulate with.
///
/// Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number
/// Generators" (SplitMix64).
#[derive(Clone, Debug, PartialEq)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers follow from the seed alone.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own, whose numbers have nothing to do with those that this
    /// one goes on to give.
    ///
    /// Source: Steele, Lea and Flood 2014, the operation `split`.
    /// Deviation: all step by the same increment. Where they begin is a mixed number,
    /// so that two which give `n` numbers have any in common with a chance of
    /// `2n ∕ 2⁶⁴` only; seeds that are counted up would be whole steps apart.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self(self.next())
    }

    /// Uniform in (0, 1]: never 0, so that its logarithm is finite.
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// What a crate's distributions draw from.
impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.next() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_s_numbers_come_out() {
        // Of seed 1234567, from the authors' reference implementation.
        let mut random = Random::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.try_next_u64().unwrap()).collect();
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn what_is_split_off_is_no_part_of_the_sequence_that_it_comes_from_or_of_another() {
        let mut whole = Random::new(1);
        let mut parts: Vec<Random> = (0..100).map(|_| whole.split()).collect();
        let mut all: Vec<u64> = (0..100).map(|_| whole.next()).collect();
        for part in &mut parts {
            all.extend((0..100).map(|_| part.next()));
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100 + 100 * 100);
    }

    #[test]
    fn numbers_that_come_first_in_split_sequences_are_uniform_and_independent() {
        // The first two numbers of each, in a table of 8 × 8: χ² of 63 degrees of
        // freedom has the mean 63 and is above 103 once in a thousand times.
        let (mut whole, mut counts) = (Random::new(1), [0.0_f64; 64]);
        let place = |random: &mut Random| (random.next() >> 61) as usize;
        for _ in 0..64_000 {
            let mut part = whole.split();
            counts[place(&mut part) * 8 + place(&mut part)] += 1.0;
        }
        let chi_squared: f64 = counts.iter().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_squared < 103.0, "{chi_squared}");
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let run = |seed| Random::new(seed).uniform();
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }
}
