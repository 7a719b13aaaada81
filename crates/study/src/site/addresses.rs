//! Where the site is, and whether it may be loaded.

use std::net::SocketAddr;

use tidegate_host::is_own_address;
use tidegate_lab::{Error, Result};
use tidegate_load::{Plan, addresses_of};

/// The addresses of the site that a plan is for.
///
/// # Errors
/// [`Error::Operator`]: the target is no URL, or not on this machine and not said to be the
/// operator's; [`Error::Process`]: its name does not resolve.
pub(crate) fn addresses(plan: &Plan) -> Result<Vec<SocketAddr>> {
    let Plan { target, scenario, resolve, .. } = plan;
    let addresses = addresses_of(target, resolve).map_err(of_load)?;
    let mut all: Vec<(&str, SocketAddr)> =
        addresses.iter().map(|address| (target.as_str(), *address)).collect();
    for host in scenario.hosts() {
        let of_host = addresses_of(host.url(), resolve).map_err(of_load)?;
        all.extend(of_host.into_iter().map(|address| (host.url(), address)));
    }
    let foreign = all.into_iter().find(|(_, address)| !is_own_address(address.ip()));
    match foreign {
        Some((url, address)) if !plan.attack_remote => Err(Error::Operator(format!(
            "{url}: {address} is not this machine, and the study loads it beyond what it can carry; if the site is yours, and its users can do without it meanwhile, add --yes-this-is-mine"
        ))),
        _ => Ok(addresses),
    }
}

/// An error of the load generator, by whose fault it is.
pub(crate) fn of_load(error: tidegate_load::Error) -> Error {
    match error.exit_code() {
        2 => Error::Operator(error.to_string()),
        _ => Error::Process(error.to_string()),
    }
}
