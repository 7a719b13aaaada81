//! Where prices come from: a random walk, or a file that is replayed.

mod replay;
mod walk;

use std::path::PathBuf;

pub use replay::Replay;
#[cfg(feature = "fuzzing")]
pub use replay::read_ticks;
pub use walk::Walk;

use tidegate_sitekit::Result;
use tidegate_sitekit::money::Cents;

/// A source of prices, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A random walk of this seed.
    Walk(u64),
    /// A file of ticks.
    File(PathBuf),
}

/// A source of prices that was opened.
#[derive(Clone, Debug)]
pub enum Feed {
    /// A random walk.
    Walk(Walk),
    /// A file.
    Replay(Replay),
}

impl Source {
    /// Opens the source.
    ///
    /// # Errors
    /// The file cannot be read, or some of its lines are wrong: an error for the operator
    /// that names them.
    pub fn open(&self) -> Result<Feed> {
        match self {
            Self::Walk(seed) => Ok(Feed::Walk(Walk::new(*seed))),
            Self::File(path) => Replay::read(path).map(Feed::Replay),
        }
    }
}

impl Feed {
    /// What it calls itself where prices are recorded: another source begins anew.
    pub fn name(&self) -> String {
        match self {
            Self::Walk(walk) => walk.name(),
            Self::Replay(replay) => replay.name().into(),
        }
    }

    /// The prices that change at a tick, `nth` of this source (from 1). `prices` are those
    /// before. `None`: the source has ended.
    pub fn tick(&self, nth: i64, prices: &[(String, Cents)]) -> Option<Vec<(String, Cents)>> {
        match self {
            Self::Walk(walk) => Some(walk.tick(nth, prices)),
            Self::Replay(replay) => replay.tick(nth),
        }
    }
}
