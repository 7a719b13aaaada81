//! The division of the service among the gates that are heard of.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::pool::{self, Pool};
use super::{
    Demand, FleetExperience, GateShare, LEASE, LOST_AFTER, MOST_GATES, Malformed, SAFE_AFTER,
    TAKE_OVER_AFTER, Table, divide,
};
use crate::{Experience, Time};

/// Time without a report after which a gate's share is no longer changed: it may not know.
const SILENT_AFTER: Duration = Duration::from_millis(500);
/// How long a lost gate counts in [`Table::gates`].
const REMEMBERED_FOR: Duration = Duration::from_secs(600);
/// Memory of rates, in seconds, where new sessions are many.
const MEMORY_S: f64 = 0.3;
/// The same where they are few.
const MEMORY_MAX_S: f64 = 1.5;
/// New sessions that the memory should hold.
const EVIDENCE: f64 = 20.0;

/// Divides the service among gates. One at a time: whoever holds the lease has it.
///
/// It makes tables only while its lease is [renewed](Self::renew), so that a holder that is cut
/// off stops before it gives the shares of the others away. One that begins divides at first only
/// what the gates that report have: what is left may belong to gates that it does not hear. It
/// divides the whole when all of these have fallen to their safe share.
#[derive(Clone, Debug)]
pub struct Divider {
    epoch: u64,
    sequence: u64,
    /// From when on the tables of the holder before are no longer valid anywhere.
    alone_from: Time,
    valid_until: Time,
    gates: BTreeMap<String, Gate>,
    pool: Pool,
}

/// What is known of a gate.
#[derive(Clone, Debug)]
struct Gate {
    start: u64,
    heard: Time,
    last: Demand,
    committed: f64,
    offered_per_s: Option<f64>,
    requests_per_s: f64,
    /// As in the last table; before the first, what the gate has.
    share: f64,
}

impl Gate {
    fn new(now: Time, demand: &Demand) -> Self {
        Self {
            start: demand.start,
            heard: now,
            last: demand.clone(),
            committed: demand.committed,
            offered_per_s: None,
            requests_per_s: 0.0,
            share: demand.share,
        }
    }

    fn is_lost(&self, now: Time) -> bool {
        now.saturating_sub(self.heard) >= LOST_AFTER
    }

    fn is_silent(&self, now: Time) -> bool {
        now.saturating_sub(self.heard) >= SILENT_AFTER
    }

    fn demand(&self) -> (f64, f64) {
        (self.committed, self.offered_per_s.unwrap_or(0.0) * self.last.session)
    }

    fn learn(&mut self, demand: &Demand) {
        let last = &self.last;
        let seconds = demand.at_ms.saturating_sub(last.at_ms) as f64 * 1e-3;
        if seconds <= 0.0 {
            return;
        }
        let per_s = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let towards = |old: f64, new: f64, memory_s: f64| {
            old + (1.0 - (-seconds / memory_s).exp()) * (new - old)
        };
        let offered_per_s = per_s(demand.offered, last.offered);
        let known = self.offered_per_s.unwrap_or(offered_per_s);
        let memory_s = (EVIDENCE / offered_per_s.max(known)).clamp(MEMORY_S, MEMORY_MAX_S);
        self.offered_per_s = Some(towards(known, offered_per_s, memory_s));
        self.committed = towards(self.committed, demand.committed, MEMORY_S);
        let requests_per_s = per_s(demand.requests, last.requests);
        self.requests_per_s = towards(self.requests_per_s, requests_per_s, MEMORY_S);
    }
}

impl Divider {
    /// One that holds the lease of this revision until `valid_until`.
    pub fn new(epoch: u64, valid_until: Time, now: Time) -> Self {
        let alone_from = now + LEASE + SAFE_AFTER - TAKE_OVER_AFTER;
        let (gates, pool) = (BTreeMap::new(), Pool::default());
        Self { epoch, sequence: 0, alone_from, valid_until, gates, pool }
    }

    /// The lease was renewed and is valid until then: at most [`LEASE`] after the
    /// moment before the renewal was sent.
    pub fn renew(&mut self, valid_until: Time) {
        self.valid_until = valid_until;
    }

    /// Whether the lease is over, so that it makes no more tables.
    pub fn is_over(&self, now: Time) -> bool {
        now >= self.valid_until
    }

    /// Takes a report that arrived.
    ///
    /// # Errors
    ///
    /// If it is malformed or older than the last of this gate, or there are too many gates.
    /// Then it changes nothing.
    pub fn report(&mut self, now: Time, demand: &Demand) -> Result<(), Refused> {
        demand.check().map_err(Refused::Malformed)?;
        if !self.gates.contains_key(&demand.gate) && self.gates.len() >= MOST_GATES {
            return Err(Refused::TooMany);
        }
        match self.gates.get_mut(&demand.gate) {
            Some(gate) if demand.start == gate.start => {
                if demand.sequence <= gate.last.sequence {
                    return Err(Refused::Old);
                }
                gate.learn(demand);
                (gate.heard, gate.last) = (now, demand.clone());
            }
            // One that started later, and is gone, gives the name back.
            Some(gate) if demand.start < gate.start && !gate.is_lost(now) => {
                return Err(Refused::Old);
            }
            _ => {
                self.gates.insert(demand.gate.clone(), Gate::new(now, demand));
                self.pool.has_newcomer();
            }
        }
        Ok(())
    }

    /// Takes what a gate has learned. What a gate tells that has not reported is ignored.
    ///
    /// # Errors
    /// It cannot be what a gate has learned. Then it changes nothing.
    pub fn learn(&mut self, gate: &str, experience: &Experience) -> Result<(), Malformed> {
        pool::check(experience)?;
        if self.gates.contains_key(gate) {
            self.pool.add(gate, experience);
        }
        Ok(())
    }

    /// What all gates are to be told now, before the next table: what they have learned together,
    /// each [`EXPERIENCE_INTERVAL`](super::EXPERIENCE_INTERVAL) and when a gate has started.
    pub fn experience(&mut self, now: Time) -> Option<FleetExperience> {
        if self.is_over(now) {
            return None;
        }
        let experience = self.pool.due(now)?;
        Some(FleetExperience { epoch: self.epoch, experience })
    }

    /// The next table. `None`: the lease is over, or no gate is heard of.
    pub fn table(&mut self, now: Time) -> Option<Table> {
        if self.is_over(now) {
            return None;
        }
        self.gates.retain(|_, gate| now.saturating_sub(gate.heard) < REMEMBERED_FOR);
        let heard = |gate: &Gate| !gate.is_silent(now);
        let sum = |of: &dyn Fn(&Gate) -> bool| -> f64 {
            self.gates.values().filter(|gate| of(gate)).map(|gate| gate.share).sum()
        };
        let held = sum(&|gate| !gate.is_lost(now) && gate.is_silent(now));
        let whole = if now >= self.alone_from { 1.0 } else { sum(&|_| true).min(1.0) };
        let demands: Vec<_> =
            self.gates.values().filter(|gate| heard(gate)).map(Gate::demand).collect();
        let mut shares = divide((whole - held).max(0.0), &demands).into_iter();
        for gate in self.gates.values_mut() {
            if heard(gate) {
                gate.share = shares.next().expect("a share for each gate that is heard");
            } else if gate.is_lost(now) {
                (gate.share, gate.requests_per_s, gate.offered_per_s) = (0.0, 0.0, None);
            }
        }
        let listed = self.gates.iter().filter(|(_, gate)| !gate.is_lost(now));
        let shares: Vec<_> = listed
            .map(|(name, gate)| GateShare {
                gate: name.clone(),
                start: gate.start,
                report: gate.last.sequence,
                share: gate.share,
                requests_per_s: gate.requests_per_s,
            })
            .collect();
        if shares.is_empty() {
            return None;
        }
        self.sequence += 1;
        Some(Table {
            epoch: self.epoch,
            sequence: self.sequence,
            gates: self.gates.len() as u32,
            requests_per_s: shares.iter().map(|line| line.requests_per_s).sum(),
            shares,
        })
    }
}

/// Why a report was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A value cannot be true.
    Malformed(Malformed),
    /// It is not newer than the last of this gate, or of an earlier start.
    Old,
    /// There are [`MOST_GATES`] gates already.
    TooMany,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Old => f.write_str("the report is not newer than the last of this gate"),
            Self::TooMany => write!(f, "the fleet has {MOST_GATES} gates already"),
        }
    }
}

impl std::error::Error for Refused {}
