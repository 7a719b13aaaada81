//! Experiments from end to end: what is run, in which order, what stays of it, which claims
//! it confirms, and the page that shows it.

pub mod analysis;
pub mod capacity;
mod claim;
pub mod compare;
pub mod experiment;
mod folder;
mod jdbc;
pub mod messages;
pub mod metrics;
mod options;
mod order;
mod output;
pub mod phases;
pub mod record;
mod resources;
pub mod runner;
mod state;
mod summary;
mod system;

pub use claim::{Claim, Verdict};
pub use experiment::{Experiment, reference};
pub use folder::Folder;
pub use options::Options;
pub use output::finish;
pub use runner::{Event, run};
pub use state::State;
pub use summary::{FORMAT, Row, Summary};
pub use tidegate_lab::{Error, Result};
