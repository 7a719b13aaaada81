//! Which processors the servers get and which the customers.

use anyhow::Context;
use tidegate_host::Cores;

use crate::exit::bad_input;

/// Processors for the servers and for their customers: those asked for by
/// `--server-cores` and `--driver-cores`, else the first and the second
/// allowed. They must not share one: the customers would slow the server that
/// they measure.
///
/// # Errors
/// When the processors are not there or overlap: bad input.
pub fn apart(server: &Option<Cores>, driver: &Option<Cores>) -> anyhow::Result<(Cores, Cores)> {
    let allowed = Cores::of_this_thread().context("cannot read the affinity")?;
    let pick = |given: &Option<Cores>, place| given.clone().or_else(|| allowed.only(place));
    let too_few = || {
        bad_input(format!(
            "two processors are needed, one for site and gate and one for the customers; this process may use only {allowed}"
        ))
    };
    let server = pick(server, 0).ok_or_else(too_few)?;
    let driver = pick(driver, 1).ok_or_else(too_few)?;
    for (flag, cores) in [("--server-cores", &server), ("--driver-cores", &driver)] {
        if let Some(missing) = cores.list().iter().find(|cpu| !allowed.list().contains(cpu)) {
            return Err(bad_input(format!(
                "{flag} {cores}: processor {missing} is not among those allowed here: {allowed}"
            )));
        }
    }
    if let Some(both) = server.list().iter().find(|cpu| driver.list().contains(cpu)) {
        return Err(bad_input(format!(
            "--server-cores {server} and --driver-cores {driver} share processor {both}: the customers would slow the server that they measure"
        )));
    }
    Ok((server, driver))
}
