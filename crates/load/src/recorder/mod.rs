//! From events to figures.

mod classes;
pub(crate) mod event;
mod figures;
mod file;
mod fold;
pub(crate) mod join;
mod requests;
mod saved;
pub(crate) mod seconds;
mod stretches;
mod unmet;

pub(crate) use event::{Batch, Event, Example, Fallback, Request, What, Why};
pub(crate) use fold::Recorder;
