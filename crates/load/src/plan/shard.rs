//! The shard of a test that one of several load generators runs. Every arrival has a number
//! in the whole test; a shard has the numbers with its own remainder. Shards need no
//! communication while they run.

use std::fmt;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One of several shards of a test, written `2/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// From 0.
    index: u32,
    of: u32,
}

impl Shard {
    /// All of the test.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
    /// Most shards of a test.
    pub const MOST: u32 = 1000;

    /// Shard `number` (from 1) of `of`; `None` if there is no such shard or `of` exceeds
    /// [`Shard::MOST`].
    pub fn new(number: u32, of: u32) -> Option<Self> {
        let index = number.checked_sub(1)?;
        (index < of && of <= Self::MOST).then_some(Self { index, of })
    }

    /// Reads `2/3`.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.trim().parse().ok()?, of.trim().parse().ok()?)));
        numbers.and_then(|(number, of)| Self::new(number, of)).ok_or_else(|| {
            format!(
                "\"{text}\" must be a shard and the number of shards, such as 1/3, 2/3 or 3/3; at \
                 most {} shards",
                Self::MOST
            )
        })
    }

    /// Number, from 1.
    pub fn number(self) -> u32 {
        self.index + 1
    }

    /// Number of shards.
    pub fn of(self) -> u32 {
        self.of
    }

    /// The numbers of one of the threads (from 0) of this shard.
    pub(crate) fn of_thread(self, thread: usize, threads: usize) -> ThreadShard {
        let (index, of) = (self.index as usize, self.of as usize);
        ThreadShard { first: index + of * thread, every: of * threads }
    }
}

/// The start of a test that several load generators share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonStart {
    /// By the clock that all results state.
    pub at: SystemTime,
    /// The same instant by the clock of this machine.
    pub here: SystemTime,
}

impl From<SystemTime> for CommonStart {
    fn from(at: SystemTime) -> Self {
        Self { at, here: at }
    }
}

/// Reads a common start: date and time with zone (RFC 3339), such as
/// `2026-05-01T12:00:00Z`.
///
/// # Errors
/// What is wrong, in words.
pub fn start_at(text: &str) -> Result<SystemTime, String> {
    let at: Timestamp = text.parse().map_err(|_| {
        format!("\"{text}\" must be a time with its zone, such as 2026-05-01T12:00:00Z")
    })?;
    Ok(at.into())
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number(), self.of)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

/// The numbers `first`, `first + every`, `first + 2·every` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadShard {
    pub(crate) first: usize,
    pub(crate) every: usize,
}

impl ThreadShard {
    /// How many of the first `count` numbers belong to it.
    pub(crate) fn of_first(self, count: u64) -> u64 {
        let (first, every) = (self.first as u64, self.every as u64);
        count / every + u64::from(first < count % every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_belongs_to_one_thread_of_one_shard() {
        // Shards with different numbers of threads.
        let shares: Vec<ThreadShard> = (1..=3)
            .flat_map(|number| {
                let shard = Shard::new(number, 3).unwrap();
                let threads = number as usize;
                (0..threads).map(move |thread| shard.of_thread(thread, threads))
            })
            .collect();
        for number in 0..50usize {
            let has = |share: &&ThreadShard| {
                number >= share.first && (number - share.first).is_multiple_of(share.every)
            };
            assert_eq!(shares.iter().filter(has).count(), 1, "{number}");
        }
        for count in 0..20 {
            assert_eq!(shares.iter().map(|share| share.of_first(count)).sum::<u64>(), count);
        }
    }

    #[test]
    fn a_start_can_be_given_in_any_zone() {
        let at = start_at("2026-05-01T12:00:00.5Z").unwrap();
        assert_eq!(start_at("2026-05-01T14:00:00.5+02:00").unwrap(), at);
        for wrong in ["", "12:00", "2026-05-01", "2026-05-01T12:00:00", "soon"] {
            assert!(start_at(wrong).unwrap_err().contains("with its zone"), "{wrong}");
        }
    }

    #[test]
    fn a_shard_is_written_as_it_is_read_and_other_text_is_rejected() {
        let shard = Shard::parse("2/3").unwrap();
        assert_eq!((shard.number(), shard.of(), shard.to_string().as_str()), (2, 3, "2/3"));
        assert_eq!(serde_json::to_string(&shard).unwrap(), "\"2/3\"");
        assert_eq!(serde_json::from_str::<Shard>("\"2/3\"").unwrap(), shard);
        for wrong in ["", "2", "0/2", "3/2", "1/0", "1/1001", "-1/2", "a/b", "1/2/3"] {
            assert!(Shard::parse(wrong).unwrap_err().contains("such as 1/3"), "{wrong}");
        }
    }
}
