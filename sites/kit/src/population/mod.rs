//! What the populations of several sites are made with: random numbers that are the same
//! on every machine, hashes of many passwords, many rows in one statement, and the lock
//! under which one process populates.

mod batch;
mod hashing;
mod lock;
mod names;
mod random;
mod writing;

pub use batch::Batch;
pub use hashing::{Hashing, Secret};
pub use lock::Lock;
pub use names::{FIRST_NAMES, LAST_NAMES};
pub use random::Random;
pub use writing::{begin, finish};
