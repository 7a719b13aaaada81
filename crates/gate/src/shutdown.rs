//! Tells every connection of a core that the gate is closing.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::Waker;

/// How far the closing of a gate is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub enum Tide {
    /// Open.
    #[default]
    Open,
    /// Finish what has begun, begin nothing.
    Draining,
    /// Stop at once.
    Closed,
}

/// Rung when the gate closes.
#[derive(Debug, Default)]
pub struct Bell {
    tide: Cell<Tide>,
    next: Cell<u64>,
    listeners: RefCell<HashMap<u64, Waker>>,
}

impl Bell {
    /// How far the closing is.
    #[inline]
    pub fn tide(&self) -> Tide {
        self.tide.get()
    }

    /// Tells all who listen.
    pub fn ring(&self, tide: Tide) {
        self.tide.set(tide);
        self.listeners.borrow().values().for_each(Waker::wake_by_ref);
    }

    /// Wakes `waker` whenever the bell rings, until the guard is dropped.
    pub fn listen(self: &Rc<Self>, waker: &Waker) -> Listening {
        let key = self.next.get();
        self.next.set(key + 1);
        self.listeners.borrow_mut().insert(key, waker.clone());
        Listening { bell: self.clone(), key }
    }
}

/// Someone who hears the bell.
#[derive(Debug)]
pub struct Listening {
    bell: Rc<Bell>,
    key: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.bell.listeners.borrow_mut().remove(&self.key);
    }
}
