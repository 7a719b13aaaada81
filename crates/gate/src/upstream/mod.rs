//! The services behind the gate: routes to them, connections, pools, and whether they can be
//! reached.

pub mod challenge;
pub mod connector;
pub mod error;
pub mod health;
pub mod pool;
pub mod reachability;
pub mod responses;
pub mod routes;
pub mod unacked;
pub mod watched;
