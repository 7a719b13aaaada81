//! A fleet as NATS shows it, to somebody who is no gate.

use super::lease::KEY;
use super::message::{Subjects, join};
use crate::telemetry::snapshot::FleetGate;
use serde::Serialize;
use std::time::{Duration, Instant};
use tidegate_control::fleet::Table;
use tidegate_fleet::{Bucket, Connection, Error, FleetAccess, Opener, Tenure, unix_now};

/// How long a connection and then a table are waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// A fleet at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// Its name.
    pub name: String,
    /// The servers of NATS.
    pub servers: String,
    /// The gate that divides the service and makes ticket keys; `None`: none does.
    pub holder: Option<String>,
    /// Epoch of the holder's lease.
    pub epoch: Option<u64>,
    /// The gates that are heard of, with their shares; empty while nobody divides.
    pub gates: Vec<FleetGate>,
}

/// Looks at a fleet. It takes up to some seconds, and changes nothing.
///
/// # Errors
/// NATS does not answer, or refuses the user; the gates have another secret.
pub async fn look(access: &FleetAccess) -> Result<View, Error> {
    let fleet = access.secret.fleet();
    let connection = Connection::connect(&access.access, fleet, "fleet status").await?;
    let begun = Instant::now();
    while !connection.connected() {
        if begun.elapsed() > PATIENCE {
            let why = connection.fault().unwrap_or_else(|| "no answer in time".into());
            return Err(Error::Lost(format!("{} ({why})", access.access.shown())));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let subjects = Subjects::of(fleet);
    let mut tables = connection.subscribe(&subjects.table, 64).await?;
    let bucket = Bucket::new(connection.clone(), subjects.bucket.clone(), 1);
    let (mut tenure, mut refused) = (None, None);
    if let Some(entry) = bucket.get(KEY).await? {
        match access.secret.open::<Tenure>(KEY, &entry.value) {
            Ok(opened) => tenure = Some(opened),
            Err(why) => refused = Some(why),
        }
    }
    let tenure = tenure.map(|opened| opened.content).filter(|tenure| !tenure.holder.is_empty());
    let mut opener = Opener::new(access.secret.clone());
    let mut newest: Option<Table> = None;
    let until = tokio::time::Instant::now() + PATIENCE;
    // A table is whole once the next one begins.
    while let Ok(message) = tokio::time::timeout_at(until, tables.next()).await {
        let opened = opener.open::<Table>(&subjects.table, &message.payload, unix_now());
        let table = match opened {
            Ok(opened) => opened.content,
            Err(why) => {
                refused = Some(why);
                continue;
            }
        };
        let begins_next = newest
            .as_ref()
            .is_some_and(|newest| (newest.epoch, newest.sequence) < (table.epoch, table.sequence));
        if begins_next || table.check().is_err() {
            break;
        }
        join(&mut newest, &table);
    }
    if let Some(why) = refused.filter(|_| newest.is_none()) {
        return Err(Error::Refused(why));
    }
    let gates = newest.iter().flat_map(|table| &table.shares).map(FleetGate::of).collect();
    Ok(View {
        name: fleet.to_owned(),
        servers: access.access.shown(),
        // A lease that nobody renews stays in the bucket.
        holder: tenure.as_ref().filter(|_| newest.is_some()).map(|tenure| tenure.holder.clone()),
        epoch: newest.map(|table| table.epoch),
        gates,
    })
}
