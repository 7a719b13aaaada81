//! The target and the other hosts of a scenario, resolved and probed before a run.

use std::net::SocketAddr;

use super::probe::{self, Probed};
use crate::client::addresses::Addresses;
use crate::client::allow;
use crate::client::connections::Http;
use crate::client::resolve::resolve_all;
use crate::client::target::Target;
use crate::client::tls::config::{ClientTls, TlsSettings};
use crate::client::tls::rules::TicketsOf;
use crate::error::Error;
use crate::plan::Plan;
use crate::scenario::Host;

/// A host that customers request.
#[derive(Clone)]
pub(crate) struct RunSite {
    pub(crate) target: Target,
    /// Those that accept connections, at least one.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Number of the first among those of all hosts.
    pub(crate) number: u8,
    pub(crate) tls: Option<ClientTls>,
    pub(crate) http: Http,
}

/// The hosts of a run: the target first, then those of the scenario in their order.
pub(super) struct Sites {
    pub(super) all: Vec<RunSite>,
    /// Addresses that do not accept connections, with the reasons.
    pub(super) unreachable: Vec<(SocketAddr, String)>,
}

impl Sites {
    /// # Errors
    /// A host cannot be reached, or not as the plan says.
    pub(super) fn probe(plan: &Plan, target: Target) -> Result<Self, Error> {
        let hosts = plan.scenario.hosts();
        if let Some(same) = hosts.iter().find(|host| host.target.origin == target.origin) {
            return Err(Error::Plan {
                key: "hosts",
                rule: format!("{} is {}, the target itself", same.name, target.origin),
                remedy: "remove it from [hosts] and from its pages",
            });
        }
        let targets: Vec<&Target> =
            std::iter::once(&target).chain(hosts.iter().map(|host| &host.target)).collect();
        let mut addresses = resolve_all(&targets, &plan.resolve)?;
        addresses.iter_mut().skip(1).for_each(|all| all.truncate(Addresses::MOST_OF_OTHERS));
        if let (Some(instead), Some(own)) = (plan.connect_to, addresses.first_mut()) {
            *own = vec![instead];
        }
        addresses.iter().try_for_each(|all| plan.check_reach(all))?;
        if let Some(allowed) = &plan.allow {
            // Connections are opened to these addresses only, also those that follow a redirect.
            for (target, own) in targets.iter().zip(&addresses) {
                let given =
                    plan.connect_to.is_some() || plan.resolve.iter().any(|it| it.is_for(target));
                allow::check(allowed, target, own, given)?;
            }
        }
        let mut sites = Self { all: Vec::new(), unreachable: Vec::new() };
        let mut addresses = addresses.into_iter();
        let own = addresses.next().unwrap_or_default();
        sites.add(plan.tls_settings()?, plan.http, target, &own)?;
        for (host, addresses) in hosts.iter().zip(addresses) {
            let http = host.http.unwrap_or(plan.http);
            let settings = settings(plan, host, http)?;
            let added = sites.add(settings, http, host.target.clone(), &addresses);
            added.map_err(|error| of_host(error, host))?;
        }
        Ok(sites)
    }

    fn add(
        &mut self,
        settings: TlsSettings,
        http: Http,
        target: Target,
        addresses: &[SocketAddr],
    ) -> Result<(), Error> {
        let tls = match target.tls {
            true => Some(ClientTls::new(settings, &target)?),
            false => None,
        };
        let Probed { reached, unreachable } = probe::probe(http, &target, tls.as_ref(), addresses)?;
        let number = self.reached().count() as u8;
        self.unreachable.extend(unreachable);
        self.all.push(RunSite { target, addresses: reached, number, tls, http });
        Ok(())
    }

    /// The addresses of all hosts that accept connections.
    pub(super) fn reached(&self) -> impl Iterator<Item = SocketAddr> {
        self.all.iter().flat_map(|site| site.addresses.iter().copied())
    }
}

/// What customers offer to a host beside the target. Certificates and forged tickets are for the
/// target.
fn settings(plan: &Plan, host: &Host, http: Http) -> Result<TlsSettings, Error> {
    let Host { insecure, ca, server_name, .. } = host.clone();
    let tickets = match plan.tickets_of() {
        TicketsOf::One => TicketsOf::Customer,
        other => other,
    };
    let (certificate, forged_tickets, server_key) = (None, false, None);
    let own = plan.tls_settings()?;
    Ok(TlsSettings {
        insecure,
        ca,
        server_name,
        http,
        tickets,
        certificate,
        forged_tickets,
        server_key,
        ..own
    })
}

/// The error with the remedy that a host of a scenario has.
fn of_host(error: Error, host: &Host) -> Error {
    match error {
        Error::Tls { target, reason, remedy } if remedy.contains("--insecure") => Error::Tls {
            target: format!("{} ({target})", host.name),
            reason,
            remedy: "set insecure or ca of this host in [hosts] of the scenario",
        },
        other => other,
    }
}
