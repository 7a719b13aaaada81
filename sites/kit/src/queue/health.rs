//! How the place of a queue is, for the health page of a site.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a trouble is shown after something has succeeded: a queue that is full takes some
/// entries all the same, and one that is gone is noticed every 4 s.
const SHOWN: Duration = Duration::from_secs(5);

/// Why entries are not handed out. They wait in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It takes no more for the moment.
    Full,
    /// It cannot be reached, or does not answer.
    Gone,
}

impl Trouble {
    /// The trouble in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Gone => "gone",
        }
    }
}

/// How a place is. The tasks of a site share it.
#[derive(Debug, Default)]
pub struct Health(Mutex<Option<Seen>>);

/// A trouble that was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    trouble: Trouble,
    at: Instant,
    over: bool,
}

impl Health {
    /// The trouble, if there is one or was one a moment ago.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble_at(Instant::now())
    }

    fn trouble_at(&self, now: Instant) -> Option<Trouble> {
        let seen = (*self.0.lock().expect("no panic under this lock"))?;
        (!seen.over || now < seen.at + SHOWN).then_some(seen.trouble)
    }

    /// Something has failed.
    pub(super) fn failed(&self, trouble: Trouble) {
        let seen = Seen { trouble, at: Instant::now(), over: false };
        *self.0.lock().expect("no panic under this lock") = Some(seen);
    }

    /// Something has succeeded.
    pub(super) fn succeeded(&self) {
        if let Some(seen) = &mut *self.0.lock().expect("no panic under this lock") {
            seen.over = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_shown_while_it_lasts_and_a_moment_longer() {
        let health = Health::default();
        health.succeeded();
        assert_eq!(health.trouble(), None);
        health.failed(Trouble::Full);
        let later = Instant::now() + 2 * SHOWN;
        assert_eq!(health.trouble_at(later), Some(Trouble::Full));
        health.succeeded();
        assert_eq!((health.trouble(), health.trouble_at(later)), (Some(Trouble::Full), None));
    }
}
