//! The division of the service among the gates that are heard of.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::{Demand, GateShare, LOST_AFTER, MOST_GATES, Malformed, Table, divide};
use crate::Time;
use crate::number::sane;

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
/// A holder that is cut off must stop before it gives the shares of the others away. So a
/// divider makes tables only while its lease is [renewed](Self::renew). One that follows another
/// begins with the other's last table: what that gave is held until the gates report, or are
/// lost. Without such a table it makes none until all gates that had a share have fallen to their
/// safe one.
#[derive(Clone, Debug)]
pub struct Divider {
    epoch: u64,
    sequence: u64,
    began: Time,
    /// Whether the table of the holder before is known.
    follows: bool,
    valid_until: Time,
    gates: BTreeMap<String, Gate>,
}

/// What is known of a gate.
#[derive(Clone, Debug)]
struct Gate {
    start: u64,
    heard: Time,
    /// Its last report; `None`: only the holder before has heard of it.
    last: Option<Demand>,
    /// Its last report that the holder before counted.
    report: u64,
    committed: f64,
    offered_per_s: Option<f64>,
    requests_per_s: f64,
    /// As in the last table.
    share: f64,
}

impl Gate {
    fn is_lost(&self, now: Time) -> bool {
        now.saturating_sub(self.heard) >= LOST_AFTER
    }

    fn is_silent(&self, now: Time) -> bool {
        self.last.is_none() || now.saturating_sub(self.heard) >= SILENT_AFTER
    }

    fn demand(&self) -> (f64, f64) {
        let session = self.last.as_ref().map_or(0.0, |last| last.session);
        (self.committed, self.offered_per_s.unwrap_or(0.0) * session)
    }

    fn learn(&mut self, demand: &Demand) {
        let Some(last) = &self.last else {
            self.committed = demand.committed;
            return;
        };
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
    /// One that holds the lease of this revision until `valid_until`. `last`: the newest table
    /// that is known of the holder before.
    pub fn new(epoch: u64, valid_until: Time, last: Option<&Table>, now: Time) -> Self {
        let gate = |line: &GateShare| Gate {
            start: line.start,
            heard: now,
            last: None,
            report: line.report,
            committed: 0.0,
            offered_per_s: None,
            requests_per_s: sane(line.requests_per_s),
            share: sane(line.share).min(1.0),
        };
        let lines = last.map_or(&[][..], |last| &last.shares);
        let gates = lines.iter().map(|line| (line.gate.clone(), gate(line))).collect();
        let follows = !lines.is_empty();
        Self { epoch, sequence: 0, began: now, follows, valid_until, gates }
    }

    /// The lease was renewed and is valid until then: at most [`LEASE`](super::LEASE) after the
    /// moment before the renewal was sent.
    pub fn renew(&mut self, valid_until: Time) {
        self.valid_until = valid_until;
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
        let new = || Gate {
            start: demand.start,
            heard: now,
            last: None,
            report: 0,
            committed: demand.committed,
            offered_per_s: None,
            requests_per_s: 0.0,
            share: 0.0,
        };
        let gate = self.gates.entry(demand.gate.clone()).or_insert_with(new);
        if demand.start > gate.start {
            *gate = new();
        }
        let before = gate.last.as_ref().map_or(gate.report, |last| last.sequence);
        if demand.start < gate.start || demand.sequence <= before {
            return Err(Refused::Old);
        }
        gate.learn(demand);
        (gate.heard, gate.last) = (now, Some(demand.clone()));
        Ok(())
    }

    /// The next table. `None`: the lease is not valid, no gate is heard of, or others may still
    /// have shares that are not known.
    pub fn table(&mut self, now: Time) -> Option<Table> {
        if now >= self.valid_until || !(self.follows || now >= self.began + LOST_AFTER) {
            return None;
        }
        self.gates.retain(|_, gate| now.saturating_sub(gate.heard) < REMEMBERED_FOR);
        let heard = |gate: &Gate| !gate.is_lost(now) && !gate.is_silent(now);
        let held: f64 = self
            .gates
            .values()
            .filter(|gate| !gate.is_lost(now) && gate.is_silent(now))
            .map(|gate| gate.share)
            .sum();
        let demands: Vec<_> =
            self.gates.values().filter(|gate| heard(gate)).map(Gate::demand).collect();
        let mut shares = divide((1.0 - held).max(0.0), &demands).into_iter();
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
                report: gate.last.as_ref().map_or(gate.report, |last| last.sequence),
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
