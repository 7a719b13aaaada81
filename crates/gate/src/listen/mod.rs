//! The path of a connection from the listener to its task, on the thread of its core.

mod accept;
pub mod core;
mod dispatcher;
mod first_flight;
pub mod listener;
mod pipeline;
mod proxy_header;
pub mod sockets;
pub mod spare;
mod task;
#[cfg(test)]
mod test_core;
