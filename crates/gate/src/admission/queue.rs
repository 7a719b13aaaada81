//! The admission queue: per core the new sessions that wait for the budget, before their
//! handshake. It is bounded in number, bytes and time. A session that is admitted at once
//! leaves it in the same turn of the event loop; the others wait for the next budget.
//!
//! Prefixes take turns on all cores together, and where the queue is full, the one with
//! the most sessions in it makes room: no address can fill the queue or use up the budget.
//!
//! A queued connection has neither a task nor a place in the runtime. Under a lasting
//! overload most of them are refused in the end, and must cost no more than a refusal.

use crate::admission::fair_queue::{Entry, FairQueue, Order};
use crate::admission::turns::Turns;
use crate::places::Prefix;
use crate::telemetry::counters::Counters;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_control::Discipline;

/// The admission queue of one core.
pub struct AdmissionQueue<T> {
    entries: RefCell<FairQueue<T>>,
    limits: Cell<QueueLimits>,
    discipline: RefCell<Discipline>,
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
    /// The bytes that count as a connection.
    fn unit(&self) -> usize {
        self.most_bytes / self.most.max(1)
    }
}

/// An entry that was in the queue.
#[derive(Debug)]
pub struct Removed<T> {
    /// What waited.
    pub item: T,
    /// Whether it was held: it was not decided on in the turn in which it came.
    pub held: bool,
    /// How long it waited.
    pub waited: Duration,
}

/// The entry that is next.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    prefix: Prefix,
    order: Order,
}

impl<T> AdmissionQueue<T> {
    /// An empty queue of a core within these limits; `turns` are those of all cores.
    pub fn new(
        limits: QueueLimits,
        counters: Arc<Counters>,
        turns: Arc<Turns>,
        core: usize,
    ) -> Self {
        Self {
            entries: RefCell::new(FairQueue::new(limits.unit(), turns, core)),
            limits: Cell::new(limits),
            discipline: RefCell::new(Discipline::new(limits.most_time)),
            origin: Instant::now(),
            counters,
        }
    }

    /// Changes the limits; they hold for those in the queue too. With another longest wait
    /// nothing is known of former queues.
    pub fn set_limits(&self, limits: QueueLimits) {
        self.entries.borrow_mut().set_unit(limits.unit());
        if self.limits.replace(limits).most_time != limits.most_time {
            self.discipline.replace(Discipline::new(limits.most_time));
        }
    }

    /// Adds a connection of a prefix with so many bytes.
    pub fn push(&self, prefix: Prefix, item: T, bytes: usize, now: Instant) {
        self.entries.borrow_mut().push(prefix, item, bytes, now);
        self.note_entry(bytes);
    }

    /// The same for one that waited before: it does not count as held.
    pub fn push_again(&self, prefix: Prefix, item: T, bytes: usize, now: Instant) {
        self.entries.borrow_mut().push_again(prefix, item, bytes, now);
        self.note_entry(bytes);
    }

    fn note_entry(&self, bytes: usize) {
        self.counters.holding.add(1);
        self.counters.holding_bytes.add(bytes as u64);
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().len() == 0
    }

    /// Whether it exceeds a limit.
    pub fn exceeds_limits(&self) -> bool {
        let (entries, limits) = (self.entries.borrow(), self.limits.get());
        entries.len() > limits.most
            || entries.bytes() > limits.most_bytes
            || (entries.len() > 0 && limits.most_time.is_zero())
    }

    /// Marks all entries as held. Returns how many were not before.
    pub fn mark_held(&self) -> usize {
        self.entries.borrow_mut().mark_held()
    }

    /// Notes that a new session is refused, at once or after waiting.
    pub fn note_refusal(&self, now: Instant) {
        self.discipline.borrow_mut().refuses(now - self.origin);
    }

    /// Notes that a customer hung up after so long in the queue.
    pub fn note_hang_up(&self, now: Instant, age: Duration) {
        self.discipline.borrow_mut().hangs_up(now - self.origin, age);
    }

    /// Notes how long the oldest entry waits, now that the queue was decided on.
    pub fn note_wait(&self, now: Instant) {
        let oldest = self.oldest_wait(now).unwrap_or_default();
        let waiting = self.entries.borrow().len();
        self.discipline.borrow_mut().waits(now - self.origin, waiting, oldest);
    }

    /// Whether the newest entry of a prefix is next, and the prefix with the newest.
    pub fn newest_first(&self, now: Instant) -> bool {
        self.discipline.borrow().newest_first(now - self.origin)
    }

    /// The next entry; `None`: the queue is empty, or its prefixes wait for their turn
    /// until entries of other cores have had theirs.
    pub fn next(&self, now: Instant) -> Option<Next> {
        let order = if self.newest_first(now) { Order::Newest } else { Order::Oldest };
        let prefix = self.entries.borrow_mut().next_turn(order)?;
        Some(Next { prefix, order })
    }

    /// Looks at the next entry, and whether it is held.
    pub fn peek<R>(&self, next: Next, of: impl FnOnce(&T, bool) -> R) -> Option<R> {
        let entries = self.entries.borrow();
        entries.peek(next.prefix, next.order).map(|(item, held)| of(item, held))
    }

    /// Removes the next entry, to be admitted: the turn of its prefix.
    pub fn admit(&self, next: Next, now: Instant) -> Option<Removed<T>> {
        let admitted = self.entries.borrow_mut().serve(next.prefix, next.order, now)?;
        self.discipline.borrow_mut().admits(now - self.origin);
        Some(self.removed(admitted, now))
    }

    /// Removes the next entry, which is not admitted: its customer has left, or is in.
    pub fn pop(&self, next: Next, now: Instant) -> Option<Removed<T>> {
        let left = self.entries.borrow_mut().remove(next.prefix, next.order)?;
        Some(self.removed(left, now))
    }

    /// Removes the oldest entry.
    pub fn pop_oldest(&self, now: Instant) -> Option<Removed<T>> {
        let oldest = self.entries.borrow_mut().pop_oldest()?;
        Some(self.removed(oldest, now))
    }

    /// Removes the oldest entry of a prefix.
    pub fn pop_oldest_of(&self, prefix: Prefix, now: Instant) -> Option<Removed<T>> {
        let oldest = self.entries.borrow_mut().remove(prefix, Order::Oldest)?;
        Some(self.removed(oldest, now))
    }

    /// Removes the entry that makes room where a limit is exceeded: the oldest of the
    /// prefix with the most.
    pub fn pop_for_room(&self, now: Instant) -> Option<Removed<T>> {
        let oldest = self.entries.borrow_mut().pop_oldest_of_largest()?;
        Some(self.removed(oldest, now))
    }

    /// Backlog that is allowed above the backlog limit, by the wait of the oldest entry
    /// whose turn is to come.
    pub fn allowed_backlog(&self, now: Instant) -> Duration {
        let since = self.entries.borrow().oldest_due_since().unwrap_or(now);
        let waited = now.saturating_duration_since(since);
        self.discipline.borrow().allowed_backlog(now - self.origin, waited)
    }

    /// When the time of an entry is up, under the present discipline.
    pub fn expires(&self, now: Instant) -> Option<Instant> {
        self.first_to_expire(now).map(|(at, _)| at)
    }

    /// Removes an entry whose time is up.
    pub fn pop_expired(&self, now: Instant) -> Option<Removed<T>> {
        let (_, prefix) = self.first_to_expire(now).filter(|(at, _)| *at <= now)?;
        self.pop_oldest_of(prefix, now)
    }

    /// The entry whose time is up first: when, and its prefix. What shortens the wait is the
    /// number of entries, so it is shorter for prefixes with many: an address that connects
    /// again and again does not end the wait of one that came once.
    fn first_to_expire(&self, now: Instant) -> Option<(Instant, Prefix)> {
        let (entries, discipline) = (self.entries.borrow(), self.discipline.borrow());
        let longest = |waiting| discipline.longest_wait(now - self.origin, waiting);
        let ends = |(since, prefix), longest| (since + longest, prefix);
        let any = entries.oldest().map(|oldest| ends(oldest, longest(0)));
        let of_many = entries.oldest_of_many(Discipline::FEW);
        let of_many = of_many.map(|oldest| ends(oldest, longest(entries.len())));
        any.into_iter().chain(of_many).min()
    }

    /// How long the oldest entry has waited; `None`: the queue is empty.
    pub fn oldest_wait(&self, now: Instant) -> Option<Duration> {
        self.entries.borrow().oldest_since().map(|since| now.saturating_duration_since(since))
    }

    fn removed(&self, entry: Entry<T>, now: Instant) -> Removed<T> {
        let waited = now.saturating_duration_since(entry.since);
        self.counters.holding.sub(1);
        self.counters.holding_bytes.sub(entry.bytes as u64);
        self.counters.hold_ns.add(waited.as_nanos() as u64);
        Removed { item: entry.item, held: entry.held, waited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::PrefixLengths;

    const HOLD: Duration = Duration::from_secs(2);

    fn queue(most: usize, most_bytes: usize) -> AdmissionQueue<u32> {
        let limits = QueueLimits { most, most_bytes, most_time: HOLD };
        AdmissionQueue::new(limits, Arc::default(), Arc::new(Turns::new(1)), 0)
    }

    fn prefix(n: u8) -> Prefix {
        PrefixLengths { ipv4: 24, ipv6: 56 }.prefix_of([10, 0, n, 1].into())
    }

    fn peek(queue: &AdmissionQueue<u32>, now: Instant) -> Option<(u32, bool)> {
        queue.peek(queue.next(now)?, |item, held| (*item, held))
    }

    fn pop(queue: &AdmissionQueue<u32>, now: Instant) -> Option<u32> {
        queue.pop(queue.next(now)?, now).map(|removed| removed.item)
    }

    fn pop_oldest(queue: &AdmissionQueue<u32>, now: Instant) -> Option<(u32, bool)> {
        queue.pop_oldest(now).map(|removed| (removed.item, removed.held))
    }

    #[test]
    fn first_come_first_served() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        (1..=3).for_each(|item| queue.push(prefix(1), item, 1, now));
        let served: Vec<_> = std::iter::from_fn(|| pop(&queue, now)).collect();
        assert_eq!(served, [1, 2, 3]);
        assert!(queue.is_empty());
    }

    #[test]
    fn the_newest_is_first_in_a_queue_that_stands() {
        let (queue, begin) = (queue(100, 10_000), Instant::now());
        (1..=30).for_each(|item| queue.push(prefix(1), item, 1, begin));
        queue.note_wait(begin + HOLD / 8);
        assert_eq!(peek(&queue, begin + HOLD / 8), Some((1, false)), "it is long, but only now");
        queue.note_wait(begin + HOLD / 4);
        assert_eq!(peek(&queue, begin + HOLD / 4), Some((30, false)));
    }

    #[test]
    fn entries_since_the_last_decision_are_not_held() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        queue.push(prefix(1), 1, 1, now);
        queue.push(prefix(1), 2, 1, now);
        assert_eq!(peek(&queue, now), Some((1, false)));
        assert_eq!(queue.mark_held(), 2);
        assert_eq!(peek(&queue, now), Some((1, true)));
        queue.push(prefix(1), 3, 1, now);
        assert_eq!(pop_oldest(&queue, now), Some((1, true)));
        assert_eq!(pop_oldest(&queue, now), Some((2, true)));
        assert_eq!(pop_oldest(&queue, now), Some((3, false)));
        assert_eq!((pop_oldest(&queue, now), queue.mark_held()), (None, 0));
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
            made_room.push(queue.pop_for_room(now).unwrap().item);
        }
        assert_eq!(made_room, [1, 2]);
        let admitted: Vec<_> = std::iter::from_fn(|| queue.admit(queue.next(now)?, now))
            .take(6)
            .map(|removed| removed.item)
            .collect();
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

    /// A queue in an overload that lasts since `begin`, and the time at which it does.
    fn overloaded(begin: Instant) -> (AdmissionQueue<u32>, Instant) {
        let queue = queue(1_000, 100_000);
        let times = (0..=10).map(|n| begin + HOLD * n / 4);
        times.for_each(|now| queue.note_refusal(now));
        (queue, begin + HOLD * 10 / 4)
    }

    #[test]
    fn a_lasting_overload_shortens_the_wait_of_those_with_many_entries() {
        let (queue, now) = overloaded(Instant::now());
        (1..=60).for_each(|item| queue.push(prefix(1), item, 1, now));
        queue.push(prefix(2), 100, 1, now);
        let later = now + HOLD / 8;
        let expired: Vec<u32> =
            std::iter::from_fn(|| queue.pop_expired(later)).map(|removed| removed.item).collect();
        // Down to 20 entries: a queue that short does not count as standing.
        assert_eq!(expired, (1..=41).collect::<Vec<_>>());
        assert_eq!(queue.expires(later), Some(now + HOLD), "the others have all of their time");
        (61..=70).for_each(|item| queue.push(prefix(1), item, 1, later));
        assert_eq!(queue.pop_expired(later).unwrap().item, 42, "never the one that came once");
    }

    #[test]
    fn a_lasting_overload_of_many_prefixes_shortens_the_wait_of_all() {
        let (queue, now) = overloaded(Instant::now());
        (1..=60).for_each(|n| queue.push(prefix(n), u32::from(n), 1, now));
        let later = now + HOLD / 8;
        let expired: Vec<u32> =
            std::iter::from_fn(|| queue.pop_expired(later)).map(|removed| removed.item).collect();
        assert_eq!(expired, (1..=40).collect::<Vec<_>>(), "the oldest first");
    }

    #[test]
    fn the_wait_of_the_oldest_entry_gives_the_allowed_backlog() {
        let (queue, now) = (queue(10, 1_000), Instant::now());
        assert_eq!(queue.allowed_backlog(now), Duration::ZERO, "the queue is empty");
        queue.push(prefix(1), 1, 1, now);
        queue.push(prefix(1), 2, 1, now + HOLD / 2);
        let expected = Discipline::new(HOLD).allowed_backlog(Duration::ZERO, HOLD / 2);
        assert!(!expected.is_zero());
        assert_eq!(queue.allowed_backlog(now + HOLD / 2), expected);
    }
}
