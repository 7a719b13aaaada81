//! What this machine is and does: processors, affinity, CPU clocks, control groups,
//! processes and their sockets, limits, and its description in results.

mod addresses;
pub mod cgroup;
pub mod clock;
mod core_use;
mod cores;
pub mod cpu_clock;
mod files;
mod idle;
mod kernel;
mod machine;
pub mod open_files;
pub mod pressure;
pub mod processes;
mod provenance;
pub mod scheduling;
pub mod service;
mod service_use;
pub mod sockets;
pub mod tcp;

pub use addresses::is_own_address;
pub use cgroup::CpuGroup;
pub use core_use::CoreUse;
pub use cores::Cores;
pub use files::Files;
pub use idle::IdleTimes;
pub use kernel::{Kernel, Live};
pub use machine::{Machine, host_name};
pub use provenance::Provenance;
pub use scheduling::ThreadTimes;
pub use service_use::{ServiceUse, waiting_to_be_accepted};
