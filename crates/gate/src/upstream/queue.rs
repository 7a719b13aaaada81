//! Requests of one core that wait for a connection to an upstream: first come, first served, in a
//! queue that is bounded in number; who waits has a deadline of its own.

use crate::upstream::pool::Slot;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The queue of one core for one upstream.
#[derive(Debug, Default)]
pub struct Queue {
    /// In the order of their numbers.
    waiting: RefCell<VecDeque<(u64, Waker)>>,
    next: Cell<u64>,
}

impl Queue {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// A place has become free, or may have: the first looks whether it is for them.
    pub fn wake_first(&self) {
        if let Some((_, waker)) = self.waiting.borrow().front() {
            waker.wake_by_ref();
        }
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.waiting.borrow().binary_search_by_key(&number, |(number, _)| *number).ok()
    }

    fn remove(&self, number: u64) {
        let Some(at) = self.position(number) else { return };
        self.waiting.borrow_mut().remove(at);
        if at == 0 {
            self.wake_first();
        }
    }
}

/// Waits in a queue until it is first and `take` has a place for it.
pub struct Turn<F> {
    queue: Rc<Queue>,
    /// Its number, once it waits.
    number: Option<u64>,
    take: F,
}

impl<F: FnMut() -> Option<Slot> + Unpin> Turn<F> {
    /// Will wait at the end of the queue.
    pub fn new(queue: Rc<Queue>, take: F) -> Self {
        Self { queue, number: None, take }
    }
}

impl<F: FnMut() -> Option<Slot> + Unpin> Future for Turn<F> {
    type Output = Slot;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Slot> {
        let this = &mut *self;
        let queue = this.queue.clone();
        let Some(number) = this.number else {
            let number = queue.next.get();
            queue.next.set(number + 1);
            queue.waiting.borrow_mut().push_back((number, cx.waker().clone()));
            this.number = Some(number);
            // A place that is free already is found by the first.
            queue.wake_first();
            return Poll::Pending;
        };
        let at = queue.position(number);
        if at == Some(0)
            && let Some(slot) = (this.take)()
        {
            this.number = None;
            queue.remove(number);
            return Poll::Ready(slot);
        }
        if let Some(at) = at {
            queue.waiting.borrow_mut()[at].1.clone_from(cx.waker());
        }
        Poll::Pending
    }
}

impl<F> Drop for Turn<F> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.queue.remove(number);
        }
    }
}
