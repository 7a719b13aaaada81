//! The processes of an experiment: the site, gates before it, their peers,
//! neighbours; started, pinned, limited, observed and ended.

pub mod calibration;
mod capacity;
mod certificate;
mod cores;
mod error;
pub mod finite;
mod neighbour;
pub mod peers;
mod process;
mod pulse;
mod quota;
mod service;
mod testbed;

pub use capacity::{PROBE_PER_S, Promise};
pub use certificate::{Certificate, Key, NAME};
pub use cores::{CorePair, apart};
pub use error::BadInput;
pub use neighbour::Neighbour;
pub use process::{Process, free_address};
pub use pulse::Pulse;
pub use quota::Quota;
pub use service::READY;
pub use testbed::{CERTIFICATE, Lab, Setup, Times};
