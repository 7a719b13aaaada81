//! The upstream's threads: each works on one request at a time.

use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Threads {
    free: usize,
    /// Requests that have none yet.
    waiting: VecDeque<u32>,
    /// The least and the most that waited since they were taken.
    waited: (usize, usize),
    /// Thread seconds in which none had anything to do, since they were taken.
    idle_s: f64,
    at_s: f64,
}

/// What threads did since the last time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Since {
    /// Thread seconds in which none had anything to do.
    pub(super) idle_s: f64,
    /// The least and the most requests that waited for one.
    pub(super) waited: (usize, usize),
}

impl Threads {
    pub(super) fn new(number: usize) -> Self {
        Self { free: number, waiting: VecDeque::new(), waited: (0, 0), idle_s: 0.0, at_s: 0.0 }
    }

    /// A request wants a thread: true if there is one, else it waits.
    pub(super) fn take(&mut self, now: f64, job: u32) -> bool {
        self.advance(now);
        if self.free > 0 {
            self.free -= 1;
            return true;
        }
        self.waiting.push_back(job);
        self.waited.1 = self.waited.1.max(self.waiting.len());
        false
    }

    /// A thread is done: the request that it goes on with.
    pub(super) fn release(&mut self, now: f64) -> Option<u32> {
        self.advance(now);
        let next = self.waiting.pop_front();
        self.free += usize::from(next.is_none());
        self.waited.0 = self.waited.0.min(self.waiting.len());
        next
    }

    /// What they did since the last call.
    pub(super) fn since(&mut self, now: f64) -> Since {
        self.advance(now);
        let waiting = self.waiting.len();
        Since {
            idle_s: std::mem::take(&mut self.idle_s),
            waited: std::mem::replace(&mut self.waited, (waiting, waiting)),
        }
    }

    fn advance(&mut self, now: f64) {
        self.idle_s += self.free as f64 * (now - self.at_s).max(0.0);
        self.at_s = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_threads_and_waiting_requests_are_known() {
        let mut threads = Threads::new(2);
        assert!(threads.take(1.0, 7) && threads.take(2.0, 8));
        assert!(!threads.take(3.0, 9) && !threads.take(3.0, 10));
        // Two threads for a second, then one.
        assert_eq!(threads.since(3.0), Since { idle_s: 3.0, waited: (0, 2) });
        assert_eq!(threads.release(4.0), Some(9));
        assert_eq!(threads.since(4.0), Since { idle_s: 0.0, waited: (1, 2) });
        assert_eq!((threads.release(5.0), threads.release(5.0)), (Some(10), None));
        assert_eq!(threads.since(6.0), Since { idle_s: 1.0, waited: (0, 1) });
    }
}
