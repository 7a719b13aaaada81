//! Sockets, accept loops and the first bytes of a connection.

pub mod core;
pub mod first_flight;
pub mod shutdown;
pub mod socket;
