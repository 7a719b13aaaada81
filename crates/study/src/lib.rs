//! Experiments from end to end: what is run, in which order, what stays of it, which claims
//! it confirms, and the page that shows it.

pub mod capacity;
mod claim;
mod folder;
mod summary;

pub use claim::{Claim, Verdict};
pub use folder::Folder;
pub use summary::{FORMAT, Row, Summary};
pub use tidegate_lab::{Error, Result};
