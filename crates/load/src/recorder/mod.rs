//! From events to figures.

pub(crate) mod event;
mod figures;
mod fold;
mod raw;

pub(crate) use event::{Batch, Event, Fallback, Request, What};
pub(crate) use fold::Recorder;
