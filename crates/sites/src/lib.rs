//! The reference sites and their database layer.
//!
//! A site renders its pages on the server, keeps its data in a database with
//! transactions and hashes its passwords with argon2id. Each site is a module.
//! The sites share the [`database`] layer (SQLite embedded, PostgreSQL by URL),
//! the [`server`] (one runtime per core), passwords, the limit of guesses,
//! signed tokens, the memory of received messages, and what their pages and
//! populations are made with; a site of several tiers has [`link`]s between them.

pub mod auction;
pub mod brokerage;
pub mod card;
pub mod database;
mod error;
pub mod link;
pub mod login_limit;
pub mod messages;
mod money;
pub mod password;
mod pem;
mod population;
mod private_file;
mod replay;
pub mod self_signed;
pub mod server;
mod throttle;
pub mod tls;
pub mod token;
mod web;
mod when;

pub use error::{Error, Refusal, Result};
