//! CPU capacity and use of a service that the gate cannot see: on another machine, in a
//! container, or of another user.
//!
//! The agent runs beside the service. The gate asks it by a datagram with a nonce, and the
//! agent answers with a [`Reading`]. Both datagrams are signed under a shared secret
//! (HMAC-SHA256), and an answer is taken only for a nonce that was asked and not answered, so
//! that neither a forged nor a recorded answer changes anything. Readings are not secret and
//! are not encrypted.
//!
//! Datagrams, not a connection: an answer that is lost or late is worth nothing, since the next
//! one says more, and the agent keeps no state of anybody who asks. All datagrams have the same
//! size, so that the agent sends nobody more than it received.

mod agent;
mod client;
mod message;
mod sampler;
mod secret;

pub use agent::{Agent, Counts};
pub use client::{Client, Silence};
pub use message::{Query, Reading, SIZE};
pub use sampler::{Sampler, boot_id};
pub use secret::Secret;
