//! Entries that wait in lines, one line per prefix, and take turns by prefix: deficit
//! round robin with one entry for each turn.
//!
//! In a round each prefix has one turn while another prefix has not had its own. So a
//! prefix with a thousand entries is served as often as one with a few, and adding entries
//! gains nothing. A prefix that was served keeps that until the round is over, also when
//! its line is empty: coming one by one gains nothing either. A round is over when all that
//! wait have had their turn, and after a time, since under a lasting overload new prefixes
//! may always come, for which those with many customers must not wait.
//!
//! Source: Shreedhar and Varghese 1996, "Efficient Fair Queuing Using Deficit Round-Robin".
//! Deviation: an entry costs one turn whatever its size, as an admission does, so no
//! deficit is carried over; and within a round the prefix with the oldest or the newest
//! entry is next, instead of a fixed order of prefixes.

use crate::places::Prefix;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

/// So many prefixes have had their turn when a round is over at the latest.
const ROUND_PREFIXES: usize = 4096;

/// Which end of the lines is next.
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
    /// It came since the last [`Lines::mark_decided`].
    pub undecided: bool,
    number: u64,
}

/// Entries in lines, one per prefix.
#[derive(Debug)]
pub struct Lines<T> {
    lines: HashMap<Prefix, Line<T>>,
    /// The lines whose prefix has its turn to come, and those whose prefix has had it.
    due: Ends,
    had: Ends,
    /// The lines by weight; of equal ones the one with the oldest entry is the last.
    weights: BTreeSet<(usize, Reverse<u64>, Prefix)>,
    /// The prefixes that have had their turn in this round.
    served: HashSet<Prefix>,
    round: Duration,
    round_began: Instant,
    /// Bytes that weigh as much as an entry.
    unit: usize,
    /// The number of the next entry, and of the first undecided one.
    next: u64,
    undecided_from: u64,
    undecided: usize,
    length: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Line<T> {
    /// The oldest in front; never empty.
    entries: VecDeque<Entry<T>>,
    weight: usize,
}

/// Lines in the order of their first and of their last entries.
#[derive(Debug, Default)]
struct Ends {
    fronts: BTreeSet<(u64, Prefix)>,
    backs: BTreeSet<(u64, Prefix)>,
}

impl<T> Lines<T> {
    /// Changes the length of rounds and the bytes that weigh as much as an entry.
    pub fn set_rounds(&mut self, round: Duration, unit: usize) {
        self.round = round;
        if self.unit != unit.max(1) {
            self.unit = unit.max(1);
            self.weigh_again();
        }
    }

    /// No entries yet. A round lasts for `round` at most; an entry weighs one, or one for
    /// each `unit` bytes begun.
    pub fn new(round: Duration, unit: usize, now: Instant) -> Self {
        Self {
            lines: HashMap::new(),
            due: Ends::default(),
            had: Ends::default(),
            weights: BTreeSet::new(),
            served: HashSet::new(),
            round,
            round_began: now,
            unit: unit.max(1),
            next: 0,
            undecided_from: 0,
            undecided: 0,
            length: 0,
            bytes: 0,
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
        let number = self.next;
        self.next += 1;
        self.length += 1;
        self.bytes += bytes;
        self.undecided += 1;
        let weight = weight_of(bytes, self.unit);
        self.unlist(prefix);
        let line = self.lines.entry(prefix);
        let line = line.or_insert_with(|| Line { entries: VecDeque::new(), weight: 0 });
        line.entries.push_back(Entry { item, bytes, since: now, undecided: true, number });
        line.weight += weight;
        self.list(prefix);
    }

    /// Marks all entries as decided on. Returns how many were not before.
    pub fn mark_decided(&mut self) -> usize {
        self.undecided_from = self.next;
        std::mem::take(&mut self.undecided)
    }

    /// The entry whose turn is next, and whether it is undecided.
    pub fn peek(&mut self, order: Order, now: Instant) -> Option<(&T, bool)> {
        let prefix = self.prefix_in_turn(order, now)?;
        let entries = &self.lines.get(&prefix)?.entries;
        let entry = match order {
            Order::Oldest => entries.front(),
            Order::Newest => entries.back(),
        }?;
        Some((&entry.item, entry.number >= self.undecided_from))
    }

    /// Removes the entry whose turn is next, without a turn for its prefix: it is not
    /// served.
    pub fn pop(&mut self, order: Order, now: Instant) -> Option<Entry<T>> {
        let prefix = self.prefix_in_turn(order, now)?;
        self.remove(prefix, order)
    }

    /// Removes the entry whose turn is next, which is served.
    pub fn serve(&mut self, order: Order, now: Instant) -> Option<Entry<T>> {
        let prefix = self.prefix_in_turn(order, now)?;
        let entry = self.remove_served(prefix, order, true)?;
        if self.length == 0 {
            self.begin_round(now);
        }
        Some(entry)
    }

    /// Removes the oldest entry of all.
    pub fn pop_oldest(&mut self) -> Option<Entry<T>> {
        let prefix = self.oldest_front()?.1;
        self.remove(prefix, Order::Oldest)
    }

    /// Removes the oldest entry of a prefix.
    pub fn pop_oldest_of(&mut self, prefix: Prefix) -> Option<Entry<T>> {
        self.remove(prefix, Order::Oldest)
    }

    /// Removes the oldest entry of the prefix whose entries weigh most.
    pub fn pop_oldest_of_heaviest(&mut self) -> Option<Entry<T>> {
        let prefix = self.weights.last()?.2;
        self.remove(prefix, Order::Oldest)
    }

    /// Since when the oldest entry of all waits.
    pub fn oldest_since(&self) -> Option<Instant> {
        self.since(self.oldest_front()?)
    }

    /// Since when the oldest entry waits of the prefixes whose turn is to come: no other
    /// has reason to complain of its wait.
    pub fn oldest_due_since(&self) -> Option<Instant> {
        self.since(self.due.fronts.first().copied().or_else(|| self.oldest_front())?)
    }

    fn oldest_front(&self) -> Option<(u64, Prefix)> {
        let fronts = [&self.due.fronts, &self.had.fronts].map(|fronts| fronts.first().copied());
        fronts.into_iter().flatten().min()
    }

    fn since(&self, (_, prefix): (u64, Prefix)) -> Option<Instant> {
        self.lines.get(&prefix)?.entries.front().map(|entry| entry.since)
    }

    fn prefix_in_turn(&mut self, order: Order, now: Instant) -> Option<Prefix> {
        let late = now.saturating_duration_since(self.round_began) >= self.round;
        if self.due.fronts.is_empty() || late || self.served.len() >= ROUND_PREFIXES {
            self.begin_round(now);
        }
        let next = match order {
            Order::Oldest => self.due.fronts.first(),
            Order::Newest => self.due.backs.last(),
        };
        next.map(|(_, prefix)| *prefix)
    }

    fn begin_round(&mut self, now: Instant) {
        self.round_began = now;
        self.served.clear();
        self.due.fronts.append(&mut self.had.fronts);
        self.due.backs.append(&mut self.had.backs);
    }

    fn remove(&mut self, prefix: Prefix, order: Order) -> Option<Entry<T>> {
        self.remove_served(prefix, order, false)
    }

    /// Removes an entry of a prefix; `served` if that was the turn of the prefix.
    fn remove_served(&mut self, prefix: Prefix, order: Order, served: bool) -> Option<Entry<T>> {
        if !self.lines.contains_key(&prefix) {
            return None;
        }
        self.unlist(prefix);
        let line = self.lines.get_mut(&prefix)?;
        let mut entry = match order {
            Order::Oldest => line.entries.pop_front(),
            Order::Newest => line.entries.pop_back(),
        }?;
        line.weight -= weight_of(entry.bytes, self.unit);
        if line.entries.is_empty() {
            self.lines.remove(&prefix);
        }
        if served {
            self.served.insert(prefix);
        }
        self.list(prefix);
        self.length -= 1;
        self.bytes -= entry.bytes;
        entry.undecided = entry.number >= self.undecided_from;
        self.undecided -= usize::from(entry.undecided);
        Some(entry)
    }

    /// Enters the line of a prefix, if it has one, in all orders.
    fn list(&mut self, prefix: Prefix) {
        let Some((front, back, weight)) = self.ends(prefix) else { return };
        let ends = if self.served.contains(&prefix) { &mut self.had } else { &mut self.due };
        ends.fronts.insert((front, prefix));
        ends.backs.insert((back, prefix));
        self.weights.insert((weight, Reverse(front), prefix));
    }

    /// Removes the line of a prefix, if it has one, from all orders: before it changes.
    fn unlist(&mut self, prefix: Prefix) {
        let Some((front, back, weight)) = self.ends(prefix) else { return };
        let ends = if self.served.contains(&prefix) { &mut self.had } else { &mut self.due };
        ends.fronts.remove(&(front, prefix));
        ends.backs.remove(&(back, prefix));
        self.weights.remove(&(weight, Reverse(front), prefix));
    }

    fn weigh_again(&mut self) {
        let prefixes: Vec<_> = self.lines.keys().copied().collect();
        for prefix in prefixes {
            self.unlist(prefix);
            if let Some(line) = self.lines.get_mut(&prefix) {
                line.weight =
                    line.entries.iter().map(|entry| weight_of(entry.bytes, self.unit)).sum();
            }
            self.list(prefix);
        }
    }

    fn ends(&self, prefix: Prefix) -> Option<(u64, u64, usize)> {
        let line = self.lines.get(&prefix)?;
        Some((line.entries.front()?.number, line.entries.back()?.number, line.weight))
    }
}

/// What an entry of so many bytes weighs.
fn weight_of(bytes: usize, unit: usize) -> usize {
    bytes.div_ceil(unit).max(1)
}

#[cfg(test)]
mod tests;
