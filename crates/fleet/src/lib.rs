//! What gates and load drivers on several machines share through NATS.
//!
//! NATS is neither trusted nor waited for. Every message and every value of a bucket is sealed under
//! the operator's secret ([`Sealer`], [`Opener`]), so that NATS and its other users can read nothing
//! and say nothing. A [`Connection`] that is lost or slow drops messages and counts them. Who may act
//! for all is decided by a [`Lease`] in a bucket of JetStream; membership, consensus and delivery are
//! those of NATS.

mod access;
mod bucket;
mod connection;
mod lease;
mod refused;
mod seal;

pub use access::{Access, AccessFiles, FleetAccess, MOST_SERVERS, WrongFile, read_server};
pub use bucket::{Bucket, Entry};
pub use connection::{Connection, DEADLINE, Error, Message, Subscription};
pub use lease::{LEASE, Lease, Read, Tenure};
pub use refused::{Refused, RefusedCounts};
pub use seal::{
    Incarnation, MOST_AGE, MOST_BYTES, MOST_NAME, Opened, Opener, Sealer, Secret, is_fleet,
    is_name, sender_of, unix_now,
};
