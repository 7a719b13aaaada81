//! How large a population is.

use std::fmt;

use crate::catalogue::DEPARTMENTS;
use crate::options::{Options, Size};
use tidegate_sitekit::population;

/// Size and seed of a population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its size.
    pub size: Size,
    /// Seed of the random streams.
    pub seed: u64,
}

impl Plan {
    /// Products; their ids count from 1.
    pub fn products(self) -> i64 {
        match self.size {
            Size::Small => 500,
            Size::Medium => 5_000,
            Size::Large => 50_000,
        }
    }

    /// Sets; their ids count from 1, and the departments take turns.
    pub fn sets(self) -> i64 {
        let of_department = match self.size {
            Size::Small => 4,
            Size::Medium => 16,
            Size::Large => 80,
        };
        of_department * departments()
    }

    /// Customers; their ids count from 1.
    pub fn customers(self) -> i64 {
        match self.size {
            Size::Small => 1_000,
            Size::Medium => 5_000,
            Size::Large => 20_000,
        }
    }

    /// The department of a set, and its number there, from 0.
    pub fn place(self, set: i64) -> (i64, usize) {
        let number = usize::try_from((set - 1) / departments()).expect("sets count from 1");
        ((set - 1) % departments() + 1, number)
    }
}

fn departments() -> i64 {
    i64::try_from(DEPARTMENTS.len()).expect("a few")
}

impl population::Plan for Plan {
    type Size = Size;
    const SIZE: &'static str = "size";
    const DEFAULT: Self = Self { size: Options::SIZE, seed: Options::SEED };

    fn new(size: Size, seed: u64) -> Self {
        Self { size, seed }
    }

    fn parts(&self) -> (Size, u64) {
        (self.size, self.seed)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "size {}, seed {}", self.size, self.seed)
    }
}
