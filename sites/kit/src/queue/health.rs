//! How the place of a queue is, for the health page of a site.

use std::sync::Mutex;

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
pub struct Health(Mutex<Option<Trouble>>);

impl Health {
    /// The trouble, if there is one.
    pub fn trouble(&self) -> Option<Trouble> {
        *self.0.lock().expect("no panic under this lock")
    }

    pub(super) fn set(&self, trouble: Option<Trouble>) {
        *self.0.lock().expect("no panic under this lock") = trouble;
    }
}
