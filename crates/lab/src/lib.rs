//! The processes of an experiment: sites, gates before them, their peers and neighbours. They are
//! started, pinned, limited, observed and ended here.
//!
//! [`Launch`] starts one process, [`peers`] a server for a comparison, [`services`] a third-party
//! server. [`Pulse`] and [`calibration`] track the machine's speed meanwhile.

mod address;
pub mod calibration;
mod card_processor;
mod certificate;
mod cores;
mod error;
pub mod http;
mod log;
mod neighbour;
mod network;
pub mod peers;
mod process;
mod pulse;
mod quota;
mod relay;
mod service;
pub mod services;

pub use address::free_address;
pub use card_processor::{CardProcessor, RunningProcessor, Webhook};
pub use certificate::{Certificate, NAME};
pub use cores::{CorePair, apart};
pub use error::{Error, Result};
pub use neighbour::Neighbour;
pub use network::Network;
pub use process::{Exit, Launch, Process};
pub use pulse::Pulse;
pub use quota::{Quota, quota_period};
pub use relay::{Passed, Relay};
pub use service::{READY, Service};
pub use tidegate_control::CertificateKey;
