//! The requests of a thread that are in flight: those still open when the run ends are
//! recorded with the time that they have waited.

use std::cell::RefCell;

use slab::Slab;

use crate::recorder::event::Request;

/// Requests in flight, as they are recorded if nothing more comes.
#[derive(Default)]
pub(crate) struct OpenRequests(RefCell<Slab<Request>>);

/// A request in flight.
#[must_use = "it stays in flight until it is closed"]
pub(crate) struct Opened(usize);

impl OpenRequests {
    /// Adds a request.
    pub(crate) fn open(&self, request: Request) -> Opened {
        Opened(self.0.borrow_mut().insert(request))
    }

    /// Removes a request and returns it.
    pub(crate) fn close(&self, Opened(key): Opened) -> Request {
        self.0.borrow_mut().remove(key)
    }

    /// Calls `with` for each request in flight.
    pub(crate) fn each(&self, mut with: impl FnMut(Request)) {
        self.0.borrow().iter().for_each(|(_, request)| with(*request));
    }
}
