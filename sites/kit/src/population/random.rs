//! Random numbers that are the same on every machine and in every version.
//!
//! Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number
//! Generators" (SplitMix64). Everybody and everything that a population has gets a
//! stream of its own, so that what is drawn for one does not depend on the order of
//! the others.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of one of a kind; a site numbers its kinds.
    pub fn of(seed: u64, kind: impl Into<u64>, id: i64) -> Self {
        let mut mixer = Self(seed);
        let seeded = mixer.bits() ^ kind.into().wrapping_mul(0xA24B_AED4_963E_E407);
        Self(Self(seeded).bits() ^ id.cast_unsigned().wrapping_mul(0x9FB2_1C65_1E98_DF25))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform over `least..=most`.
    ///
    /// # Panics
    /// `most` is below `least`.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        assert!(least <= most, "{least} to {most} is no range");
        let span = u128::from(most.abs_diff(least)) + 1;
        let offset = (u128::from(self.bits()) * span) >> 64;
        least + i64::try_from(offset).expect("below the span")
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.between(0, from.len() as i64 - 1)).expect("not negative")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut random = Random(1_234_567);
        let first = [random.bits(), random.bits()];
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn draws_reach_both_ends_of_a_range_and_never_leave_it() {
        let mut random = Random::of(7, 2_u64, 1);
        let drawn: Vec<i64> = (0..1000).map(|_| random.between(-2, 3)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-2), Some(&3)));
    }

    #[test]
    fn streams_of_neighbours_differ() {
        let first = [1, 2, 3].map(|id| Random::of(1, 1_u64, id).bits());
        assert!(first[0] != first[1] && first[1] != first[2]);
        assert_ne!(Random::of(1, 2_u64, 1).bits(), first[0]);
        assert_ne!(Random::of(2, 1_u64, 1).bits(), first[0]);
    }
}
