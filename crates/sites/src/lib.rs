//! The reference sites and their database layer.
//!
//! A site renders its pages on the server, keeps its data in a database with
//! transactions and hashes its passwords with argon2id. Each site is a module.
//! The sites share the [`database`] layer (SQLite embedded, PostgreSQL by URL),
//! the [`server`] (one runtime per core), passwords, the limit of failed logins and
//! signed tokens.

pub mod auction;
pub mod database;
mod error;
pub mod login_limit;
pub mod messages;
pub mod password;
pub mod server;
pub mod token;

pub use error::{Error, Refusal, Result};
