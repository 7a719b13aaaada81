//! The engine of experiments: what is run, in which order, what stays of it, which claims it
//! confirms, and the page that shows it. An experiment is a file.

pub mod analysis;
mod claim;
pub mod compare;
mod conclusions;
mod driver;
mod environment;
pub mod experiment;
pub mod faults;
pub mod folder;
mod jdbc;
mod message_client;
pub mod metrics;
mod options;
mod order;
pub mod output;
pub mod parquet;
pub mod phases;
pub mod publication;
pub mod record;
mod resources;
pub mod runner;
pub mod scalability;
pub mod schedule;
pub mod state;
mod summary;
mod system;
pub mod turns;
mod warm_up;
mod wording;

pub use claim::{Claim, ClaimKind, Verdict};
pub use driver::{Customers, Driver, Offered, Readings, Window, relayed, requests_each};
pub use experiment::{Experiment, reference};
pub use folder::Folder;
pub use options::Options;
pub use output::finish;
pub use resources::Resources;
pub use runner::{Bench, Event, Probes, conduct, run};
pub use schedule::{Run, Schedule, Taken};
pub use state::State;
pub use summary::{FORMAT, Row, Summary};
pub use system::{GateTimes, Overrides, Started, System};
pub use tidegate_lab::{Error, Result};
