//! From events to figures.

pub(crate) mod event;
mod figures;
mod file;
mod fold;
mod groups;
pub(crate) mod join;
mod requests;
mod saved;
pub(crate) mod seconds;
mod stretches;
mod sum;
mod unmet;

pub(crate) use event::{Batch, Event, Example, Fallback, Group, Request, What, Why};
pub(crate) use fold::Recorder;
