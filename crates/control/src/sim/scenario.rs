//! What a simulated run consists of.

use crate::policy::PolicyKind;

/// A service, its customers and how they arrive. Times in seconds, work in CPU
/// seconds, rates per second.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The admission policy under test.
    pub policy: PolicyKind,
    /// The machines.
    pub machines: Machines,
    /// What work costs.
    pub work: Work,
    /// How customers behave.
    pub customers: Customers,
    /// New customers per second from a time on, in ascending order of time:
    /// `(from_s, per_second)`. Arrivals are a Poisson process.
    pub arrivals: Vec<(f64, f64)>,
    /// How long to run.
    pub duration_s: f64,
    /// Time between two readings.
    pub tick_s: f64,
    /// How long a new session is held that may not in now; 0: refused at once.
    pub hold_s: f64,
    /// Sessions held at most; one more, and the one that waits longest is refused.
    pub hold_sessions: usize,
    /// What chance does.
    pub seed: u64,
}

/// Processors and programs.
#[derive(Clone, Debug)]
pub struct Machines {
    /// Cores of the gate's host.
    pub gate_cores: f64,
    /// Cores of the upstream's host; `None`: it shares those of the gate.
    pub upstream_cores: Option<f64>,
    /// Threads of the upstream: requests that it works on at a time.
    pub upstream_threads: usize,
    /// Whether the gate can see the upstream's CPU time.
    pub upstream_visible: bool,
    /// Real cores of the upstream's host (the gate's where it is shared) from a
    /// time on: `(from_s, cores)`.
    pub changes: Vec<(f64, f64)>,
    /// Whether the reading tells of such changes.
    pub changes_visible: bool,
}

/// What work costs, in CPU seconds, unless it says otherwise.
#[derive(Clone, Debug)]
pub struct Work {
    /// Accepting a connection and reading its hello; all that a refusal costs.
    pub accept: f64,
    /// A full handshake.
    pub full_handshake: f64,
    /// A resumed handshake.
    pub resumed_handshake: f64,
    /// A request, in the gate.
    pub gate_request: f64,
    /// Of the gate's work, the share that it spends without knowing for what.
    pub gate_unattributed: f64,
    /// The first request of a session, in the upstream: mean.
    pub first_request: f64,
    /// A later request, in the upstream: mean.
    pub later_request: f64,
    /// Squared coefficient of variation of a request's work in the upstream.
    pub request_scv: f64,
    /// Time that the upstream waits for something else, per request: mean,
    /// in seconds, exponential; no CPU, but it holds one of its threads.
    pub upstream_wait: f64,
}

/// How customers behave.
#[derive(Clone, Debug)]
pub struct Customers {
    /// Mean number of requests in a session, at least 1.
    pub requests: f64,
    /// Most requests in a session. Numbers are a power law with this end,
    /// heavy-tailed; where it equals the mean, all sessions are equal.
    pub requests_max: f64,
    /// Mean think time, exponential.
    pub think_s: f64,
    /// The longest wait for a response before a customer leaves for good.
    pub patience_s: f64,
    /// After so long without a request the connection is closed, and the next
    /// request needs a returning one.
    pub keep_alive_s: f64,
    /// Whether a customer who is done closes the connection, as a load driver
    /// does; a browser leaves it to the gate.
    pub close_when_done: bool,
    /// How long the gate counts a session as inside after its connection was
    /// closed idle.
    pub grace_s: f64,
}

impl Scenario {
    /// The demo: one core for gate and site, RSA-2048, an auction site at 40
    /// times the speed of life.
    pub fn demo(policy: PolicyKind) -> Self {
        Self {
            policy,
            machines: Machines {
                gate_cores: 1.0,
                upstream_cores: None,
                upstream_threads: 1,
                upstream_visible: true,
                changes: Vec::new(),
                changes_visible: true,
            },
            work: Work {
                accept: 17e-6,
                full_handshake: 500e-6,
                resumed_handshake: 100e-6,
                gate_request: 30e-6,
                gate_unattributed: 0.1,
                first_request: 350e-6,
                later_request: 350e-6,
                request_scv: 1.5,
                upstream_wait: 0.0,
            },
            customers: Customers {
                requests: 12.0,
                requests_max: 60.0,
                think_s: 0.175,
                patience_s: 0.250,
                keep_alive_s: 0.250,
                close_when_done: true,
                grace_s: 1.0,
            },
            arrivals: Vec::new(),
            duration_s: 10.0,
            tick_s: 0.1,
            hold_s: 0.075,
            hold_sessions: 1000,
            seed: 1,
        }
    }

    /// New sessions per second that the machines can carry to the end, by the
    /// work that a session brings to the tightest resource.
    pub fn capacity_per_s(&self) -> f64 {
        let (work, customers) = (&self.work, &self.customers);
        let later = customers.requests - 1.0;
        let returns = later * (-customers.keep_alive_s / customers.think_s).exp();
        let gate = (work.accept + work.full_handshake)
            + returns * (work.accept + work.resumed_handshake)
            + customers.requests * work.gate_request / (1.0 - work.gate_unattributed);
        let upstream = work.first_request + later * work.later_request;
        match self.machines.upstream_cores {
            None => self.machines.gate_cores / (gate + upstream),
            Some(cores) => {
                let mean = upstream / customers.requests + work.upstream_wait;
                let threads = self.machines.upstream_threads as f64;
                let by_threads = threads / (mean * customers.requests);
                (self.machines.gate_cores / gate).min(cores / upstream).min(by_threads)
            }
        }
    }

    /// The same at a constant multiple of its capacity.
    pub fn at(mut self, multiple: f64) -> Self {
        self.arrivals = vec![(0.0, self.capacity_per_s() * multiple)];
        self
    }
}
