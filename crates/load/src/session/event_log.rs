//! The events of a thread until they are sent to the recorder.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use crate::outcome::Cause;
use crate::recorder::event::{
    Batch, Event, EventKind, Example, Expectation, FailureKey, FailureSample,
};
use crate::recorder::failures::SAMPLES;
use crate::result::failure::Sample;

/// Most events kept while the recorder does not take them; further events are dropped and
/// counted.
const MOST_EVENTS: usize = 1 << 20;

/// Events that are not sent yet.
#[derive(Default)]
pub(crate) struct EventLog {
    events: RefCell<Vec<Event>>,
    /// Failed checks that have an example.
    has_example: RefCell<BTreeSet<(u16, Expectation)>>,
    examples: RefCell<Vec<Example>>,
    /// Kinds of failed requests that have a sample.
    has_sample: RefCell<BTreeSet<FailureKey>>,
    samples: RefCell<Vec<FailureSample>>,
    lost: Cell<u64>,
}

impl EventLog {
    /// Adds an event with its time since the start of the run.
    pub(crate) fn record(&self, at: Duration, kind: EventKind) {
        let mut events = self.events.borrow_mut();
        if events.len() < MOST_EVENTS {
            events.push(Event { at, kind });
        } else {
            self.lost.set(self.lost.get() + 1);
        }
    }

    /// Adds an example of a failed check, if it is the first of its kind on this thread.
    pub(crate) fn add_example(
        &self,
        page: u16,
        expectation: Expectation,
        found: impl FnOnce() -> String,
    ) {
        if self.has_example.borrow_mut().insert((page, expectation)) {
            self.examples.borrow_mut().push(Example { page, expectation, found: found() });
        }
    }

    /// Whether a request that fails so would be a sample: the first of its kind on this thread.
    pub(crate) fn lacks_sample(&self, page: u16, asset: Option<u16>, cause: Cause) -> bool {
        let has = self.has_sample.borrow();
        has.len() < SAMPLES && !has.contains(&(page, asset, cause))
    }

    /// Adds a failed request, if it is the first of its kind on this thread.
    pub(crate) fn add_sample(&self, key: FailureKey, sample: impl FnOnce() -> Sample) {
        if self.lacks_sample(key.0, key.1, key.2) {
            self.has_sample.borrow_mut().insert(key);
            self.samples.borrow_mut().push(FailureSample { key, sample: sample() });
        }
    }

    /// Moves all events and examples into a batch. `space` is an empty vector that takes
    /// the place of the one that is moved.
    pub(crate) fn drain_into(&self, batch: &mut Batch, space: impl FnOnce() -> Vec<Event>) {
        let mut events = self.events.borrow_mut();
        if batch.events.is_empty() {
            batch.events = std::mem::replace(&mut *events, space());
        } else {
            batch.events.append(&mut events);
        }
        drop(events);
        batch.examples.append(&mut self.examples.borrow_mut());
        batch.samples.append(&mut self.samples.borrow_mut());
        if batch.events.len() > 2 * MOST_EVENTS {
            self.lost.set(self.lost.get() + batch.events.len() as u64);
            batch.events.clear();
        }
        batch.lost = self.lost.get();
    }
}
