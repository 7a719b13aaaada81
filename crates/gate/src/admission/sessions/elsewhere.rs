//! What sessions use at other gates of a fleet.
//!
//! A gate reports a session that has used more than an equal share of a limit here: a session that
//! stays below its share at every gate is within the limit. From then on all that it uses is
//! reported, until its tokens could be complete again. So the limits hold over the fleet, but for what
//! is opened while a report is on its way.

use super::{Counted, Session, SessionId, Sessions, lock};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Most sessions of a report.
pub const MOST_USES: usize = 400;
/// How long the open connections of a report count.
const VALID: Duration = Duration::from_secs(2);
/// Most gates whose open connections of one session are kept.
const MOST_GATES: usize = 16;
/// Longest time for which all uses of a session are reported after its last one, in seconds.
const REPORTING_S: f64 = 60.0;

/// What a session uses at one gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionUse {
    /// The session.
    #[serde(rename = "s")]
    session: u128,
    /// Its connections or requests since the last report.
    #[serde(rename = "u")]
    uses: u32,
    /// Those open now.
    #[serde(rename = "o")]
    open: u32,
    /// Requests are counted, and not connections.
    #[serde(rename = "r", default)]
    requests: bool,
}

/// What is to be reported.
#[derive(Debug, Default)]
pub(super) struct Reported {
    /// Gates among which limits are shared; below 2 nothing is reported.
    gates: AtomicU32,
    busy: Mutex<HashMap<SessionId, Counted>>,
}

impl Reported {
    /// Gates among which limits are shared.
    pub(super) fn gates(&self) -> u32 {
        self.gates.load(Relaxed)
    }

    /// Notes a session that uses more than its share here.
    pub(super) fn note(
        &self,
        id: SessionId,
        session: &Session,
        counted: Counted,
        most: (f64, u32),
    ) {
        let gates = self.gates();
        let (burst, open) = most;
        let many = session.refilled < session.reporting_until
            || session.unreported * f64::from(gates) > burst
            || u64::from(session.open) * u64::from(gates) > u64::from(open);
        if gates > 1 && many {
            let mut busy = lock(&self.busy);
            if busy.len() < 4 * MOST_USES {
                busy.insert(id, counted);
            }
        }
    }
}

/// Open connections at another gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere {
    gate: u64,
    open: u32,
    until: Duration,
}

impl Session {
    /// It is used here once more.
    pub(super) fn used_here(&mut self, now: Duration, rate: f64, gates: u32) {
        if now >= self.reporting_until {
            let share = rate / f64::from(gates.max(1));
            let grown = now.saturating_sub(self.refilled).as_secs_f64() * share;
            self.unreported = (self.unreported - grown).max(0.0);
        }
        self.unreported += 1.0;
    }

    /// Its open connections at other gates.
    pub(super) fn open_elsewhere(&self, now: Duration) -> u32 {
        let valid = self.elsewhere.iter().filter(|at| now < at.until);
        valid.fold(0, |sum, at| sum.saturating_add(at.open))
    }
}

impl Sessions {
    /// Shares the limits among so many gates.
    pub fn share_among(&self, gates: u32) {
        self.reported.gates.store(gates, Relaxed);
    }

    /// What to report to the other gates: at most [`MOST_USES`] sessions, the rest next time.
    pub fn uses(&self) -> Vec<SessionUse> {
        let rules = self.rules.load();
        let gates = u64::from(self.reported.gates());
        let mut busy = lock(&self.reported.busy);
        let taken: Vec<_> = busy.iter().take(MOST_USES).map(|(id, it)| (*id, *it)).collect();
        for (id, _) in &taken {
            busy.remove(id);
        }
        drop(busy);
        let mut again = Vec::new();
        let uses = taken.into_iter().filter_map(|(id, counted)| {
            let mut shard = self.shard(&id);
            let session = shard.sessions.get_mut(&id)?;
            let uses = std::mem::take(&mut session.unreported).ceil() as u32;
            let allowed = counted.of(&rules);
            let refilled_s = (allowed.burst / allowed.rate).min(REPORTING_S);
            session.reporting_until = session.refilled + Duration::from_secs_f64(refilled_s);
            // Its open connections count at the others until they are reported no more.
            if u64::from(session.open) * gates > u64::from(allowed.open) {
                again.push((id, counted));
            }
            let (session, requests) = (u128::from_be_bytes(id), counted == Counted::Requests);
            let open = shard.sessions.get(&id)?.open;
            Some(SessionUse { session, uses, open, requests })
        });
        let uses = uses.collect();
        lock(&self.reported.busy).extend(again);
        uses
    }

    /// Counts what sessions use at another gate.
    pub fn count_elsewhere(&self, gate: u64, uses: &[SessionUse], now: Duration) {
        let rules = self.rules.load();
        for used in uses.iter().take(MOST_USES) {
            let id = used.session.to_be_bytes();
            let counted = if used.requests { Counted::Requests } else { Counted::Connections };
            let allowed = counted.of(&rules);
            let mut shard = self.shard(&id);
            if !shard.sessions.contains_key(&id) {
                self.make_room(&mut shard);
                // Known for its limits alone: it is not active here.
                let session =
                    Session { open: 0, active: false, ..Session::new(allowed.burst, now) };
                shard.sessions.insert(id, session);
                shard.leaving.push_back((now, id));
            }
            let Some(session) = shard.sessions.get_mut(&id) else { continue };
            session.tokens =
                (allowed.tokens(session, now) - f64::from(used.uses)).max(-allowed.burst);
            session.refilled = session.refilled.max(now);
            session.elsewhere.retain(|at| at.gate != gate && now < at.until);
            if used.open > 0 && session.elsewhere.len() < MOST_GATES {
                session.elsewhere.push(Elsewhere { gate, open: used.open, until: now + VALID });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Allowance, Rules, SessionLimit};
    use super::*;
    use std::sync::Arc;

    const ID: SessionId = [9; 16];

    fn gates(number: usize) -> Vec<Arc<Sessions>> {
        let connections = Allowance { rate: 1.0, burst: 6.0, open: 4 };
        let linger = Duration::from_secs(60);
        let rules = Rules { connections, requests: connections, linger, capacity: 640 };
        let all: Vec<_> = (0..number).map(|_| Sessions::new(rules)).collect();
        all.iter().for_each(|sessions| sessions.share_among(number as u32));
        all
    }

    fn exchange(gates: &[Arc<Sessions>], now: Duration) {
        for (from, sender) in gates.iter().enumerate() {
            let uses = sender.uses();
            let others = gates.iter().enumerate().filter(|(to, _)| *to != from);
            others.for_each(|(_, other)| other.count_elsewhere(from as u64, &uses, now));
        }
    }

    #[test]
    fn a_session_that_goes_from_gate_to_gate_has_the_burst_and_rate_of_one() {
        let gates = gates(3);
        let mut connected = 0;
        for tenth in 0..600_u64 {
            let now = Duration::from_millis(100 * tenth);
            let gate = &gates[tenth as usize % 3];
            if let Ok(connection) = gate.connect(ID, now) {
                connection.close(super::super::ClosedBy::Customer, now);
                connected += 1;
            }
            if tenth % 2 == 0 {
                exchange(&gates, now);
            }
        }
        // 6 at once and 1 per second: 66. Each report comes 0.2 s late, during which another gate
        // may give what it has: a share of the burst at most.
        assert!((60..=72).contains(&connected), "{connected}");
    }

    #[test]
    fn open_connections_at_others_count_until_they_are_closed() {
        let gates = gates(2);
        let now = Duration::from_secs(100);
        let open: Vec<_> = (0..4).map(|_| gates[0].connect(ID, now).unwrap()).collect();
        exchange(&gates, now);
        assert_eq!(gates[1].connect(ID, now).err(), Some(SessionLimit::Connections));
        assert_eq!(gates[1].active(), 0, "it is known for its limits alone");
        open.into_iter().for_each(|one| one.close(super::super::ClosedBy::Customer, now));
        let later = now + Duration::from_secs(3);
        exchange(&gates, later);
        assert!(gates[1].connect(ID, later).is_ok());
    }

    #[test]
    fn a_gate_alone_and_sessions_below_their_share_report_nothing() {
        let alone = gates(1);
        let _open: Vec<_> = (0..4).map(|_| alone[0].connect(ID, Duration::ZERO).unwrap()).collect();
        assert_eq!(alone[0].uses(), []);
        let two = gates(2);
        let _open: Vec<_> = (0..2).map(|_| two[0].connect(ID, Duration::ZERO).unwrap()).collect();
        assert_eq!(two[0].uses(), []);
    }
}
