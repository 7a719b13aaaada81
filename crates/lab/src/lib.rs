//! The processes of an experiment: the auction site, gates before it, their peers and
//! neighbours. They are started, pinned, limited, observed and ended here.
//!
//! [`Launch`] starts one process, [`Testbed`] the site with its gates, [`peers`] a server
//! for a comparison, [`services`] a third-party server; an [`Experiment`] is what the
//! customers' runs have in common. [`Pulse`] and [`calibration`] track the machine's speed
//! meanwhile.

mod address;
pub mod calibration;
mod capacity;
mod certificate;
mod cores;
mod error;
pub mod experiment;
mod gate_config;
pub mod http;
mod log;
mod neighbour;
pub mod peers;
mod process;
mod pulse;
mod quota;
mod service;
pub mod services;
mod testbed;

pub use address::free_address;
pub use certificate::{Certificate, Key, NAME};
pub use cores::{CorePair, apart};
pub use error::{Error, Result};
pub use experiment::{Experiment, Probing};
pub use gate_config::{CERTIFICATE, GateTimes};
pub use neighbour::Neighbour;
pub use process::{Exit, Launch, Process};
pub use pulse::Pulse;
pub use quota::Quota;
pub use service::{READY, Service};
pub use testbed::{Setup, Testbed};
