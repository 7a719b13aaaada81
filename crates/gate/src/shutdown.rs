//! Notifies every connection of a core that the gate is closing.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::Waker;

/// How far the closing of a gate is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub enum Stage {
    /// Accepts connections.
    #[default]
    Open,
    /// Accepts nothing, since another process does; serves what was accepted. An idle
    /// connection waits for its next request, the last one: were it closed, that request
    /// could be under way and lost.
    Leaving,
    /// Finishes what has begun, begins nothing.
    Draining,
    /// Stops at once.
    Closed,
}

/// The stage of a gate's closing, and the tasks to wake when it changes.
#[derive(Debug, Default)]
pub struct Shutdown {
    stage: Cell<Stage>,
    next: Cell<u64>,
    subscribers: RefCell<HashMap<u64, Waker>>,
}

impl Shutdown {
    /// The stage now.
    #[inline]
    pub fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Enters a stage and wakes all subscribers.
    pub fn advance(&self, stage: Stage) {
        self.stage.set(stage);
        self.subscribers.borrow().values().for_each(Waker::wake_by_ref);
    }

    /// Wakes `waker` whenever the stage changes, until the subscription is dropped.
    pub fn subscribe(self: &Rc<Self>, waker: &Waker) -> Subscription {
        let key = self.next.get();
        self.next.set(key + 1);
        self.subscribers.borrow_mut().insert(key, waker.clone());
        Subscription { shutdown: self.clone(), key }
    }
}

/// A subscription to the stages of a [`Shutdown`].
#[derive(Debug)]
pub struct Subscription {
    shutdown: Rc<Shutdown>,
    key: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shutdown.subscribers.borrow_mut().remove(&self.key);
    }
}
