//! Which part of a test is a driver's own, where several share it. All that
//! arrives has a number in the whole test; a part has those that leave its own
//! remainder. So parts need not speak to each other while they run.

use std::fmt;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One of several parts of a test, written `2/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Part {
    /// From 0.
    index: u32,
    of: u32,
}

impl Part {
    /// All of the test.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
    /// Most parts of a test.
    pub const MOST: u32 = 1000;

    /// The `number`-th of `of` parts, counted from 1; `None` if there is no such
    /// part, or there are more than [`Part::MOST`].
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
                "\"{text}\" must be a part and the number of parts, such as 1/3, 2/3 or 3/3; at \
                 most {} parts",
                Self::MOST
            )
        })
    }

    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.index + 1
    }

    /// How many parts there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// What one of the part's threads (from 0) has of the whole test.
    pub(crate) fn share(self, thread: usize, threads: usize) -> Share {
        let (index, of) = (self.index as usize, self.of as usize);
        Share { first: index + of * thread, every: of * threads }
    }
}

/// Reads a common start: a date and time of RFC 3339 with its zone, such as
/// `2026-05-01T12:00:00Z`.
///
/// # Errors
/// What is wrong, in words.
pub fn start_at(text: &str) -> Result<SystemTime, String> {
    let at: Timestamp = text.parse().map_err(|_| {
        format!("\"{text}\" must be an instant with its zone, such as 2026-05-01T12:00:00Z")
    })?;
    Ok(at.into())
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number(), self.of)
    }
}

impl From<Part> for String {
    fn from(part: Part) -> Self {
        part.to_string()
    }
}

impl TryFrom<String> for Part {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

/// The numbers `first`, `first + every`, `first + 2·every` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) first: usize,
    pub(crate) every: usize,
}

impl Share {
    /// How many of the first `count` numbers are in it.
    pub(crate) fn of_first(self, count: u64) -> u64 {
        let (first, every) = (self.first as u64, self.every as u64);
        count / every + u64::from(first < count % every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_in_the_share_of_one_thread_of_one_part() {
        // Parts with different numbers of threads.
        let shares: Vec<Share> = (1..=3)
            .flat_map(|number| {
                let part = Part::new(number, 3).unwrap();
                let threads = number as usize;
                (0..threads).map(move |thread| part.share(thread, threads))
            })
            .collect();
        for number in 0..50usize {
            let has = |share: &&Share| {
                number >= share.first && (number - share.first).is_multiple_of(share.every)
            };
            assert_eq!(shares.iter().filter(has).count(), 1, "{number}");
        }
        for count in 0..20 {
            assert_eq!(shares.iter().map(|share| share.of_first(count)).sum::<u64>(), count);
        }
    }

    #[test]
    fn a_start_is_an_instant_whatever_its_zone() {
        let at = start_at("2026-05-01T12:00:00.5Z").unwrap();
        assert_eq!(start_at("2026-05-01T14:00:00.5+02:00").unwrap(), at);
        for wrong in ["", "12:00", "2026-05-01", "2026-05-01T12:00:00", "soon"] {
            assert!(start_at(wrong).unwrap_err().contains("with its zone"), "{wrong}");
        }
    }

    #[test]
    fn a_part_is_written_as_it_is_read_and_nothing_else_is_one() {
        let part = Part::parse("2/3").unwrap();
        assert_eq!((part.number(), part.of(), part.to_string().as_str()), (2, 3, "2/3"));
        assert_eq!(serde_json::to_string(&part).unwrap(), "\"2/3\"");
        assert_eq!(serde_json::from_str::<Part>("\"2/3\"").unwrap(), part);
        for wrong in ["", "2", "0/2", "3/2", "1/0", "1/1001", "-1/2", "a/b", "1/2/3"] {
            assert!(Part::parse(wrong).unwrap_err().contains("such as 1/3"), "{wrong}");
        }
    }
}
