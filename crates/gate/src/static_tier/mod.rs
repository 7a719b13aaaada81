//! The static tier: files that the gate serves in place of the upstream.
//!
//! `tier.rs` answers a request from a directory, or leaves it to the upstream. `lookup.rs` searches
//! the directory on a thread that may wait for the disk, through `beneath.rs`, out of which no
//! name leads. `cache.rs` keeps files that were found, per core and bounded in bytes.
//! `answer.rs` applies what the request says of versions and ranges, `coding.rs` what it says of
//! compression.

mod answer;
pub mod beneath;
mod body;
mod cache;
mod coding;
mod cookie;
mod disk;
mod file;
mod lookup;
mod tier;

pub use body::FileBody;
pub use cache::FileCache;
pub use disk::Disk;
pub use tier::{Body, StaticTier};
