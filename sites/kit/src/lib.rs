//! What the reference sites are made with.
//!
//! A site renders its pages on the server, keeps its data in a database with transactions
//! and hashes its passwords with argon2id. The kit has the [`database`] layer (SQLite
//! embedded, PostgreSQL by URL), the [`server`] (one runtime per core), TLS, passwords, the
//! limit of guesses, signed tokens, the memory of received messages, the [`problem`]s that a
//! page, an interface or a link reports, parts of pages and populations, and the [`link`]s
//! between the tiers of a site. It names no site.

pub mod backoff;
pub mod client;
pub mod database;
mod error;
pub mod link;
pub mod login_limit;
pub mod money;
pub mod once;
pub mod password;
pub mod pem;
pub mod population;
pub mod private_file;
pub mod problem;
pub mod queue;
pub mod random;
pub mod replay;
pub mod self_signed;
pub mod server;
pub mod session;
pub mod throttle;
pub mod tls;
pub mod token;
pub mod web;
pub mod when;

pub use error::{Error, Result};
pub use problem::{Mistake, Problem};
