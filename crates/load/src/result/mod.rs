//! What a run showed.

pub(crate) mod counted;
pub(crate) mod interval;
pub mod saturation;
pub(crate) mod shard;
pub(crate) mod sum;
pub mod summary;
pub(crate) mod tally;
