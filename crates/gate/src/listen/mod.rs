//! Listening, accepting, and the first flight of a connection.

pub mod accept;
pub mod core;
pub mod first_flight;
pub mod listener;
pub mod spare;
