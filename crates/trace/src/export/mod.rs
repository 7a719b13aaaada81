//! Exports for viewers of traces.

pub mod paraver;
pub mod perfetto;

mod lanes;
mod proto;
mod resources;
