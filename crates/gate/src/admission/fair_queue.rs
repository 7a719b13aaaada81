//! A fair queue: one queue per prefix, and prefixes take turns. Deficit round robin with
//! one entry for each turn.
//!
//! A prefix that was served waits for its next turn until all entries that were waiting at
//! that moment have had the turn of their prefix, or are gone. So a prefix with a thousand
//! entries is served as often as one with a few, and adding entries gains nothing. Nor does
//! coming one by one: the turn counts also when its queue is empty, for as long as somebody
//! waits who was there. Prefixes that come later make nobody wait longer.
//!
//! The turns are those of all cores ([`Turns`]).
//!
//! Source: Shreedhar and Varghese 1996, "Efficient Fair Queuing Using Deficit Round-Robin".
//! Deviation: an entry costs one turn whatever its size, as an admission does, so no
//! deficit is carried over; and of the prefixes whose turn is to come the one with the
//! oldest or the newest entry is next, instead of a fixed order of prefixes.

use crate::admission::turns::Turns;
use crate::places::Prefix;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Turns that are known at most; then all prefixes have their turn to come.
const MOST_TURNS: usize = 4096;

/// Which end of the queues is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The oldest entry first.
    Oldest,
    /// The newest entry first.
    Newest,
}

/// An entry.
#[derive(Debug)]
pub struct Entry<T> {
    /// What waits.
    pub item: T,
    /// Its bytes.
    pub bytes: usize,
    /// Since when.
    pub since: Instant,
    /// It was in the queue at the last [`FairQueue::mark_held`].
    pub held: bool,
    number: u64,
    /// [`FairQueue::mark_held`] counts it.
    counts: bool,
}

/// Entries in queues, one per prefix.
#[derive(Debug)]
pub struct FairQueue<T> {
    queues: HashMap<Prefix, PrefixQueue<T>>,
    /// The queues whose prefix has its turn to come, and those whose prefix has had it.
    due: Ends,
    had: Ends,
    /// The queues by weight; of equal ones the one with the oldest entry is the last.
    weights: BTreeSet<(usize, Reverse<u64>, Prefix)>,
    /// The last turns of prefixes, as far as they are known here.
    known: HashMap<Prefix, Turn>,
    /// The turns for which prefixes wait; of a prefix with several the last one counts.
    order: VecDeque<(Instant, Prefix)>,
    turns: Arc<Turns>,
    core: usize,
    /// Bytes that weigh as much as an entry.
    unit: usize,
    /// The number of the next entry, and of the first that is not held.
    next: u64,
    held_below: u64,
    not_held: usize,
    length: usize,
    bytes: usize,
}

#[derive(Debug)]
struct PrefixQueue<T> {
    /// The oldest in front; never empty.
    entries: VecDeque<Entry<T>>,
    weight: usize,
}

/// A turn that a prefix had.
#[derive(Clone, Copy, Debug)]
struct Turn {
    at: Instant,
    /// Whether the prefix waits for others before its next one.
    waits: bool,
}

/// Queues in the order of their first and of their last entries.
#[derive(Debug, Default)]
struct Ends {
    fronts: BTreeSet<(u64, Prefix)>,
    backs: BTreeSet<(u64, Prefix)>,
}

impl<T> FairQueue<T> {
    /// No entries yet, on a core. An entry weighs one, or one for each `unit` bytes begun.
    pub fn new(unit: usize, turns: Arc<Turns>, core: usize) -> Self {
        Self {
            queues: HashMap::new(),
            due: Ends::default(),
            had: Ends::default(),
            weights: BTreeSet::new(),
            known: HashMap::new(),
            order: VecDeque::new(),
            turns,
            core,
            unit: unit.max(1),
            next: 0,
            held_below: 0,
            not_held: 0,
            length: 0,
            bytes: 0,
        }
    }

    /// Changes the bytes that weigh as much as an entry.
    pub fn set_unit(&mut self, unit: usize) {
        if self.unit != unit.max(1) {
            self.unit = unit.max(1);
            self.weigh_again();
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Sum of their bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an entry.
    pub fn push(&mut self, prefix: Prefix, item: T, bytes: usize, now: Instant) {
        self.add(prefix, item, bytes, now, true);
    }

    /// Adds an entry that [`FairQueue::mark_held`] does not count.
    pub fn push_again(&mut self, prefix: Prefix, item: T, bytes: usize, now: Instant) {
        self.add(prefix, item, bytes, now, false);
    }

    fn add(&mut self, prefix: Prefix, item: T, bytes: usize, now: Instant, counts: bool) {
        let number = self.next;
        self.next += 1;
        self.length += 1;
        self.bytes += bytes;
        self.not_held += usize::from(counts);
        let weight = weight_of(bytes, self.unit);
        self.unlist(prefix);
        let queue = self.queues.entry(prefix);
        let queue = queue.or_insert_with(|| PrefixQueue { entries: VecDeque::new(), weight: 0 });
        queue.entries.push_back(Entry { item, bytes, since: now, held: false, number, counts });
        queue.weight += weight;
        self.list(prefix);
        self.publish();
    }

    /// Marks all entries as held. Returns how many were not before.
    pub fn mark_held(&mut self) -> usize {
        self.held_below = self.next;
        std::mem::take(&mut self.not_held)
    }

    /// The prefix whose turn is next; `None`: nothing waits, or all wait for entries of
    /// other cores.
    pub fn next_turn(&mut self, order: Order) -> Option<Prefix> {
        let prefix = loop {
            self.release();
            let next = match order {
                Order::Oldest => self.due.fronts.first(),
                Order::Newest => self.due.backs.last(),
            };
            let Some((_, prefix)) = next.copied() else { break None };
            // Another core may have served it.
            let known = self.known.get(&prefix).map(|turn| turn.at);
            match self.turns.last_of(prefix) {
                Some(at) if known.is_none_or(|known| at > known) => self.had_turn(prefix, at),
                _ => break Some(prefix),
            }
        };
        self.publish();
        prefix
    }

    /// The next entry of a prefix, and whether it is held.
    pub fn peek(&self, prefix: Prefix, order: Order) -> Option<(&T, bool)> {
        let entries = &self.queues.get(&prefix)?.entries;
        let entry = match order {
            Order::Oldest => entries.front(),
            Order::Newest => entries.back(),
        }?;
        Some((&entry.item, entry.number < self.held_below))
    }

    /// Removes the next entry of a prefix, which is served: the turn of its prefix.
    pub fn serve(&mut self, prefix: Prefix, order: Order, now: Instant) -> Option<Entry<T>> {
        let entry = self.take(prefix, order)?;
        self.turns.note(prefix, now);
        self.had_turn(prefix, now);
        self.publish();
        Some(entry)
    }

    /// Removes the next entry of a prefix, without a turn: it is not served.
    pub fn remove(&mut self, prefix: Prefix, order: Order) -> Option<Entry<T>> {
        let entry = self.take(prefix, order);
        self.publish();
        entry
    }

    /// Removes the oldest entry of all.
    pub fn pop_oldest(&mut self) -> Option<Entry<T>> {
        let prefix = self.oldest_front()?.1;
        self.remove(prefix, Order::Oldest)
    }

    /// Removes the oldest entry of the prefix whose entries weigh most.
    pub fn pop_oldest_of_largest(&mut self) -> Option<Entry<T>> {
        let prefix = self.weights.last()?.2;
        self.remove(prefix, Order::Oldest)
    }

    /// Since when the oldest entry of all waits.
    pub fn oldest_since(&self) -> Option<Instant> {
        self.oldest().map(|(since, _)| since)
    }

    /// The oldest entry of all: since when it waits, and its prefix.
    pub fn oldest(&self) -> Option<(Instant, Prefix)> {
        let front = self.oldest_front()?;
        Some((self.since(front)?, front.1))
    }

    /// The oldest entry of the prefixes with more than an equal share of `few` entries. Where
    /// there are more prefixes than that, each has more.
    pub fn oldest_of_many(&self, few: usize) -> Option<(Instant, Prefix)> {
        let prefixes = self.queues.len();
        if prefixes > few {
            return self.oldest();
        }
        let many = self.queues.iter().filter(|(_, it)| it.entries.len() * prefixes > few);
        many.filter_map(|(prefix, it)| Some((it.entries.front()?.since, *prefix))).min()
    }

    /// Since when the oldest entry waits of the prefixes whose turn is to come: no other
    /// has reason to complain of its wait.
    pub fn oldest_due_since(&self) -> Option<Instant> {
        self.since(self.due.fronts.first().copied().or_else(|| self.oldest_front())?)
    }

    /// The oldest entry of the prefixes whose turn is to come: since when, and its prefix.
    fn oldest_due(&self) -> Option<(Instant, Prefix)> {
        let front = *self.due.fronts.first()?;
        Some((self.since(front)?, front.1))
    }

    fn oldest_front(&self) -> Option<(u64, Prefix)> {
        let fronts = [&self.due.fronts, &self.had.fronts].map(|fronts| fronts.first().copied());
        fronts.into_iter().flatten().min()
    }

    fn since(&self, (_, prefix): (u64, Prefix)) -> Option<Instant> {
        self.queues.get(&prefix)?.entries.front().map(|entry| entry.since)
    }

    /// A prefix had its turn, here or on another core.
    fn had_turn(&mut self, prefix: Prefix, at: Instant) {
        if self.order.len() >= MOST_TURNS {
            self.forget_turns();
        }
        self.unlist(prefix);
        self.known.insert(prefix, Turn { at, waits: true });
        self.order.push_back((at, prefix));
        self.list(prefix);
    }

    /// The turn is to come again of prefixes whose last one nobody has seen who waits for
    /// theirs. A prefix does not wait for its own entries on other cores.
    fn release(&mut self) {
        // Mostly nobody waits, and the other cores need not be asked.
        if self.order.is_empty() {
            return;
        }
        let elsewhere = self.turns.waiting_elsewhere(self.core);
        let oldest: Vec<_> = self.oldest_due().into_iter().chain(elsewhere).collect();
        let has_seen = |at: Instant, prefix: Prefix| {
            oldest.iter().any(|(since, other)| *other != prefix && *since <= at)
        };
        while let Some((at, prefix)) = self.order.front().copied()
            && !has_seen(at, prefix)
        {
            self.order.pop_front();
            if self.known.get(&prefix).is_none_or(|turn| turn.at != at) {
                continue;
            }
            self.unlist(prefix);
            // Without entries nothing has to be known of it.
            if self.queues.contains_key(&prefix) {
                self.known.insert(prefix, Turn { at, waits: false });
            } else {
                self.known.remove(&prefix);
            }
            self.list(prefix);
        }
    }

    fn forget_turns(&mut self) {
        self.known.clear();
        self.order.clear();
        self.due.fronts.append(&mut self.had.fronts);
        self.due.backs.append(&mut self.had.backs);
    }

    /// Tells the other cores since when an entry waits here.
    fn publish(&self) {
        self.turns.waits(self.core, self.oldest_due());
    }

    /// Removes an entry of a prefix.
    fn take(&mut self, prefix: Prefix, order: Order) -> Option<Entry<T>> {
        if !self.queues.contains_key(&prefix) {
            return None;
        }
        self.unlist(prefix);
        let queue = self.queues.get_mut(&prefix)?;
        let mut entry = match order {
            Order::Oldest => queue.entries.pop_front(),
            Order::Newest => queue.entries.pop_back(),
        }?;
        queue.weight -= weight_of(entry.bytes, self.unit);
        if queue.entries.is_empty() {
            self.queues.remove(&prefix);
            if self.known.get(&prefix).is_some_and(|turn| !turn.waits) {
                self.known.remove(&prefix);
            }
        }
        self.list(prefix);
        self.length -= 1;
        self.bytes -= entry.bytes;
        entry.held = entry.number < self.held_below;
        self.not_held -= usize::from(!entry.held && entry.counts);
        if self.length == 0 {
            self.forget_turns();
        }
        Some(entry)
    }

    /// Enters the queue of a prefix, if it has one, in all orders.
    fn list(&mut self, prefix: Prefix) {
        let Some((front, back, weight)) = self.ends(prefix) else { return };
        let ends = if self.waits(prefix) { &mut self.had } else { &mut self.due };
        ends.fronts.insert((front, prefix));
        ends.backs.insert((back, prefix));
        self.weights.insert((weight, Reverse(front), prefix));
    }

    /// Removes the queue of a prefix, if it has one, from all orders: before it changes.
    fn unlist(&mut self, prefix: Prefix) {
        let Some((front, back, weight)) = self.ends(prefix) else { return };
        let ends = if self.waits(prefix) { &mut self.had } else { &mut self.due };
        ends.fronts.remove(&(front, prefix));
        ends.backs.remove(&(back, prefix));
        self.weights.remove(&(weight, Reverse(front), prefix));
    }

    fn weigh_again(&mut self) {
        let prefixes: Vec<_> = self.queues.keys().copied().collect();
        for prefix in prefixes {
            self.unlist(prefix);
            if let Some(queue) = self.queues.get_mut(&prefix) {
                queue.weight =
                    queue.entries.iter().map(|entry| weight_of(entry.bytes, self.unit)).sum();
            }
            self.list(prefix);
        }
    }

    /// Whether a prefix waits for others before its next turn.
    fn waits(&self, prefix: Prefix) -> bool {
        self.known.get(&prefix).is_some_and(|turn| turn.waits)
    }

    fn ends(&self, prefix: Prefix) -> Option<(u64, u64, usize)> {
        let queue = self.queues.get(&prefix)?;
        Some((queue.entries.front()?.number, queue.entries.back()?.number, queue.weight))
    }
}

/// What an entry of so many bytes weighs.
fn weight_of(bytes: usize, unit: usize) -> usize {
    bytes.div_ceil(unit).max(1)
}

#[cfg(test)]
mod tests;
