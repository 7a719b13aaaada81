//! The processors of the servers and those of the customers.

use serde::Serialize;
use tidegate_host::Cores;

use crate::error::{Error, Fault, Result};

/// The processors of the servers and of their customers: the given ones (`--server-cores`,
/// `--driver-cores`), else the first and the second allowed. They must not overlap, since
/// the customers would slow the server that they measure.
///
/// # Errors
/// [`Error::Operator`] if a processor is not allowed here, or both use it.
pub fn apart(server: &Option<Cores>, driver: &Option<Cores>) -> Result<(Cores, Cores)> {
    let allowed = allowed()?;
    let pick = |given: &Option<Cores>, place| given.clone().or_else(|| allowed.only(place));
    let too_few = || {
        Error::Operator(format!(
            "two processors are needed, one for site and gate and one for the customers; this process may use only {allowed}"
        ))
    };
    let server = pick(server, 0).ok_or_else(too_few)?;
    let driver = pick(driver, 1).ok_or_else(too_few)?;
    for (flag, cores) in [("--server-cores", &server), ("--driver-cores", &driver)] {
        if let Some(missing) = cores.list().iter().find(|cpu| !allowed.list().contains(cpu)) {
            return Err(Error::Operator(format!(
                "{flag} {cores}: processor {missing} is not among those allowed here: {allowed}"
            )));
        }
    }
    if let Some(both) = server.list().iter().find(|cpu| driver.list().contains(cpu)) {
        return Err(Error::Operator(format!(
            "--server-cores {server} and --driver-cores {driver} share processor {both}: the customers would slow the server that they measure"
        )));
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
    /// [`Error::Operator`] if they are the same, or one is not allowed here.
    pub fn new(server: usize, driver: usize) -> Result<Self> {
        let allowed = allowed()?.list().to_vec();
        if server == driver || ![server, driver].iter().all(|core| allowed.contains(core)) {
            return Err(Error::Operator(format!(
                "--server-core {server} and --driver-core {driver} must be two of the cores {allowed:?}"
            )));
        }
        Ok(Self { server, driver })
    }
}

/// The processors that this thread may use.
fn allowed() -> Result<Cores> {
    Cores::of_this_thread().of_machine("cannot read the affinity")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_that_both_use_or_that_is_not_there_is_bad_input() {
        let first = allowed().unwrap().only(0);
        let shared = apart(&first, &first).unwrap_err();
        assert!(shared.to_string().contains("share processor"), "{shared}");
        let core = first.unwrap().list()[0];
        let same = CorePair::new(core, core).unwrap_err();
        assert!(same.to_string().contains("must be two of the cores"), "{same}");
        assert!([shared, same].iter().all(|error| matches!(error, Error::Operator(_))));
    }
}
