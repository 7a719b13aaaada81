//! Reads scenario files: one file per table, all mistakes reported together.

mod arrivals;
mod body;
mod classes;
mod connections;
pub(super) mod document;
mod duration;
mod expectations;
mod feeders;
mod fields;
mod files;
mod hosts;
mod impatience;
mod limits;
mod names;
pub(super) mod pages;
pub(super) mod reference;
mod run;
mod session;
mod steps;
mod thresholds;
mod tls;
mod transitions;
