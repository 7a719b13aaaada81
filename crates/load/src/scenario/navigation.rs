//! The order in which customers of a class request pages: drawn from a table, or a script.

use std::time::Duration;

use super::table::Table;

/// How a session continues.
#[derive(Clone, Debug, PartialEq)]
pub enum Navigation {
    /// Drawn from a table of transitions.
    Table(Table),
    /// These steps in order; the first is the start.
    Steps(Vec<ScriptStep>),
}

/// One request of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptStep {
    /// The page.
    pub page: u16,
    /// Mean think time before it, if not the page's or the session's.
    pub think: Option<Duration>,
}

impl Navigation {
    /// The script, if it is one.
    pub fn steps(&self) -> Option<&[ScriptStep]> {
        match self {
            Self::Steps(steps) => Some(steps),
            Self::Table(_) => None,
        }
    }

    /// The table, if it is one.
    pub fn table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            Self::Steps(_) => None,
        }
    }

    /// Which of the pages a session can reach from `start`.
    pub fn reachable(&self, start: u16, pages: usize) -> Vec<bool> {
        match self {
            Self::Table(table) => table.reachable(start),
            Self::Steps(steps) => {
                let mut seen = vec![false; pages];
                steps.iter().for_each(|step| seen[step.page as usize] = true);
                seen
            }
        }
    }
}
