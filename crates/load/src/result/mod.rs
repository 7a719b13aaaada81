//! The result of a run: plain, serialisable data with the unit at the end of each name.

pub mod arrival_entry;
pub mod assets;
pub(crate) mod buckets;
pub mod driver;
pub mod failure;
pub mod figures;
pub(crate) mod interval;
pub mod saturation;
pub mod series;
pub(crate) mod shard;
pub mod snapshot;
pub(crate) mod summarize;
pub mod summary;
pub(crate) mod tally;
pub(crate) mod threshold_check;
pub(crate) mod threshold_result;

/// Largest file of a result that is read, in bytes.
pub const LARGEST_FILE: u64 = 256 << 20;
