//! The external partners of a business in one process, with three roles: one validates purchase
//! orders, one supplies goods, one takes notice of shipments.
//!
//! They are called over mutual TLS: a partner and its customer show certificates of one private
//! CA. A request has a key; under the same key it is carried out once and has the same answer for
//! ever. How long an answer takes and how often it fails is configuration ([`Behaviour`]).
//!
//! [`client`] is the side of the business.

mod behaviour;
pub mod client;
mod ledger;
mod options;
pub mod protocol;
mod service;
mod site;

pub use behaviour::Behaviour;
pub use options::Options;
pub use site::{PARTNERS, Site, TIERS, start};
