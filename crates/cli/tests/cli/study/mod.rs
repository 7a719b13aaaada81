//! `tidegate study` as a process.

mod capacity;
mod ciphers;
mod faults;
mod fleet;
mod known_capacities;
pub mod known_site;
mod messages;
mod runs;
