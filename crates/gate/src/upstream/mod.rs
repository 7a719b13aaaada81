//! The services behind the gate: routes to them, their servers, connections, and whether they can
//! be reached.

pub mod balance;
pub mod challenge;
pub mod check;
pub mod connector;
pub mod error;
pub mod health;
pub mod pool;
pub mod queue;
pub mod reachability;
pub mod responses;
pub mod routes;
pub mod rules;
pub mod standing;
pub mod unacked;
pub mod watched;
