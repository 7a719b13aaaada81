//! What is in flight on a thread: requests, and pages with assets. Those still in flight when the
//! run ends are recorded with the time that they have waited.

use std::cell::RefCell;
use std::time::Duration;

use slab::Slab;

/// Everything of a kind that is in flight.
pub(crate) struct InFlight<T>(RefCell<Slab<T>>);

/// One that is in flight.
#[must_use = "it stays in flight until it is closed"]
pub(crate) struct Opened(usize);

/// A page that loads its document and assets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenPage {
    pub(crate) page: u16,
    /// Intended start since the start of the run.
    pub(crate) intended: Duration,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Copy> InFlight<T> {
    /// Adds one.
    pub(crate) fn open(&self, one: T) -> Opened {
        Opened(self.0.borrow_mut().insert(one))
    }

    /// Removes one and returns it.
    pub(crate) fn close(&self, Opened(key): Opened) -> T {
        self.0.borrow_mut().remove(key)
    }

    /// Calls `with` for each that is in flight.
    pub(crate) fn each(&self, mut with: impl FnMut(T)) {
        self.0.borrow().iter().for_each(|(_, one)| with(*one));
    }
}
