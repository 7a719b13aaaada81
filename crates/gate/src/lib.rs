//! The gate: listener, tickets, TLS, HTTP proxy, telemetry, admin.
//!
//! A connection's way: `core` accepts it and reads its `opening`, `judge` says
//! who it is, `door` decides, `hold` lets it wait until the `usher` leads it in,
//! `life` takes it through the handshake (`wire`, `tls`) and its `requests`
//! (`stream`, `proxy`, `body`, `pool`, `upstream`) to its end; [`account`]
//! counts all of it and `tide` tells the controller.

pub mod account;
pub mod admin;
pub mod config;
pub mod metrics;
pub mod selfsigned;
pub mod usage;

mod bell;
mod body;
mod clock;
mod core;
mod door;
mod error;
mod gate;
mod guard;
mod headers;
mod hold;
mod judge;
mod life;
mod opening;
mod pages;
mod pool;
mod proxy;
mod requests;
mod sessions;
mod shared;
mod socket;
mod stream;
mod tickets;
mod tide;
mod tls;
mod upstream;
mod usher;
mod watch;
mod wire;

pub use error::Error;
pub use gate::Gate;
