//! A fleet of gates before one service, in virtual time.
//!
//! The gates' controllers, the divider and the members are those of production
//! ([`tidegate_control::fleet`]); network, lease, service and customers are simulated. Sessions
//! are numbers by state and age, not objects: a session thinks, a request of it is with the
//! service, or it has ended. So ten million sessions need no more memory than ten.
//!
//! Time goes on in steps. In a step, each thinking customer makes a request with a probability
//! (think times are exponential), and each request that is with the service is answered with a
//! probability (processor sharing; service times are exponential). The step is at most the CPU
//! time of a request.

mod course;
mod gate;
mod network;
mod scenarios;
mod world;

use std::ops::Range;

pub use course::{Course, Sample};
pub use scenarios::{Named, named, scenarios};
pub use world::simulate;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// Number of gates.
    pub gates: usize,
    /// Whether they divide the service. If not, each acts as if it were alone.
    pub divided: bool,
    /// Whether gates take what the others have learned.
    pub learns: bool,
    /// Processors of the service.
    pub cpus: f64,
    /// Whether gates see the service's CPU time; if not, response times alone.
    pub in_view: bool,
    /// CPU seconds of a request.
    pub request_cpu_s: f64,
    /// Mean number of requests of a session.
    pub requests_per_session: f64,
    /// Mean think time, in seconds.
    pub think_s: f64,
    /// New sessions offered, in multiples of what the service carries, from each time on, in
    /// seconds. In order of time.
    pub load: Vec<(f64, f64)>,
    /// Which gates they come to.
    pub spread: Spread,
    /// Length of the run, in seconds.
    pub seconds: f64,
    /// Length of a step, in seconds: at most `request_cpu_s`.
    pub step_s: f64,
    /// Messages between gates.
    pub network: Network,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Sessions that are active from the start, evenly at all gates, thinking.
    pub active: u64,
    /// The run follows from it and from the rest.
    pub seed: u64,
}

impl Fleet {
    /// New sessions per second that the service carries to their end.
    pub fn sessions_per_s(&self) -> f64 {
        self.cpus / self.request_cpu_s / self.requests_per_session
    }
}

/// Which gates new sessions come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// All alike.
    Even,
    /// The share `crowded` to one tenth of the gates (one at least), which changes so often; the
    /// rest to the others.
    Moving {
        /// Time between changes, in seconds.
        every_s: f64,
        /// 0 to 1.
        crowded: f64,
    },
}

/// Messages between gates.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Least delay, in seconds.
    pub delay_s: f64,
    /// Mean of the exponential delay beyond it, in seconds.
    pub jitter_s: f64,
    /// Share of messages that is lost, 0 to 1.
    pub loss: f64,
}

/// Something that goes wrong for some gates, for some time.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What happens.
    pub what: What,
    /// To which gates.
    pub gates: Range<usize>,
    /// From when to when, in seconds.
    pub time_s: Range<f64>,
}

/// What happens to gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// They are down. Their customers go to the other gates.
    Down,
    /// They reach each other and no other gate; the others have the lease.
    Apart,
    /// They reach nobody.
    Unreachable,
}
