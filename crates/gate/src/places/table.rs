//! The places of one core, by prefix and kind.

use crate::places::allowance::Allowance;
use crate::places::kind::{Group, PlaceKind};
use crate::places::place::{Place, Seat};
use crate::places::prefix::{Prefix, PrefixLengths};
use crate::places::tally::Tally;
use crate::telemetry::counters::Counters;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// So many places of a prefix are compared to choose the one that gives way.
const COMPARED: usize = 16;

/// The places of one core.
pub struct Places {
    lengths: Cell<PrefixLengths>,
    most: Cell<usize>,
    table: RefCell<Table>,
    /// Where the next comparison begins.
    cursor: Cell<usize>,
    allowance: RefCell<Allowance>,
    /// The origin of the allowance's times.
    origin: Instant,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Table {
    /// Prefixes with places, and no others: there are no more than connections.
    slots: HashMap<Prefix, u32>,
    prefixes: Vec<PrefixPlaces>,
    free: Vec<u32>,
    tallies: [Tally; Group::ALL.len()],
}

/// The places of one prefix.
struct PrefixPlaces {
    prefix: Prefix,
    seats: [Vec<Rc<Seat>>; PlaceKind::COUNT],
}

/// There is no room for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// There is when a connection of this prefix has left the admission queue.
    UntilQueuedLeaves(Prefix),
    /// No other prefix has more.
    ForThisPrefix,
}

impl Places {
    /// So many free places, shared by prefixes of these lengths.
    pub fn new(most: usize, lengths: PrefixLengths, counters: Arc<Counters>) -> Rc<Self> {
        Rc::new(Self {
            lengths: Cell::new(lengths),
            most: Cell::new(most),
            table: RefCell::default(),
            cursor: Cell::new(0),
            allowance: RefCell::new(Allowance::new(most / 2)),
            origin: Instant::now(),
            counters,
        })
    }

    /// Changes the number of places and the lengths of prefixes. Connections keep the places
    /// that they have, also those of the former prefixes.
    pub fn set_limits(&self, most: usize, lengths: PrefixLengths) {
        self.most.set(most);
        self.lengths.set(lengths);
        self.allowance.borrow_mut().set_most(most / 2);
    }

    /// The prefix of an address.
    pub fn prefix_of(&self, address: IpAddr) -> Prefix {
        self.lengths.get().prefix_of(address)
    }

    /// Whether there is a place for a connection, or one that gives way to it.
    pub fn has_place(&self, prefix: Prefix, kind: PlaceKind) -> bool {
        let table = self.table.borrow();
        let shortage = self.shortage(&table, kind);
        shortage.is_none_or(|group| self.gives_way(&table, prefix, kind, group).is_some())
    }

    /// Whether a client of this prefix may begin a handshake with a ticket: there is a
    /// place, and not too many before have begun and not finished.
    pub fn may_prove(&self, prefix: Prefix) -> bool {
        self.has_place(prefix, PlaceKind::Unproven)
            && self.allowance.borrow_mut().is_left(prefix, self.origin.elapsed())
    }

    /// Makes room for a connection. Where places of its kind are scarce, a connection of
    /// the prefix with the most of them gives way, if that has at least two more than this
    /// one: one leaves for one that comes, and nothing that is reserved is used up.
    ///
    /// # Errors
    /// There is no room, or not yet.
    pub fn make_room(&self, prefix: Prefix, kind: PlaceKind) -> Result<(), Full> {
        let mut table = self.table.borrow_mut();
        let Some(group) = self.shortage(&table, kind) else { return Ok(()) };
        let gives_way = self.gives_way(&table, prefix, kind, group);
        let (slot, group) = gives_way.ok_or(Full::ForThisPrefix)?;
        let seat = table.least(slot, group, &self.cursor).ok_or(Full::ForThisPrefix)?;
        if seat.kind.get() == PlaceKind::Queued {
            return Err(Full::UntilQueuedLeaves(table.prefixes[slot as usize].prefix));
        }
        table.unseat(&seat);
        seat.displace();
        Ok(())
    }

    /// Takes a place for which room was made.
    pub fn take(self: &Rc<Self>, prefix: Prefix, kind: PlaceKind) -> Place {
        let seat = self.table.borrow_mut().seat(prefix, kind);
        self.counters.open.add(1);
        match kind {
            PlaceKind::FirstFlight => self.counters.in_first_flight.add(1),
            PlaceKind::Unproven => self.allowance.borrow_mut().begin(prefix, self.origin.elapsed()),
            _ => {}
        }
        Place::new(self.clone(), seat)
    }

    /// The group in which a place is missing for a connection of this kind.
    ///
    /// The last eighth is for active sessions. Connections with an incomplete first flight
    /// are what a flood consists of, and a returning customer whose hello came in two
    /// segments may be among them: so they may use half of the places whatever else is
    /// open, and the last sixteenth is for connections that send a ticket at once. Those
    /// may use half as well until their handshakes are finished.
    fn shortage(&self, table: &Table, kind: PlaceKind) -> Option<Group> {
        let (most, open) = (self.most.get(), table.taken(Group::All));
        // One at least: the smallest gate serves hellos in two segments too.
        let half = (most / 2).max(1);
        match kind {
            PlaceKind::FirstFlight if table.taken(Group::FirstFlights) >= half => {
                Some(Group::FirstFlights)
            }
            PlaceKind::FirstFlight => (open >= most - most / 16).then_some(Group::Newcomers),
            PlaceKind::Unproven if table.taken(Group::Unproven) >= half => Some(Group::Unproven),
            PlaceKind::Unproven | PlaceKind::Returning => (open >= most).then_some(Group::All),
            PlaceKind::Queued | PlaceKind::New => {
                (open >= most - most / 8).then_some(Group::Newcomers)
            }
        }
    }

    /// The slot of which a connection gives way, and the group in which it is chosen.
    fn gives_way(
        &self,
        table: &Table,
        prefix: Prefix,
        kind: PlaceKind,
        group: Group,
    ) -> Option<(u32, Group)> {
        let found = |group| table.larger_than(group, prefix).map(|slot| (slot, group));
        match (group, kind) {
            (Group::All, _) => found(Group::Newcomers).or_else(|| found(Group::All)),
            // Connections of active sessions do not give way to newcomers, unless one
            // prefix has most of all places.
            (Group::Newcomers, PlaceKind::Queued | PlaceKind::New) => found(group).or_else(|| {
                let (slot, all) = found(Group::All)?;
                let most = table.tally(all).count(slot) > self.most.get() / 2;
                most.then_some((slot, all))
            }),
            _ => found(group),
        }
    }

    pub(super) fn prefix_at(&self, slot: u32) -> Prefix {
        self.table.borrow().prefixes[slot as usize].prefix
    }

    pub(super) fn change(&self, seat: &Rc<Seat>, kind: PlaceKind) {
        let before = seat.kind.get();
        match (before == PlaceKind::FirstFlight, kind == PlaceKind::FirstFlight) {
            (true, false) => self.counters.in_first_flight.sub(1),
            (false, true) => self.counters.in_first_flight.add(1),
            _ => {}
        }
        // Whoever comes from the waiting room is new after the handshake.
        if before == PlaceKind::Unproven && matches!(kind, PlaceKind::Returning | PlaceKind::New) {
            let prefix = self.prefix_at(seat.slot);
            self.allowance.borrow_mut().finish(prefix, self.origin.elapsed());
        }
        if !seat.displaced.get() {
            self.table.borrow_mut().change(seat, kind);
        }
        seat.kind.set(kind);
    }

    pub(super) fn leave(&self, seat: &Rc<Seat>) {
        self.counters.open.sub(1);
        if seat.kind.get() == PlaceKind::FirstFlight {
            self.counters.in_first_flight.sub(1);
        }
        if !seat.displaced.get() {
            self.table.borrow_mut().unseat(seat);
        }
    }
}

impl Table {
    fn tally(&self, group: Group) -> &Tally {
        &self.tallies[group as usize]
    }

    fn taken(&self, group: Group) -> usize {
        self.tally(group).sum()
    }

    /// The slot with the most places of a group, if these are at least two more than those
    /// of this prefix: with one more, the two would take the place from each other.
    fn larger_than(&self, group: Group, prefix: Prefix) -> Option<u32> {
        let tally = self.tally(group);
        let largest = tally.largest()?;
        let own = self.slots.get(&prefix).map_or(0, |slot| tally.count(*slot));
        (tally.count(largest) >= own + 2).then_some(largest)
    }

    /// Of the places of a slot in a group, the one that gives way: of the first kind, and
    /// of some of these the one with the least loss.
    fn least(&self, slot: u32, group: Group, cursor: &Cell<usize>) -> Option<Rc<Seat>> {
        let seats = &self.prefixes[slot as usize].seats;
        let kinds = group.kinds().iter().map(|kind| &seats[*kind as usize]);
        let seats = kinds.into_iter().find(|seats| !seats.is_empty())?;
        let begin = cursor.get();
        let compared = (0..COMPARED.min(seats.len())).map(|n| &seats[(begin + n) % seats.len()]);
        cursor.set(begin.wrapping_add(COMPARED));
        compared.min_by_key(|seat| seat.loss()).cloned()
    }

    /// Seats a connection.
    fn seat(&mut self, prefix: Prefix, kind: PlaceKind) -> Rc<Seat> {
        let slot = match self.slots.get(&prefix) {
            Some(slot) => *slot,
            None => self.open_slot(prefix),
        };
        let seat = Seat::new(slot, kind);
        self.put_in(&seat, kind);
        for group in Group::ALL.into_iter().filter(|group| group.includes(kind)) {
            self.tallies[group as usize].add(slot);
        }
        seat
    }

    fn unseat(&mut self, seat: &Rc<Seat>) {
        let (slot, kind) = (seat.slot, seat.kind.get());
        self.take_out(seat);
        for group in Group::ALL.into_iter().filter(|group| group.includes(kind)) {
            self.tallies[group as usize].sub(slot);
        }
        if self.tally(Group::All).count(slot) == 0 {
            let places = &mut self.prefixes[slot as usize];
            places.seats = Default::default();
            self.slots.remove(&places.prefix);
            self.free.push(slot);
        }
    }

    fn change(&mut self, seat: &Rc<Seat>, kind: PlaceKind) {
        let (slot, before) = (seat.slot, seat.kind.get());
        self.take_out(seat);
        self.put_in(seat, kind);
        for group in Group::ALL {
            match (group.includes(before), group.includes(kind)) {
                (true, false) => self.tallies[group as usize].sub(slot),
                (false, true) => self.tallies[group as usize].add(slot),
                _ => {}
            }
        }
    }

    fn open_slot(&mut self, prefix: Prefix) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.prefixes.push(PrefixPlaces { prefix, seats: Default::default() });
            self.prefixes.len() as u32 - 1
        });
        self.prefixes[slot as usize].prefix = prefix;
        self.slots.insert(prefix, slot);
        slot
    }

    fn put_in(&mut self, seat: &Rc<Seat>, kind: PlaceKind) {
        let seats = &mut self.prefixes[seat.slot as usize].seats[kind as usize];
        seat.index.set(seats.len());
        seats.push(seat.clone());
    }

    fn take_out(&mut self, seat: &Seat) {
        let seats = &mut self.prefixes[seat.slot as usize].seats[seat.kind.get() as usize];
        let index = seat.index.get();
        seats.swap_remove(index);
        if let Some(moved) = seats.get(index) {
            moved.index.set(index);
        }
    }
}

#[cfg(test)]
mod tests;
