//! The gate: listener, tickets, TLS, HTTP proxy, telemetry, admin.
//!
//! The folders follow the life of a connection: `listen` accepts it and reads its first
//! flight, `admission` classifies it, decides on it or queues it, `connection` carries it
//! through the handshake (`tls`) and its requests (`http`) to its end. [`telemetry`]
//! counts all of it and `control_loop` reports to the controller.

pub mod config;
pub mod telemetry;
pub mod tls;

mod admission;
mod connection;
mod control_loop;
mod error;
mod gate;
mod http;
mod listen;
mod shared;
mod shutdown;
mod socket;

pub use error::Error;
pub use gate::Gate;
