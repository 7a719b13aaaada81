//! What the gate counted, as a plain [`Snapshot`], and its Prometheus text.
//!
//! Counters run from the gate's start and never fall; gauges are values at the
//! moment of the snapshot.

use serde::Serialize;

/// Class of a connection, decided by its ClientHello alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// Connections let in: counted at the decision, before the handshake, and
    /// once, also where they were held first.
    pub admitted: u64,
    /// Connections that had to wait; each of them is counted as admitted or
    /// refused as well when its wait is over (or, when its customer left
    /// before, as neither).
    pub held: u64,
    /// Connections turned away, at once or after a hold.
    pub refused: u64,
}

/// Handshakes of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Handshakes {
    /// Finished.
    pub ok: u64,
    /// Broken off by either side, or past their deadline.
    pub failed: u64,
}

/// Upper bounds of the buckets of `tidegate_request_duration_seconds`, in
/// seconds, ascending; one more bucket takes what is above the last.
pub const DURATION_BOUNDS_S: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0,
];

/// Durations of requests, from the last byte of the head read to the last byte
/// of the response handed to the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Durations {
    /// Requests per bucket, each in one only (not cumulative): bucket `i` has
    /// durations up to and including `DURATION_BOUNDS_S[i]` and above the
    /// bound before; the last has the rest.
    pub buckets: [u64; DURATION_BOUNDS_S.len() + 1],
    /// Sum of all durations, in seconds.
    pub sum_s: f64,
}

impl Durations {
    /// The bucket of a duration in seconds. What is no number goes to the last.
    pub fn bucket(seconds: f64) -> usize {
        DURATION_BOUNDS_S.iter().position(|bound| seconds <= *bound).unwrap_or(16)
    }

    /// Counts one duration, in seconds.
    pub fn record(&mut self, seconds: f64) {
        self.buckets[Self::bucket(seconds)] += 1;
        self.sum_s += if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// Everything the gate counted up to a moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Snapshot {
    /// Version of the gate, as in its package.
    pub version: &'static str,
    /// Seconds since the gate started.
    pub uptime_s: f64,
    /// Where customers connect: as bound, so never port 0.
    pub address: String,
    /// Where this is served; empty when it is off.
    pub admin_address: String,
    /// The upstream's URL.
    pub upstream: String,
    /// Whether the gate is finishing its connections and takes no new ones;
    /// `/healthz` then answers 503.
    pub draining: bool,
    /// Verdicts on connections of class new.
    pub new: Verdicts,
    /// Verdicts on connections of class returning. `refused` here means past
    /// the session's own rate; the policy never refuses them.
    pub returning: Verdicts,
    /// Full handshakes, by what was agreed at the end; a handshake that failed
    /// counts as the kind that its hello was let in for.
    pub full_handshakes: Handshakes,
    /// Resumed handshakes.
    pub resumed_handshakes: Handshakes,
    /// Handshakes running now.
    pub handshakes_active: u64,
    /// New connections waiting now.
    pub held: u64,
    /// Bytes of their hellos now.
    pub held_bytes: u64,
    /// Connections to customers open now, those in hold included.
    pub connections_active: u64,
    /// Sessions inside now.
    pub sessions_active: u64,
    /// Sessions begun.
    pub sessions_started: u64,
    /// Requests running now.
    pub requests_active: u64,
    /// Finished requests by the status code sent to the customer; ascending,
    /// each code once, only those that occurred.
    pub requests: Vec<(u16, u64)>,
    /// How long they took.
    pub durations: Durations,
    /// Bytes read from customers, TLS included.
    pub bytes_received: u64,
    /// Bytes written to customers, TLS included.
    pub bytes_sent: u64,
    /// Ended connections by reason (`done`, `idle`, `hello_deadline`, `not_tls`,
    /// `reset`, …): snake case, each reason once.
    pub connections_ended: Vec<(&'static str, u64)>,
    /// Connections to the upstream open now.
    pub upstream_connections: u64,
    /// Requests that the upstream failed, by reason (`connect`, `timeout`,
    /// `broken`, …): snake case, each reason once.
    pub upstream_errors: Vec<(&'static str, u64)>,
    /// CPU seconds used by the gate's process since its start.
    pub cpu_seconds: f64,
    /// The controller's own state: policy, budget, costs, resources, why.
    pub control: Option<tidegate_control::Status>,
}

impl Snapshot {
    /// The Prometheus text of this snapshot.
    pub fn prometheus(&self) -> String {
        String::new()
    }
}
