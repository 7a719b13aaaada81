//! From events to figures.

pub(crate) mod event;
mod figures;
mod file;
mod fold;
mod requests;
mod seconds;
mod stretches;

pub(crate) use event::{Batch, Event, Fallback, Request, What};
pub(crate) use fold::Recorder;
