//! Sockets, accept loops and the first bytes of a connection.

pub mod accept;
pub mod first_flight;
