//! The admission queue: per core the new sessions that wait for the budget, before their
//! handshake. It is bounded in number, bytes and time. A session that is admitted at once
//! leaves it in the same turn of the event loop; the others wait for the next budget.
//!
//! A queued connection has neither a task nor a place in the runtime. Under a lasting
//! overload most of them are refused in the end, and must cost no more than a refusal.

use crate::telemetry::counters::Counters;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_control::Discipline;

/// The admission queue of one core.
pub struct AdmissionQueue<T> {
    /// The oldest in front.
    entries: RefCell<VecDeque<Entry<T>>>,
    /// How many of the newest entries the controller has not decided on yet.
    undecided: Cell<usize>,
    bytes: Cell<usize>,
    limits: Cell<QueueLimits>,
    discipline: Cell<Discipline>,
    /// The origin of the discipline's times.
    origin: Instant,
    counters: Arc<Counters>,
}

/// What bounds a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Most connections.
    pub most: usize,
    /// Most bytes of all of them.
    pub most_bytes: usize,
    /// Longest wait of each.
    pub most_time: Duration,
}

struct Entry<T> {
    item: T,
    bytes: usize,
    since: Instant,
}

impl<T> AdmissionQueue<T> {
    /// An empty queue within these limits.
    pub fn new(limits: QueueLimits, counters: Arc<Counters>) -> Self {
        Self {
            entries: RefCell::default(),
            undecided: Cell::new(0),
            bytes: Cell::new(0),
            limits: Cell::new(limits),
            discipline: Cell::new(Discipline::new(limits.most_time)),
            origin: Instant::now(),
            counters,
        }
    }

    /// Changes the limits; they hold for those in the queue too. With another longest wait
    /// former refusals no longer count as a lasting overload.
    pub fn set_limits(&self, limits: QueueLimits) {
        if self.limits.replace(limits).most_time != limits.most_time {
            self.discipline.set(Discipline::new(limits.most_time));
        }
    }

    /// Adds a connection with so many bytes.
    pub fn push(&self, item: T, bytes: usize, now: Instant) {
        self.entries.borrow_mut().push_back(Entry { item, bytes, since: now });
        self.undecided.set(self.undecided.get() + 1);
        self.bytes.set(self.bytes.get() + bytes);
        self.counters.holding.add(1);
        self.counters.holding_bytes.add(bytes as u64);
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// Whether it exceeds a limit.
    pub fn exceeds_limits(&self) -> bool {
        let length = self.entries.borrow().len();
        let limits = self.limits.get();
        length > limits.most
            || self.bytes.get() > limits.most_bytes
            || (length > 0 && limits.most_time.is_zero())
    }

    /// Marks all entries as decided on. Returns how many were not before.
    pub fn mark_decided(&self) -> usize {
        self.undecided.take()
    }

    /// Notes that a new session is refused, at once or after waiting.
    pub fn note_refusal(&self, now: Instant) {
        let mut discipline = self.discipline.get();
        discipline.turn_away(now - self.origin);
        self.discipline.set(discipline);
    }

    /// Whether the newest entry is next.
    pub fn newest_first(&self, now: Instant) -> bool {
        self.discipline.get().newest_first(now - self.origin)
    }

    /// Looks at the next entry, and whether it is undecided.
    pub fn peek<R>(&self, now: Instant, look: impl FnOnce(&T, bool) -> R) -> Option<R> {
        let (entries, undecided) = (self.entries.borrow(), self.undecided.get());
        if self.newest_first(now) {
            entries.back().map(|entry| look(&entry.item, undecided > 0))
        } else {
            entries.front().map(|entry| look(&entry.item, undecided == entries.len()))
        }
    }

    /// Removes the next entry.
    pub fn pop(&self, now: Instant) -> Option<T> {
        if self.newest_first(now) {
            let newest = self.entries.borrow_mut().pop_back()?;
            self.undecided.set(self.undecided.get().saturating_sub(1));
            Some(self.remove(newest, now))
        } else {
            self.pop_oldest(now).map(|(item, _)| item)
        }
    }

    /// Removes the oldest entry. Returns whether it was undecided.
    pub fn pop_oldest(&self, now: Instant) -> Option<(T, bool)> {
        let mut entries = self.entries.borrow_mut();
        let undecided = self.undecided.get() == entries.len();
        let oldest = entries.pop_front()?;
        if undecided {
            self.undecided.set(entries.len());
        }
        Some((self.remove(oldest, now), undecided))
    }

    /// Backlog that is allowed above the backlog limit, by the wait of the oldest entry.
    pub fn allowed_backlog(&self, now: Instant) -> Duration {
        let entries = self.entries.borrow();
        let since = entries.front().map_or(now, |entry| entry.since);
        self.discipline.get().allowed_backlog(now.saturating_duration_since(since))
    }

    /// When the time of the oldest entry is up, under the present discipline.
    pub fn expires(&self, now: Instant) -> Option<Instant> {
        let entries = self.entries.borrow();
        let longest = self.discipline.get().longest_wait(now - self.origin, entries.len());
        entries.front().map(|entry| entry.since + longest)
    }

    fn remove(&self, entry: Entry<T>, now: Instant) -> T {
        self.bytes.set(self.bytes.get() - entry.bytes);
        self.counters.holding.sub(1);
        self.counters.holding_bytes.sub(entry.bytes as u64);
        self.counters.hold_ns.add((now - entry.since).as_nanos() as u64);
        entry.item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_secs(2);

    fn queue(most: usize, most_bytes: usize) -> AdmissionQueue<u32> {
        AdmissionQueue::new(QueueLimits { most, most_bytes, most_time: HOLD }, Arc::default())
    }

    fn look(queue: &AdmissionQueue<u32>, now: Instant) -> Option<(u32, bool)> {
        queue.peek(now, |item, undecided| (*item, undecided))
    }

    #[test]
    fn first_come_first_served() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        (1..=3).for_each(|item| queue.push(item, 1, now));
        let served: Vec<_> = std::iter::from_fn(|| queue.pop(now)).collect();
        assert_eq!(served, [1, 2, 3]);
        assert!(queue.is_empty());
    }

    #[test]
    fn the_newest_is_first_during_lasting_refusals() {
        let (queue, begin) = (queue(10, 1_000), Instant::now());
        let at = |seconds| begin + Duration::from_secs_f64(seconds);
        (1..=3).for_each(|item| queue.push(item, 1, begin));
        for second in 0..=4 {
            queue.note_refusal(at(f64::from(second)));
        }
        assert_eq!(look(&queue, at(4.0)), Some((1, true)), "4 s are two hold times");
        queue.note_refusal(at(4.1));
        assert_eq!(queue.pop(at(6.0)), Some(3));
        assert_eq!(queue.pop(at(6.1)), Some(1), "no refusal for a hold time");
        queue.note_refusal(at(6.2));
        assert_eq!(queue.pop(at(6.3)), Some(2), "a single refusal is no lasting overload");
    }

    #[test]
    fn entries_since_the_last_decision_are_undecided() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        queue.push(1, 1, now);
        queue.push(2, 1, now);
        assert_eq!(look(&queue, now), Some((1, true)));
        assert_eq!(queue.mark_decided(), 2);
        assert_eq!(look(&queue, now), Some((1, false)));
        queue.push(3, 1, now);
        assert_eq!(queue.pop_oldest(now), Some((1, false)));
        assert_eq!(queue.pop_oldest(now), Some((2, false)));
        assert_eq!(queue.pop_oldest(now), Some((3, true)));
        assert_eq!((queue.pop_oldest(now), queue.mark_decided()), (None, 0));
    }

    #[test]
    fn the_queue_is_bounded_in_number_bytes_and_time() {
        let now = Instant::now();
        let short = queue(2, 1_000);
        (1..=2).for_each(|item| short.push(item, 1, now));
        assert!(!short.exceeds_limits());
        short.push(3, 1, now);
        assert!(short.exceeds_limits());
        let light = queue(10, 1_000);
        light.push(1, 600, now);
        light.push(2, 401, now);
        assert!(light.exceeds_limits());
        light.pop_oldest(now);
        assert!(!light.exceeds_limits());
        assert_eq!(light.counters.holding_bytes.get(), 401);
        let timeless = queue(10, 1_000);
        timeless.set_limits(QueueLimits { most_time: Duration::ZERO, ..timeless.limits.get() });
        assert!(!timeless.exceeds_limits());
        timeless.push(1, 1, now);
        assert!(timeless.exceeds_limits());
    }

    #[test]
    fn new_limits_hold_for_those_in_the_queue_too() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        (1..=3).for_each(|item| queue.push(item, 1, now));
        queue.set_limits(QueueLimits { most: 2, most_bytes: 1_000, most_time: HOLD / 2 });
        assert!(queue.exceeds_limits());
        assert_eq!(queue.expires(now), Some(now + HOLD / 2));
    }

    #[test]
    fn the_oldest_entry_expires_after_the_hold_time() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        assert_eq!(queue.expires(now), None);
        queue.push(1, 1, now);
        queue.push(2, 1, now + HOLD);
        assert_eq!(queue.expires(now), Some(now + HOLD));
        queue.pop_oldest(now + HOLD);
        assert_eq!(queue.counters.hold_ns.get(), 2_000_000_000);
        assert_eq!(queue.expires(now + HOLD), Some(now + HOLD + HOLD));
    }

    #[test]
    fn the_wait_of_the_oldest_entry_gives_the_allowed_backlog() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        assert_eq!(queue.allowed_backlog(now), Duration::ZERO, "the queue is empty");
        queue.push(1, 1, now);
        queue.push(2, 1, now + HOLD / 2);
        let expected = Discipline::new(HOLD).allowed_backlog(HOLD / 2);
        assert!(!expected.is_zero());
        assert_eq!(queue.allowed_backlog(now + HOLD / 2), expected);
    }

    #[test]
    fn during_lasting_refusals_only_the_last_four_wait_for_the_hold_time() {
        let (queue, begin) = (queue(10, 1_000), Instant::now());
        let now = begin + Duration::from_secs(5);
        (0..=5).for_each(|second| queue.note_refusal(begin + Duration::from_secs(second)));
        (1..=4).for_each(|item| queue.push(item, 1, begin));
        assert_eq!(queue.expires(now), Some(begin + HOLD));
        queue.push(5, 1, now);
        assert_eq!(queue.expires(now), Some(begin + HOLD / 8));
    }
}
