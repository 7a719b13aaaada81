//! `tidegate load` as a process, against servers on loopback.

mod addresses;
mod compare;
mod drivers;
mod feeders;
mod flags;
mod fleet;
mod import;
mod mistakes;
mod otlp;
mod outputs;
mod report;
mod runs;
mod scenario;
