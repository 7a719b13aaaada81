//! How large a population is, and how many rows of each kind it has.

use crate::catalogue::CATEGORIES;
use crate::options::Options;
use tidegate_sitekit::population;

/// Size and seed of a population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// 1.0 is the size of the benchmark.
    pub scale: f64,
    /// Seed of the random streams: the same seed gives the same people and items.
    pub seed: u64,
}

impl Plan {
    /// People: a million at scale 1; at least ten.
    pub fn users(&self) -> i64 {
        self.scaled(1_000_000.0).max(10)
    }

    /// Items whose auctions have ended: 500,000 at scale 1.
    pub fn old_items(&self) -> i64 {
        self.scaled(500_000.0)
    }

    /// Active items by category: 32,667 in all at scale 1, at least one each.
    pub fn active_items(&self) -> Vec<i64> {
        CATEGORIES
            .iter()
            .map(|category| self.scaled(f64::from(category.active_items)).max(1))
            .collect()
    }

    #[expect(clippy::cast_possible_truncation, reason = "the scale is at most 10")]
    fn scaled(&self, at_one: f64) -> i64 {
        (at_one * self.scale).round() as i64
    }
}

impl population::Plan for Plan {
    type Size = f64;
    const SIZE: &'static str = "scale";
    const DEFAULT: Self = Self { scale: Options::SCALE, seed: Options::SEED };

    fn new(scale: f64, seed: u64) -> Self {
        Self { scale, seed }
    }

    fn parts(&self) -> (f64, u64) {
        (self.scale, self.seed)
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "scale {}, seed {}", self.scale, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_one_is_the_benchmark_and_a_tiny_one_has_something_of_everything() {
        let one = Plan { scale: 1.0, seed: 1 };
        assert_eq!((one.users(), one.old_items()), (1_000_000, 500_000));
        assert_eq!(one.active_items().iter().sum::<i64>(), 32_667);
        let tiny = Plan { scale: 0.0005, seed: 1 };
        assert_eq!((tiny.users(), tiny.old_items()), (500, 250));
        assert!(tiny.active_items().iter().all(|&items| items >= 1));
    }
}
