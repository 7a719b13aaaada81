//! The service behind the gate: connections to it, their pool, and whether it can be
//! reached.

pub mod connector;
pub mod error;
pub mod health;
pub mod pool;
pub mod reachability;
pub mod responses;
pub mod unacked;
pub mod watched;
