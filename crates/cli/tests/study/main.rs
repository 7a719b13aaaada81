//! `tidegate study` as a process.

#[path = "../common/mod.rs"]
mod common;

mod capacity;
mod faults;
mod known_capacities;
mod known_site;
mod messages;
mod runs;
