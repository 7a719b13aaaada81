//! Keeps the lease, or waits for it.

use super::state::FleetState;
use crate::shared::Shared;
use std::time::{Duration, Instant};
use tidegate_fleet::{Bucket, Connection, Error, Opened, Tenure, unix_now};
use tokio::time::MissedTickBehavior;

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
    let mut interval = tokio::time::interval(INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        if !connection.connected() {
            continue;
        }
        if let Err(error) = step(state, shared, bucket).await {
            state.seen().problem = Some(error.to_string());
        }
    }
}

async fn step(state: &FleetState, shared: &Shared, bucket: &Bucket) -> Result<(), Error> {
    let seal = |tenure: &Tenure| state.sealer.seal(KEY, tenure, unix_now()).unwrap_or_default();
    if shared.draining() {
        let given_back = state.lease().give_back();
        if let Some(write) = given_back {
            bucket.put(KEY, seal(&write.tenure), write.revision).await?;
        }
        return Ok(());
    }
    let entry = bucket.get(KEY).await?.map(|entry| {
        let opened = state.secret().open::<Tenure>(KEY, &entry.value);
        let tenure = opened.map_err(|reason| state.refuse(reason)).ok();
        (entry.revision, tenure.map(|Opened { content, .. }| content))
    });
    let write = state.lease().read(entry, Instant::now());
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
