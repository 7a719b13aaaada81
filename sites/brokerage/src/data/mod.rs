//! The data tier: keeps customers, orders, money and shares in a database with persistent
//! connections, and turns requests of the application tier into SQL.
//!
//! What belongs together is one transaction. An order is stored and its cash reserved, or
//! neither; money, shares and the state of an order change together. A request that is sent
//! again changes nothing more.

mod options;
mod population;
mod prepare;
mod schema;
mod service;
mod store;

pub use options::Options;
pub use prepare::{Prepared, prepare};
pub use service::start;
