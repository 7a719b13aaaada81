//! The reference sites and their database layer.
//!
//! A site is a real one: pages rendered on the server, a real database with
//! transactions, passwords hashed as they should be. Each site lives in a module
//! of its own; what they share is here: the [`database`] seam (SQLite embedded,
//! PostgreSQL by URL), the [`server`] (one runtime per core), passwords and
//! signed tokens.

pub mod auction;
pub mod database;
mod error;
pub mod password;
pub mod server;
pub mod token;

pub use error::{Error, Refusal, Result};
