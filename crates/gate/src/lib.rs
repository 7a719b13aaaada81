//! The gate: listener, admission, TLS, HTTP proxy, telemetry, admin.
//!
//! `listen` is the path of a connection: `listen/pipeline.rs` accepts it, reads its first
//! flight, classifies it, decides on it and begins its task. `admission` classifies and
//! decides, and has the queue of new sessions; [`tls`] has the configurations of
//! handshakes, `connection` the state of a connection, its exchange and its transport.
//! `http` serves its requests from files of `static_tier` or with connections of `upstream`;
//! `framing` finds where a
//! message begins and ends. `places` decides which connection gives way where there are too
//! many. [`telemetry`] counts all of it, and `control_loop` reports to the controller.
//!
//! Imports point one way: [`Gate`], `control_loop` and `listen` are on top, then `http`,
//! `upstream`, `static_tier`, `connection`, [`tls`], `admission`, the context of a core, `places`,
//! [`fleet`], `access_log`, [`telemetry`], `framing` and [`config`].

pub mod config;
pub mod telemetry;
pub mod tls;

mod access_log;
mod admission;
mod alerts;
mod connection;
mod context;
mod control_loop;
mod error;
pub mod fleet;
mod framing;
mod gate;
mod generation;
pub mod handover;
mod host;
mod http;
mod limited_connections;
mod limits;
mod linger;
mod listen;
mod open_files;
mod page_template;
mod passage;
mod path;
mod places;
mod redirect;
mod refusal;
mod reload;
mod room_clock;
mod shared;
mod shutdown;
mod socket;
mod static_tier;
mod status;
mod supervision;
mod threads;
mod ticket_secret;
mod tunnel;
mod upkeep;
mod upstream;

pub use error::Error;
pub use gate::Gate;
#[doc(hidden)]
pub use supervision::{Component, InjectedFault};
pub use upstream::reachability::upstream_problems;
