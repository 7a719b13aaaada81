//! Sums of phases.

use crate::format::record::Line;
use crate::phase::{Outcome, Phase};
use serde::Serialize;

const PHASES: usize = Phase::ALL.len();

/// Sums of the lines of a process.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sums {
    /// Connections whose opening was recorded: admitted, refused or failed. For the load
    /// generator, sessions with a connection.
    pub connections: u64,
    /// Connections that were refused before their handshake.
    pub refused: u64,
    /// Requests that got a response.
    pub requests: u64,
    /// Handshakes with a signature.
    pub full: u64,
    /// Handshakes by a ticket.
    pub resumed: u64,
    #[serde(skip)]
    took_ns: [u64; PHASES],
    #[serde(skip)]
    cpu_ns: [u64; PHASES],
    #[serde(skip)]
    times: [u64; PHASES],
    #[serde(skip)]
    measured: [u64; PHASES],
    /// Requests and connections whose lines were measured.
    #[serde(skip)]
    measured_requests: u64,
    #[serde(skip)]
    measured_connections: u64,
}

/// Mean time of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseTime {
    /// The phase.
    pub phase: &'static str,
    #[serde(skip)]
    pub(crate) phase_kind: Phase,
    /// What it is the mean of: `request`, or `connection` for the phases before the first request
    /// and the end. A handshake's is of the handshakes of its kind.
    pub per: &'static str,
    /// Mean time, milliseconds.
    pub mean_ms: f64,
    /// Mean CPU time of the process in it, milliseconds, of the connections on which it was
    /// measured; `None` where there were none.
    pub cpu_mean_ms: Option<f64>,
}

impl PhaseTime {
    /// Its name in sentences.
    pub fn words(&self) -> &'static str {
        self.phase_kind.words()
    }

    /// Whether it is time of a request under way.
    pub fn is_of_request(&self) -> bool {
        self.phase_kind.is_of_request()
    }
}

impl Sums {
    /// Adds a line.
    pub fn add(&mut self, line: &Line) {
        let request = line.status > 0;
        let opening = line.request == 0;
        self.requests += u64::from(request);
        self.connections += u64::from(opening);
        self.refused += u64::from(line.outcome == Outcome::Refused);
        if line.measured {
            self.measured_requests += u64::from(request);
            self.measured_connections += u64::from(opening);
        }
        for step in &line.steps {
            let at = step.phase as usize;
            self.full += u64::from(step.phase == Phase::HandshakeFull);
            self.resumed += u64::from(step.phase == Phase::HandshakeResumed);
            self.times[at] += 1;
            self.took_ns[at] = self.took_ns[at].saturating_add(step.took_ns);
            if line.measured {
                self.measured[at] += 1;
                self.cpu_ns[at] = self.cpu_ns[at].saturating_add(step.cpu_ns);
            }
        }
    }

    /// Adds other sums.
    pub fn add_all(&mut self, other: &Self) {
        self.connections += other.connections;
        self.refused += other.refused;
        self.requests += other.requests;
        self.full += other.full;
        self.resumed += other.resumed;
        self.measured_requests += other.measured_requests;
        self.measured_connections += other.measured_connections;
        for at in 0..PHASES {
            self.took_ns[at] = self.took_ns[at].saturating_add(other.took_ns[at]);
            self.cpu_ns[at] = self.cpu_ns[at].saturating_add(other.cpu_ns[at]);
            self.times[at] += other.times[at];
            self.measured[at] += other.measured[at];
        }
    }

    /// All time in a phase, nanoseconds.
    pub fn took_ns(&self, phase: Phase) -> u64 {
        self.took_ns[phase as usize]
    }

    /// Share of the handshakes that were full, 0 to 1; `None` without handshakes.
    pub fn full_share(&self) -> Option<f64> {
        let all = self.full + self.resumed;
        (all > 0).then(|| self.full as f64 / all as f64)
    }

    /// Mean time of a request, milliseconds: of the phases in which it is under way; `None`
    /// without requests.
    pub fn request_ms(&self) -> Option<f64> {
        let of_request = Phase::ALL.iter().filter(|phase| phase.is_of_request());
        let sum = of_request.fold(0u64, |sum, phase| sum.saturating_add(self.took_ns(*phase)));
        (self.requests > 0).then(|| sum as f64 / 1e6 / self.requests as f64)
    }

    /// Mean time before the first request could be sent, milliseconds, of the connections that
    /// got so far or were refused; `None` without connections.
    pub fn opening_ms(&self) -> Option<f64> {
        let before = [
            Phase::Accept,
            Phase::FirstFlight,
            Phase::Queue,
            Phase::Connect,
            Phase::HandshakeFull,
            Phase::HandshakeResumed,
        ];
        let sum = before.iter().fold(0u64, |sum, phase| sum.saturating_add(self.took_ns(*phase)));
        (self.connections > 0).then(|| sum as f64 / 1e6 / self.connections as f64)
    }

    /// The mean time of every phase that occurred.
    pub fn phases(&self) -> Vec<PhaseTime> {
        let occurred = Phase::ALL.into_iter().filter(|phase| self.times[*phase as usize] > 0);
        let time = |phase: Phase| {
            let at = phase as usize;
            let (per, all, measured) = if phase.is_handshake() {
                ("handshake", self.times[at], self.measured[at])
            } else if phase.is_of_request() || matches!(phase, Phase::Idle | Phase::Think) {
                ("request", self.requests, self.measured_requests)
            } else {
                ("connection", self.connections, self.measured_connections)
            };
            let mean = |ns: u64, of: u64| ns as f64 / 1e6 / of as f64;
            (all > 0).then(|| PhaseTime {
                phase: phase.name(),
                phase_kind: phase,
                per,
                mean_ms: mean(self.took_ns[at], all),
                cpu_mean_ms: (measured > 0).then(|| mean(self.cpu_ns[at], measured)),
            })
        };
        occurred.filter_map(time).collect()
    }
}
