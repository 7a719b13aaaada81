//! Several gates before one service. What they share goes through NATS, and no core waits for it.
//!
//! Three tasks of the control thread's runtime: `talk` reports the gate's demand, takes tables of
//! shares and tells of sessions that use much; `lease` keeps the lease, whose holder divides the
//! service and makes ticket keys; `keys` shares the ticket keys. [`look`] shows a fleet from outside.

mod keys;
mod lease;
mod message;
pub mod state;
mod talk;
mod view;

pub use message::{Subjects, Uses};
pub use view::{View, look};

use crate::admission::sessions::Sessions;
use crate::admission::tickets::Keyring;
use crate::shared::Shared;
use state::FleetState;
use std::sync::Arc;
use tidegate_fleet::{Bucket, Connection};

/// Takes part in the fleet until dropped.
pub async fn run(
    state: Arc<FleetState>,
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    keyring: Arc<Keyring>,
) {
    let access = &state.access.access;
    let connected = Connection::connect(access, state.secret().fleet(), &state.gate).await;
    let connection = match connected {
        Ok(connection) => connection,
        Err(error) => {
            tracing::error!("{error}; the gate serves alone, with its safe share of the service");
            state.seen().problem = Some(error.to_string());
            return std::future::pending().await;
        }
    };
    let subjects = Subjects::of(state.secret().fleet());
    let bucket = Bucket::new(connection.clone(), subjects.bucket.clone(), state.replicas);
    tokio::join!(
        talk::run(state.clone(), shared.clone(), sessions, connection.clone(), subjects),
        lease::run(&state, &shared, &connection, &bucket),
        keys::run(&state, &shared, &connection, &bucket, &keyring),
    );
}
