//! What is special in a study: the capacity of anybody's site, and the costs of messages.

pub mod capacity;
mod compare;
pub mod messages;

pub use compare::compare;
