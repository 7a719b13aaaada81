//! Aggregates events into figures and writes files of requests and seconds.

mod cohorts;
pub(crate) mod event;
mod failed_checks;
pub(crate) mod failures;
mod figures;
mod file;
mod files;
pub(crate) mod fold;
pub(crate) mod join;
mod requests;
mod saved;
pub(crate) mod seconds;
mod stretches;
mod sum;
