//! One interface to two databases: SQLite embedded in the process and PostgreSQL
//! by URL. Queries are written once, with `$1` placeholders, over two types of
//! value (64-bit integers and text); a row is read through [`Fields`].
//!
//! Connections belong to one core: no connection crosses threads while a query
//! runs. SQLite runs its queries on the core's own thread, PostgreSQL by sqlx on
//! the core's runtime. The pool is our own, because sqlx's pings every
//! connection that is returned, which costs more than a typical query.

mod connection;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod fault;
mod location;
pub mod notes;
mod pool;
mod postgres;
mod record;
mod sqlite;
pub mod tables;

pub use connection::{Connection, Dialect};
pub use error::{Error, Result};
pub use location::{Location, make_folder};
pub use pool::{Database, LockingSql, Transaction};
pub use postgres::Postgres;
pub use record::{Columns, Fields, Record, Value};
pub use sqlite::Sqlite;
