//! From events to figures.

pub(crate) mod event;
mod figures;
mod fold;
mod raw;
mod stretches;

pub(crate) use event::{Batch, Event, Fallback, Request, What};
pub(crate) use fold::Recorder;
