//! What a piece of work costs, learned while running.

use serde::Serialize;

/// Costs as learned so far, in CPU seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// A connection of a new session.
    pub new: ClassCost,
    /// A connection of a session that was inside already.
    pub returning: ClassCost,
    /// A request's cost in the gate.
    pub gate_request_cpu_s: f64,
    /// A request's cost in the upstream; 0 where that is not visible.
    pub upstream_request_cpu_s: f64,
    /// All that a session asks for over its life, gate and upstream together.
    pub session_cpu_s: f64,
}

/// What a connection of one class costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassCost {
    /// Its handshake, in CPU seconds of the gate.
    pub handshake_cpu_s: f64,
    /// Requests that it brings.
    pub requests_per_connection: f64,
    /// Handshake and requests together, gate and upstream: CTN for the class
    /// of new sessions, CTO for the returning.
    ///
    /// Source: paper 001, section 5.
    pub connection_cpu_s: f64,
}

/// What is assumed before anything was learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priors {
    /// A full handshake, in CPU seconds: RSA-2048 on a present-day core.
    pub full_handshake_cpu_s: f64,
    /// A resumed handshake, in CPU seconds: TLS 1.3 with psk_dhe_ke.
    pub resumed_handshake_cpu_s: f64,
    /// A request in the gate, in CPU seconds: proxied over TLS, keep-alive.
    pub gate_request_cpu_s: f64,
    /// A request in the upstream, in CPU seconds: a page with some database work.
    pub upstream_request_cpu_s: f64,
    /// Requests per connection.
    pub requests_per_connection: f64,
}

impl Default for Priors {
    fn default() -> Self {
        Self {
            full_handshake_cpu_s: 500e-6,
            resumed_handshake_cpu_s: 120e-6,
            gate_request_cpu_s: 25e-6,
            upstream_request_cpu_s: 500e-6,
            requests_per_connection: 5.0,
        }
    }
}

impl Priors {
    /// The priors as costs.
    pub(crate) fn costs(&self) -> Costs {
        let request = self.gate_request_cpu_s + self.upstream_request_cpu_s;
        let class = |handshake_cpu_s: f64| ClassCost {
            handshake_cpu_s,
            requests_per_connection: self.requests_per_connection,
            connection_cpu_s: handshake_cpu_s + self.requests_per_connection * request,
        };
        let new = class(self.full_handshake_cpu_s);
        Costs {
            new,
            returning: class(self.resumed_handshake_cpu_s),
            gate_request_cpu_s: self.gate_request_cpu_s,
            upstream_request_cpu_s: self.upstream_request_cpu_s,
            session_cpu_s: new.connection_cpu_s,
        }
    }
}
