//! `tidegate study` as a process.

#[path = "../common/mod.rs"]
mod common;

mod capacity;
mod faults;
mod messages;
mod runs;
