//! One connection from its first byte to its end.

pub mod state;
pub mod task;
pub mod transport;
