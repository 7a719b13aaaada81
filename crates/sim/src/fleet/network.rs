//! Messages on their way, and the lease.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::time::Duration;

use tidegate_control::Experience;
use tidegate_control::fleet::{Demand, Divider, FleetExperience, LEASE, TAKE_OVER_AFTER, Table};

use super::{Fleet, Network, What};
use crate::machine::Ordered;
use crate::random::Random;

/// A message from one gate to another.
pub(super) enum Message {
    /// To whoever divides.
    Report(usize, Demand),
    Experience(usize, Experience),
    /// From one gate to another.
    Table(usize, usize, Rc<Table>),
    Learned(usize, usize, Rc<FleetExperience>),
}

/// Messages on their way.
pub(super) struct Messages {
    network: Network,
    random: Random,
    under_way: BinaryHeap<Reverse<(Ordered, usize)>>,
    places: Vec<Option<Message>>,
    free: Vec<usize>,
}

impl Messages {
    pub(super) fn new(network: Network, random: Random) -> Self {
        Self { network, random, under_way: BinaryHeap::new(), places: Vec::new(), free: Vec::new() }
    }

    pub(super) fn send(&mut self, now: f64, message: Message) {
        if self.random.uniform() <= self.network.loss {
            return;
        }
        let Network { delay_s, jitter_s, .. } = self.network;
        let at = now + delay_s + self.random.exponential(jitter_s);
        let place = self.free.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] = Some(message);
        self.under_way.push(Reverse((Ordered(at), place)));
    }

    /// The next message that has arrived.
    pub(super) fn arrived(&mut self, now: f64) -> Option<Message> {
        let Reverse((at, _)) = self.under_way.peek()?;
        if at.0 > now {
            return None;
        }
        let Reverse((_, place)) = self.under_way.pop()?;
        self.free.push(place);
        self.places[place].take()
    }
}

/// The lease, and who divides by it. The one before may not know yet that it has lost it.
#[derive(Default)]
pub(super) struct Lease {
    revision: u64,
    renewed_at: Option<f64>,
    /// Gates with a divider.
    pub(super) dividers: Vec<(usize, Divider)>,
}

impl Lease {
    /// The holder renews it if it reaches the majority, which it sent at `sent_s`; if nobody does
    /// for long enough, the first gate of the majority takes it.
    pub(super) fn renew(&mut self, now: f64, sent_s: f64, sides: &[Option<Side>]) {
        let time = Duration::from_secs_f64(now);
        let majority = |gate: usize| sides[gate] == Some(Side::Majority);
        self.dividers.retain(|(gate, divider)| majority(*gate) || !divider.is_over(time));
        let until = Duration::from_secs_f64(sent_s) + LEASE;
        if let Some((_, divider)) = self.dividers.last_mut().filter(|(gate, _)| majority(*gate)) {
            divider.renew(until);
            self.renewed_at = Some(now);
        } else if self.renewed_at.is_none_or(|at| now - at >= TAKE_OVER_AFTER.as_secs_f64())
            && let Some(gate) = (0..sides.len()).find(|gate| majority(*gate))
        {
            self.revision += 1;
            self.dividers.push((gate, Divider::new(self.revision, until, time)));
            self.renewed_at = Some(now);
        }
    }
}

/// Whom a gate reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Majority,
    Minority,
    Nobody,
}

/// Whom a gate reaches at a time; `None`: it is down.
pub(super) fn side(fleet: &Fleet, gate: usize, now: f64) -> Option<Side> {
    let at = |what| {
        fleet.faults.iter().any(|fault| {
            fault.what == what && fault.gates.contains(&gate) && fault.time_s.contains(&now)
        })
    };
    if at(What::Down) {
        return None;
    }
    Some(match (at(What::Unreachable), at(What::Apart)) {
        (true, _) => Side::Nobody,
        (_, true) => Side::Minority,
        _ => Side::Majority,
    })
}
