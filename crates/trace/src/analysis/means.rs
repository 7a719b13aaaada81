//! Mean time by phase of a connection: the table behind figures 6, 7, 11 and 12 of Guitart et al.
//! 2007.

use crate::format::header::Role;
use crate::phase::{Outcome, Phase};
use crate::read::Process;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;

/// Mean time by phase of the connections of a process that ended in a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseMeans {
    /// What the process is.
    pub role: Role,
    /// Connections that ended in the window and were served: they had a handshake or a
    /// request. The means are of these.
    pub connections: u64,
    /// Connections that ended in the window and were refused.
    pub refused: u64,
    /// Requests of the connections.
    pub requests: u64,
    /// Connections with a full handshake.
    pub full: u64,
    /// Connections with a resumed handshake.
    pub resumed: u64,
    /// The phases that occurred, in the order of a connection's life.
    pub phases: Vec<PhaseMean>,
}

/// Mean time of a phase per connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseMean {
    /// The name of the phase, as of [`Phase::name`].
    pub phase: &'static str,
    /// Milliseconds per connection, of all connections.
    pub mean_ms: f64,
    /// CPU time of the process in it, milliseconds per connection, of those on which it was
    /// measured; `None` where there were none.
    pub cpu_mean_ms: Option<f64>,
}

impl PhaseMeans {
    /// The mean time of a phase per connection, milliseconds; 0 if it did not occur.
    pub fn mean_ms(&self, phase: Phase) -> f64 {
        let found = self.phases.iter().find(|mean| mean.phase == phase.name());
        found.map_or(0.0, |mean| mean.mean_ms)
    }

    /// Mean time of a connection, milliseconds.
    pub fn connection_ms(&self) -> f64 {
        self.phases.iter().map(|mean| mean.mean_ms).sum()
    }

    /// Share of full handshakes, 0 to 1; `None` without handshakes.
    pub fn full_share(&self) -> Option<f64> {
        let all = self.full + self.resumed;
        (all > 0).then(|| self.full as f64 / all as f64)
    }
}

#[derive(Default)]
struct Connection {
    took_ns: [u64; Phase::ALL.len()],
    cpu_ns: [u64; Phase::ALL.len()],
    measured: bool,
    requests: u64,
}

/// Mean time by phase of the connections that ended in a window of the monotonic clock
/// (nanoseconds); `None` is the whole trace. A connection whose beginning is not in the trace
/// counts with what there is of it.
///
/// Source: Guitart et al. 2007, section 7.1.2, "the average time spent by the server processing a
/// persistent client connection, distinguishing the time devoted to each phase of the
/// connection".
pub fn phase_means(process: &Process, window: Option<Range<u64>>) -> PhaseMeans {
    let mut open: HashMap<u64, Connection> = HashMap::new();
    let mut means = PhaseMeans {
        role: process.header.role,
        connections: 0,
        refused: 0,
        requests: 0,
        full: 0,
        resumed: 0,
        phases: Vec::new(),
    };
    let (mut took, mut cpu) = ([0u64; Phase::ALL.len()], [0u64; Phase::ALL.len()]);
    let mut measured = 0u64;
    for line in &process.lines {
        let connection = open.entry(line.connection).or_default();
        connection.measured |= line.measured;
        connection.requests += u64::from(line.status > 0);
        for step in &line.steps {
            let at = step.phase as usize;
            connection.took_ns[at] = connection.took_ns[at].saturating_add(step.took_ns);
            connection.cpu_ns[at] = connection.cpu_ns[at].saturating_add(step.cpu_ns);
        }
        if line.outcome == Outcome::Open {
            continue;
        }
        let ended = line.start_ns.saturating_add(line.took_ns());
        let Some(connection) = open.remove(&line.connection) else { continue };
        if window.as_ref().is_some_and(|window| !window.contains(&ended)) {
            continue;
        }
        let had = |phase: Phase| connection.took_ns[phase as usize] > 0;
        let handshake = had(Phase::HandshakeFull) || had(Phase::HandshakeResumed);
        if line.outcome == Outcome::Refused || !(handshake || connection.requests > 0) {
            means.refused += u64::from(line.outcome == Outcome::Refused);
            continue;
        }
        means.connections += 1;
        means.requests += connection.requests;
        means.full += u64::from(had(Phase::HandshakeFull));
        means.resumed += u64::from(had(Phase::HandshakeResumed));
        measured += u64::from(connection.measured);
        for at in 0..Phase::ALL.len() {
            took[at] = took[at].saturating_add(connection.took_ns[at]);
            cpu[at] = cpu[at].saturating_add(connection.cpu_ns[at]);
        }
    }
    let mean = |ns: u64, of: u64| ns as f64 / 1e6 / of as f64;
    let occurred = Phase::ALL.into_iter().filter(|phase| took[*phase as usize] > 0);
    means.phases = occurred
        .map(|phase| PhaseMean {
            phase: phase.name(),
            mean_ms: mean(took[phase as usize], means.connections),
            cpu_mean_ms: (measured > 0).then(|| mean(cpu[phase as usize], measured)),
        })
        .collect();
    means
}
