//! What the populations of several sites are made with: random numbers that are the same
//! on every machine, hashes of many passwords, many rows in one statement, and [`prepare()`],
//! which makes a database ready.

mod batch;
mod hashing;
mod lock;
mod names;
mod prepare;
mod random;
mod writer;

pub use batch::Batch;
pub use hashing::{Hashing, Secret};
pub use names::{FIRST_NAMES, LAST_NAMES};
pub use prepare::{Plan, Population, Ready, Schema, populate, prepare};
pub use random::Random;
pub use writer::Writer;
