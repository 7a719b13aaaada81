//! One connection: its task, its state and deadlines, and the transport below HTTP.

mod asked;
pub mod deadlines;
pub mod delivery;
pub mod state;
pub mod task;
pub mod transport;
mod upload;
