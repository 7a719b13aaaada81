//! The processors of the servers and those of the customers.

use anyhow::Context;
use tidegate_host::Cores;

use serde::Serialize;

use crate::BadInput;

/// The processors of the servers and of their customers: the given ones (`--server-cores`,
/// `--driver-cores`), else the first and the second allowed. They must not overlap, since
/// the customers would slow the server that they measure.
///
/// # Errors
/// [`BadInput`] if a processor is not allowed here, or both use it.
pub fn apart(server: &Option<Cores>, driver: &Option<Cores>) -> anyhow::Result<(Cores, Cores)> {
    let allowed = Cores::of_this_thread().context("cannot read the affinity")?;
    let pick = |given: &Option<Cores>, place| given.clone().or_else(|| allowed.only(place));
    let too_few = || {
        anyhow::Error::new(BadInput(format!(
            "two processors are needed, one for site and gate and one for the customers; this process may use only {allowed}"
        )))
    };
    let server = pick(server, 0).ok_or_else(too_few)?;
    let driver = pick(driver, 1).ok_or_else(too_few)?;
    for (flag, cores) in [("--server-cores", &server), ("--driver-cores", &driver)] {
        if let Some(missing) = cores.list().iter().find(|cpu| !allowed.list().contains(cpu)) {
            return Err(anyhow::Error::new(BadInput(format!(
                "{flag} {cores}: processor {missing} is not among those allowed here: {allowed}"
            ))));
        }
    }
    if let Some(both) = server.list().iter().find(|cpu| driver.list().contains(cpu)) {
        return Err(anyhow::Error::new(BadInput(format!(
            "--server-cores {server} and --driver-cores {driver} share processor {both}: the customers would slow the server that they measure"
        ))));
    }
    Ok((server, driver))
}

/// One core for the servers and one for the driver.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CorePair {
    /// Core of the servers.
    pub server: usize,
    /// Core of the driver and the upstream.
    pub driver: usize,
}

impl CorePair {
    /// Two different cores that this process may use.
    ///
    /// # Errors
    /// [`BadInput`] if they are the same, or one is not allowed here.
    pub fn new(server: usize, driver: usize) -> anyhow::Result<Self> {
        let allowed = Cores::of_this_thread()?.list().to_vec();
        if server == driver || ![server, driver].iter().all(|core| allowed.contains(core)) {
            return Err(BadInput(format!(
                "--server-core {server} and --driver-core {driver} must be two of the cores {allowed:?}"
            ))
            .into());
        }
        Ok(Self { server, driver })
    }
}
