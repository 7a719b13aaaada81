//! The admission queue: per core the new sessions that wait for the budget, before their
//! handshake. It is bounded in number, bytes and time. A session that is admitted at once
//! leaves it in the same turn of the event loop; the others wait for the next budget.
//!
//! Prefixes take turns, and where the queue is full, the one with the most sessions in it
//! makes room: no address can fill the queue or use up the budget.
//!
//! A queued connection has neither a task nor a place in the runtime. Under a lasting
//! overload most of them are refused in the end, and must cost no more than a refusal.

use crate::admission::lines::{Entry, Lines, Order};
use crate::places::Prefix;
use crate::telemetry::counters::Counters;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_control::Discipline;

/// The part of the hold time that a round of turns takes at most: as long as a session
/// waits under a lasting overload.
const ROUND: u32 = 8;

/// The admission queue of one core.
pub struct AdmissionQueue<T> {
    lines: RefCell<Lines<T>>,
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

impl QueueLimits {
    /// The length of a round of the prefixes, and the bytes that count as a connection.
    fn rounds(&self) -> (Duration, usize) {
        (self.most_time / ROUND, self.most_bytes / self.most.max(1))
    }
}

impl<T> AdmissionQueue<T> {
    /// An empty queue within these limits.
    pub fn new(limits: QueueLimits, counters: Arc<Counters>) -> Self {
        let origin = Instant::now();
        let (round, unit) = limits.rounds();
        Self {
            lines: RefCell::new(Lines::new(round, unit, origin)),
            limits: Cell::new(limits),
            discipline: Cell::new(Discipline::new(limits.most_time)),
            origin,
            counters,
        }
    }

    /// Changes the limits; they hold for those in the queue too. With another longest wait
    /// former refusals no longer count as a lasting overload.
    pub fn set_limits(&self, limits: QueueLimits) {
        let (round, unit) = limits.rounds();
        self.lines.borrow_mut().set_rounds(round, unit);
        if self.limits.replace(limits).most_time != limits.most_time {
            self.discipline.set(Discipline::new(limits.most_time));
        }
    }

    /// Adds a connection of a prefix with so many bytes.
    pub fn push(&self, prefix: Prefix, item: T, bytes: usize, now: Instant) {
        self.lines.borrow_mut().push(prefix, item, bytes, now);
        self.counters.holding.add(1);
        self.counters.holding_bytes.add(bytes as u64);
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.lines.borrow().len() == 0
    }

    /// Whether it exceeds a limit.
    pub fn exceeds_limits(&self) -> bool {
        let (lines, limits) = (self.lines.borrow(), self.limits.get());
        lines.len() > limits.most
            || lines.bytes() > limits.most_bytes
            || (lines.len() > 0 && limits.most_time.is_zero())
    }

    /// Marks all entries as decided on. Returns how many were not before.
    pub fn mark_decided(&self) -> usize {
        self.lines.borrow_mut().mark_decided()
    }

    /// Notes that a new session is refused, at once or after waiting.
    pub fn note_refusal(&self, now: Instant) {
        let mut discipline = self.discipline.get();
        discipline.turn_away(now - self.origin);
        self.discipline.set(discipline);
    }

    /// Whether the newest entry of a prefix is next, and the prefix with the newest.
    pub fn newest_first(&self, now: Instant) -> bool {
        self.discipline.get().newest_first(now - self.origin)
    }

    fn order(&self, now: Instant) -> Order {
        if self.newest_first(now) { Order::Newest } else { Order::Oldest }
    }

    /// Looks at the next entry, and whether it is undecided.
    pub fn peek<R>(&self, now: Instant, look: impl FnOnce(&T, bool) -> R) -> Option<R> {
        let mut lines = self.lines.borrow_mut();
        lines.peek(self.order(now), now).map(|(item, undecided)| look(item, undecided))
    }

    /// Removes the next entry, to be admitted: the turn of its prefix.
    pub fn admit(&self, now: Instant) -> Option<T> {
        let admitted = self.lines.borrow_mut().serve(self.order(now), now)?;
        Some(self.remove(admitted, now).0)
    }

    /// Removes the next entry, whose customer has left.
    pub fn pop(&self, now: Instant) -> Option<T> {
        let left = self.lines.borrow_mut().pop(self.order(now), now)?;
        Some(self.remove(left, now).0)
    }

    /// Removes the oldest entry. Returns whether it was undecided.
    pub fn pop_oldest(&self, now: Instant) -> Option<(T, bool)> {
        let oldest = self.lines.borrow_mut().pop_oldest()?;
        Some(self.remove(oldest, now))
    }

    /// Removes the oldest entry of a prefix. Returns whether it was undecided.
    pub fn pop_oldest_of(&self, prefix: Prefix, now: Instant) -> Option<(T, bool)> {
        let oldest = self.lines.borrow_mut().pop_oldest_of(prefix)?;
        Some(self.remove(oldest, now))
    }

    /// Removes the entry that makes room where a limit is exceeded: the oldest of the
    /// prefix with the most. Returns whether it was undecided.
    pub fn pop_for_room(&self, now: Instant) -> Option<(T, bool)> {
        let oldest = self.lines.borrow_mut().pop_oldest_of_heaviest()?;
        Some(self.remove(oldest, now))
    }

    /// Backlog that is allowed above the backlog limit, by the wait of the oldest entry
    /// whose turn is to come.
    pub fn allowed_backlog(&self, now: Instant) -> Duration {
        let since = self.lines.borrow().oldest_due_since().unwrap_or(now);
        self.discipline.get().allowed_backlog(now.saturating_duration_since(since))
    }

    /// When the time of the oldest entry is up, under the present discipline.
    pub fn expires(&self, now: Instant) -> Option<Instant> {
        let lines = self.lines.borrow();
        let longest = self.discipline.get().longest_wait(now - self.origin, lines.len());
        lines.oldest_since().map(|since| since + longest)
    }

    /// How long the oldest entry has waited; `None`: the queue is empty.
    pub fn oldest_wait(&self, now: Instant) -> Option<Duration> {
        self.lines.borrow().oldest_since().map(|since| now.saturating_duration_since(since))
    }

    fn remove(&self, entry: Entry<T>, now: Instant) -> (T, bool) {
        self.counters.holding.sub(1);
        self.counters.holding_bytes.sub(entry.bytes as u64);
        self.counters.hold_ns.add((now - entry.since).as_nanos() as u64);
        (entry.item, entry.undecided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::PrefixLengths;

    const HOLD: Duration = Duration::from_secs(2);

    fn queue(most: usize, most_bytes: usize) -> AdmissionQueue<u32> {
        AdmissionQueue::new(QueueLimits { most, most_bytes, most_time: HOLD }, Arc::default())
    }

    fn prefix(n: u8) -> Prefix {
        PrefixLengths { ipv4: 24, ipv6: 56 }.prefix_of([10, 0, n, 1].into())
    }

    fn look(queue: &AdmissionQueue<u32>, now: Instant) -> Option<(u32, bool)> {
        queue.peek(now, |item, undecided| (*item, undecided))
    }

    #[test]
    fn first_come_first_served() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        (1..=3).for_each(|item| queue.push(prefix(1), item, 1, now));
        let served: Vec<_> = std::iter::from_fn(|| queue.pop(now)).collect();
        assert_eq!(served, [1, 2, 3]);
        assert!(queue.is_empty());
    }

    #[test]
    fn the_newest_is_first_during_lasting_refusals() {
        let (queue, begin) = (queue(10, 1_000), Instant::now());
        let at = |seconds| begin + Duration::from_secs_f64(seconds);
        (1..=3).for_each(|item| queue.push(prefix(1), item, 1, begin));
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
        queue.push(prefix(1), 1, 1, now);
        queue.push(prefix(1), 2, 1, now);
        assert_eq!(look(&queue, now), Some((1, true)));
        assert_eq!(queue.mark_decided(), 2);
        assert_eq!(look(&queue, now), Some((1, false)));
        queue.push(prefix(1), 3, 1, now);
        assert_eq!(queue.pop_oldest(now), Some((1, false)));
        assert_eq!(queue.pop_oldest(now), Some((2, false)));
        assert_eq!(queue.pop_oldest(now), Some((3, true)));
        assert_eq!((queue.pop_oldest(now), queue.mark_decided()), (None, 0));
    }

    #[test]
    fn the_queue_is_bounded_in_number_bytes_and_time() {
        let now = Instant::now();
        let short = queue(2, 1_000);
        (1..=2).for_each(|item| short.push(prefix(1), item, 1, now));
        assert!(!short.exceeds_limits());
        short.push(prefix(1), 3, 1, now);
        assert!(short.exceeds_limits());
        let light = queue(10, 1_000);
        light.push(prefix(1), 1, 600, now);
        light.push(prefix(1), 2, 401, now);
        assert!(light.exceeds_limits());
        light.pop_oldest(now);
        assert!(!light.exceeds_limits());
        assert_eq!(light.counters.holding_bytes.get(), 401);
        let timeless = queue(10, 1_000);
        timeless.set_limits(QueueLimits { most_time: Duration::ZERO, ..timeless.limits.get() });
        assert!(!timeless.exceeds_limits());
        timeless.push(prefix(1), 1, 1, now);
        assert!(timeless.exceeds_limits());
    }

    #[test]
    fn a_prefix_that_floods_the_queue_makes_room_and_waits_for_its_turn() {
        let (queue, now) = (queue(10, 100_000), Instant::now());
        (1..=9).for_each(|item| queue.push(prefix(1), item, 1, now));
        (101..=103).for_each(|item| queue.push(prefix(2), item, 1, now));
        let mut made_room = Vec::new();
        while queue.exceeds_limits() {
            made_room.push(queue.pop_for_room(now).unwrap().0);
        }
        assert_eq!(made_room, [1, 2]);
        let admitted: Vec<_> = std::iter::from_fn(|| queue.admit(now)).take(6).collect();
        assert_eq!(admitted, [3, 101, 4, 102, 5, 103]);
    }

    #[test]
    fn new_limits_hold_for_those_in_the_queue_too() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        (1..=3).for_each(|item| queue.push(prefix(1), item, 1, now));
        queue.set_limits(QueueLimits { most: 2, most_bytes: 1_000, most_time: HOLD / 2 });
        assert!(queue.exceeds_limits());
        assert_eq!(queue.expires(now), Some(now + HOLD / 2));
    }

    #[test]
    fn the_oldest_entry_expires_after_the_hold_time() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        assert_eq!(queue.expires(now), None);
        queue.push(prefix(1), 1, 1, now);
        queue.push(prefix(1), 2, 1, now + HOLD);
        assert_eq!(queue.expires(now), Some(now + HOLD));
        queue.pop_oldest(now + HOLD);
        assert_eq!(queue.counters.hold_ns.get(), 2_000_000_000);
        assert_eq!(queue.expires(now + HOLD), Some(now + HOLD + HOLD));
    }

    #[test]
    fn the_wait_of_the_oldest_entry_gives_the_allowed_backlog() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        assert_eq!(queue.allowed_backlog(now), Duration::ZERO, "the queue is empty");
        queue.push(prefix(1), 1, 1, now);
        queue.push(prefix(1), 2, 1, now + HOLD / 2);
        let expected = Discipline::new(HOLD).allowed_backlog(HOLD / 2);
        assert!(!expected.is_zero());
        assert_eq!(queue.allowed_backlog(now + HOLD / 2), expected);
    }

    #[test]
    fn during_lasting_refusals_only_the_last_four_wait_for_the_hold_time() {
        let (queue, begin) = (queue(10, 1_000), Instant::now());
        let now = begin + Duration::from_secs(5);
        (0..=5).for_each(|second| queue.note_refusal(begin + Duration::from_secs(second)));
        (1..=4).for_each(|item| queue.push(prefix(1), item, 1, begin));
        assert_eq!(queue.expires(now), Some(begin + HOLD));
        queue.push(prefix(1), 5, 1, now);
        assert_eq!(queue.expires(now), Some(begin + HOLD / 8));
    }
}
