//! A relay between customers and the service, which delays and counts what passes.

use std::time::Duration;

use tidegate_host::Cores;
use tidegate_lab::Relay;
use tidegate_load::{Plan, addresses_of};

use super::failed;
use crate::{Error, Result};

/// Lets the customers of a plan connect to a relay on these processors, with this round-trip time.
/// What they send stays that of the target.
///
/// # Errors
/// The target has no address, or no relay can be started.
pub fn relayed(plan: &mut Plan, round_trip: Duration, cores: &Cores) -> Result<Relay> {
    let addresses = addresses_of(&plan.target, &plan.resolve).map_err(|it| failed(&it))?;
    let first = addresses.first().copied();
    let to = first.ok_or_else(|| Error::Process(format!("{} has no address", plan.target)))?;
    let relay = Relay::start(to, round_trip, cores)?;
    plan.connect_to = Some(relay.address());
    Ok(relay)
}
