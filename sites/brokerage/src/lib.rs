//! An online brokerage of three tiers, each a process of its own: the web tier (pages and
//! forms), the application tier (rules: sessions, validation, the life of an order, the
//! price feed) and the data tier (SQL, on SQLite or PostgreSQL). The links between them
//! can each be secured, or not ([`tidegate_sitekit::link`]).
//!
//! Source: B. Kinicki, D. Finkel and others, "Electronic Commerce Performance Study", 1998,
//! for the tiers, their connections, the three configurations of security and the
//! transactions; all code and texts are our own.
//!
//! | transaction | request |
//! | --- | --- |
//! | 1, Web server only | `GET /` |
//! | 2, customer validation | `POST /login` |
//! | 3, open orders display | `GET /orders` |
//! | 4, transaction history display | `GET /history` |
//! | 5, load order entry page | `GET /orders/new` |
//! | 6, create order | `POST /orders` |
//!
//! Money is whole cents and a share is whole. Cash moves between accounts in a double-entry
//! ledger; what an order may use is reserved when it is accepted; and whatever belongs
//! together is one transaction of the data tier. So a tier that is killed loses and doubles
//! nothing.

pub mod app;
pub mod data;
mod error;
pub mod protocol;
mod random;
mod rpc;
mod securities;
mod security;
mod tier;
pub mod web;

pub use security::{Handshakes, Security};
pub use tier::{LinkOptions, Running, TIERS};
