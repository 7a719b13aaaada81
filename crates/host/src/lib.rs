//! What this machine is and does: processors, affinity, CPU clocks.

mod cores;
pub mod cpu_clock;

pub use cores::Cores;
