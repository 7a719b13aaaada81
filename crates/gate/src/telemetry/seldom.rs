//! Limits how often a recurring fault is logged.

use std::time::{Duration, Instant};

/// A message is written at most once in this time.
const INTERVAL: Duration = Duration::from_secs(60);

/// Counts what is logged seldom.
#[derive(Debug, Default)]
pub struct Seldom {
    written: Option<Instant>,
    unwritten: u64,
}

impl Seldom {
    /// So many more have occurred. Returns how many there were since the last message, if
    /// one is to be written now.
    pub fn count(&mut self, more: u64, now: Instant) -> Option<u64> {
        self.unwritten += more;
        let due = self.written.is_none_or(|at| now.saturating_duration_since(at) >= INTERVAL);
        if self.unwritten == 0 || !due {
            return None;
        }
        self.written = Some(now);
        Some(std::mem::take(&mut self.unwritten))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_written_at_once_and_the_others_once_a_minute() {
        let (mut seldom, begun) = (Seldom::default(), Instant::now());
        let mut count = |more, seconds| seldom.count(more, begun + Duration::from_secs(seconds));
        assert_eq!(count(0, 0), None);
        assert_eq!(count(1, 1), Some(1));
        assert_eq!((count(5, 2), count(7, 60)), (None, None));
        assert_eq!(count(0, 61), Some(12));
        assert_eq!(count(0, 200), None);
        assert_eq!(count(2, 201), Some(2));
    }
}
