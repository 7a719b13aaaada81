//! Feeders: files with a row of values for each session, such as names and passwords. A file
//! is read once and shared by all threads.

pub mod read;
pub mod rows;

use rand::{RngExt, SeedableRng};

use crate::rng::Rng;
use crate::word::words;
use rows::Rows;

/// Multiplier of a session's seed for the rows of a feeder, so that they do not depend on
/// its other choices.
const ROWS: u64 = 0xA24B_AED4_963E_E407;

/// A file of values for the parameters of a scenario.
#[derive(Debug)]
pub struct Feeder {
    /// The file as it was found.
    pub file: String,
    /// Which row a session gets.
    pub pick: Pick,
    /// The values.
    pub rows: Rows,
    /// The parameter of each column, by its index in the scenario; `None` for a column that
    /// no text can name.
    pub(crate) parameters: Vec<Option<u16>>,
}

/// Which row a session gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// That of the session's number in the whole test; the first follows the last.
    #[default]
    InTurn,
    /// Any, by the session's seed.
    Random,
    /// That of the session's number in the whole test; none after the last.
    Once,
}

words!(Pick: "in-turn" => InTurn, "random" => Random, "once" => Once);

impl Feeder {
    /// The row of a session, by its number in the whole test and its seed; `None` if all rows
    /// are used up.
    pub(crate) fn row(&self, session: u64, seed: u64) -> Option<u32> {
        let count = self.rows.len() as u64;
        let row = match self.pick {
            Pick::InTurn => session % count,
            Pick::Random => Rng::seed_from_u64(seed.wrapping_mul(ROWS)).random_range(0..count),
            Pick::Once => session,
        };
        // There are far fewer than 2^32 rows.
        (row < count).then_some(row as u32)
    }

    /// The value of a parameter in a row; `None` if no column gives it.
    pub(crate) fn value(&self, row: u32, parameter: u16) -> Option<&str> {
        let column = self.parameters.iter().position(|own| *own == Some(parameter))?;
        Some(self.rows.value(row as usize, column))
    }

    /// Whether a column gives the parameter.
    pub(crate) fn gives(&self, parameter: u16) -> bool {
        self.parameters.contains(&Some(parameter))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn feeder(pick: Pick) -> Feeder {
        let rows = read::from_csv(b"name,age\nann,1\nbob,2\ncyd,3\n").unwrap();
        Feeder { file: "users.csv".to_owned(), pick, rows, parameters: vec![Some(7), None] }
    }

    #[test]
    fn rows_are_picked_by_the_number_of_the_session_or_by_its_seed() {
        let rows = |pick| -> Vec<Option<u32>> {
            (0..5).map(|session| feeder(pick).row(session, 1000 + session)).collect()
        };
        assert_eq!(rows(Pick::InTurn), [0, 1, 2, 0, 1].map(Some));
        assert_eq!(rows(Pick::Once), [Some(0), Some(1), Some(2), None, None]);
        let drawn: BTreeSet<_> =
            (0..100).map(|seed| feeder(Pick::Random).row(0, seed).unwrap()).collect();
        assert_eq!(drawn, BTreeSet::from([0, 1, 2]));
        assert_eq!(rows(Pick::Random), rows(Pick::Random));
    }

    #[test]
    fn a_column_gives_its_parameter() {
        let feeder = feeder(Pick::InTurn);
        assert_eq!(feeder.value(1, 7), Some("bob"));
        assert_eq!((feeder.value(1, 0), feeder.gives(7), feeder.gives(0)), (None, true, false));
    }
}
