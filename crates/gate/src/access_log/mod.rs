//! The access log: a line for each exchange, and for each new session that is not admitted.
//!
//! A core writes its lines into a buffer of its own, and a thread writes the buffers out. A line
//! for which a buffer has no room is dropped and counted: no request waits for a disk.

mod buffers;
mod exchange;
mod line;
mod sink;

pub use buffers::AccessLog;
pub use exchange::{ExchangeLog, Opening};
pub use sink::Sink;
