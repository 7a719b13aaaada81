//! A simulator of an overloaded service, in virtual time, around the
//! production [`Controller`](crate::Controller).
//!
//! Customers arrive in a Poisson process; each opens a connection, asks,
//! thinks, comes back with a resumed handshake if the connection was closed
//! meanwhile, and leaves for good if a response takes longer than its
//! patience. Gate and upstream queue for processors (see [`Machines`]). Work
//! for a customer who has left is done all the same, up to the stage that it
//! is in: this is what makes an uncontrolled server collapse.
//!
//! The gate is simulated as it is, with what it cannot know: connections and
//! requests that it has not read yet appear in no gauge.
//!
//! A run follows from the scenario and its seed alone.

mod catalogue;
mod machine;
mod outcome;
mod random;
mod scenario;
mod world;

pub use outcome::{Outcome, Second};
pub use random::Random;
pub use scenario::{Customers, Machines, Scenario, Work};
pub use world::run;
