//! Keeps the lease, or waits for it.

use super::state::FleetState;
use crate::shared::Shared;
use std::time::{Duration, Instant};
use tidegate_fleet::{Bucket, Connection, Error, Opened, Read, Tenure, sender_of, unix_now};

/// Key of the bucket.
pub(super) const KEY: &str = "lease";
/// Time between two looks at it.
const INTERVAL: Duration = Duration::from_millis(200);

/// Keeps the lease or waits for it, until dropped. A gate that drains gives it back.
pub(super) async fn run(
    state: &FleetState,
    shared: &Shared,
    connection: &Connection,
    bucket: &Bucket,
) {
    loop {
        // Another's tenure may be over before the next look is due.
        let now = Instant::now();
        let expires = state.lease().expires().filter(|at| *at > now);
        let next = expires.map_or(now + INTERVAL, |at| at.min(now + INTERVAL));
        tokio::time::sleep_until(next.into()).await;
        if !connection.connected() {
            continue;
        }
        let stepped = step(state, shared, bucket).await;
        state.seen().bucket_problem = stepped.err().map(|error| error.to_string());
    }
}

async fn step(state: &FleetState, shared: &Shared, bucket: &Bucket) -> Result<(), Error> {
    let seal = |tenure: &Tenure| state.sealer.seal(KEY, tenure, unix_now()).unwrap_or_default();
    if shared.draining() {
        let given_back = state.lease().give_back();
        if let Some(write) = given_back {
            bucket.put(KEY, seal(&write.tenure), write.revision).await?;
            state.lease().gave_back();
        }
        return Ok(());
    }
    let (read, foreign) = match bucket.get(KEY).await? {
        None => (Read::Missing, None),
        Some(entry) => match state.secret().open::<Tenure>(KEY, &entry.value) {
            Ok(Opened { content, .. }) => (Read::Tenure(entry.revision, content), None),
            Err(reason) => {
                state.refuse(reason);
                let sender = sender_of(&entry.value).unwrap_or("of no name").to_owned();
                (Read::Foreign(entry.revision), Some(sender))
            }
        },
    };
    state.seen().foreign_holder = foreign;
    let write = state.lease().read(read, Instant::now());
    if let Some(write) = write {
        let began = Instant::now();
        let revision = bucket.put(KEY, seal(&write.tenure), write.revision).await?;
        let held_before = state.lease().held(began).is_some();
        state.lease().wrote(&write, revision, began);
        if revision.is_some() && !held_before {
            let epoch = write.tenure.epoch;
            tracing::info!(
                "fleet: this gate divides the service and makes ticket keys (epoch {epoch})"
            );
        }
    }
    Ok(())
}
