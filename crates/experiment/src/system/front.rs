//! What stands before the service: the gate, or a proxy that no one here wrote.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use tidegate_host::Cores;
use tidegate_lab::peers::{self, Kind, Server, Setup, Work};
use tidegate_lab::{Process, Service};

use super::{Workshop, gate};
use crate::experiment::Settings;
use crate::{Error, Result};

/// Begins the level of the factor `policy` that is another proxy.
const PEER: &str = "peer:";

/// Another proxy, with its own protection from overload if it has one and it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    kind: Kind,
    protected: bool,
}

impl Peer {
    const ALL: [(&'static str, Self); 4] = [
        ("nginx", Self { kind: Kind::Nginx, protected: false }),
        ("haproxy", Self { kind: Kind::Haproxy, protected: false }),
        ("envoy", Self { kind: Kind::Envoy, protected: false }),
        ("envoy-protected", Self { kind: Kind::Envoy, protected: true }),
    ];

    /// The proxy that a policy names; `None` for one of the gate.
    ///
    /// # Errors
    /// [`Error::Operator`]: nobody is called so, or its program is missing.
    pub(super) fn of(policy: &str) -> Result<Option<Self>> {
        let Some(name) = policy.strip_prefix(PEER) else { return Ok(None) };
        let known = Self::ALL.iter().find(|(known, _)| *known == name);
        let Some((_, peer)) = known else {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            return Err(Error::Operator(format!(
                "policy = {policy:?}: no other proxy is called so; they are {PEER}{}",
                names.join(&format!(", {PEER}"))
            )));
        };
        let program = peer.program();
        match program.is_file() {
            true => Ok(Some(*peer)),
            false => Err(Error::Operator(format!(
                "policy = {policy:?}: {} is missing: run scripts/bootstrap bench",
                program.display()
            ))),
        }
    }

    fn program(self) -> PathBuf {
        match self.kind {
            Kind::Nginx => "/usr/sbin/nginx",
            Kind::Haproxy => "/usr/sbin/haproxy",
            _ => "target/envoy/envoy",
        }
        .into()
    }
}

/// What customers come through.
#[derive(Debug)]
pub(super) enum Front {
    /// The gate.
    Gate(Service),
    /// Another proxy.
    Peer(Server),
}

impl Front {
    /// Starts what the policy of these settings names before a service.
    ///
    /// # Errors
    /// It does not start; with the last lines of its log.
    pub(super) fn start(
        settings: &Settings,
        upstream: &str,
        cores: &Cores,
        workshop: &Workshop,
        folder: &Path,
    ) -> Result<Self> {
        let Some(peer) = Peer::of(&settings.policy)? else {
            return Ok(Self::Gate(gate::start(settings, upstream, cores, workshop, folder)?));
        };
        let address = upstream.strip_prefix("http://").map(std::net::SocketAddr::from_str);
        let Some(Ok(address)) = address else {
            return Err(Error::Operator(format!(
                "policy = {:?}: another proxy can stand before a service over plain HTTP alone, and \
                 this one is {upstream}",
                settings.policy
            )));
        };
        let setup = Setup {
            program: peer.program(),
            folder: folder.join("peer"),
            certificate: workshop.certificate(&settings.certificate)?.clone(),
            upstream: address,
            cores: cores.only(0).unwrap_or_else(|| cores.clone()),
            protected: peer.protected,
        };
        let server = peers::start(peer.kind, Work::KeepAliveTls, &setup)?;
        server.map(Self::Peer).ok_or_else(|| {
            Error::Internal(format!("{} cannot stand before a service", peer.kind.title()))
        })
    }

    /// The URL for customers.
    ///
    /// # Errors
    /// The gate announced none.
    pub(super) fn url(&self) -> Result<String> {
        match self {
            Self::Gate(gate) => Ok(gate.address("gate")?.to_owned()),
            Self::Peer(peer) => Ok(format!("https://{}", peer.target)),
        }
    }

    /// The URL of the gate's admin pages.
    pub(super) fn admin(&self) -> Option<&str> {
        match self {
            Self::Gate(gate) => gate.address("admin").ok(),
            Self::Peer(_) => None,
        }
    }

    /// Its processes.
    pub(super) fn process(&self) -> &Process {
        match self {
            Self::Gate(gate) => gate.process(),
            Self::Peer(peer) => &peer.process,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_of_the_gate_are_no_peers_and_unknown_peers_are_refused_with_the_known_ones() {
        assert_eq!(Peer::of("tide").unwrap(), None);
        let error = Peer::of("peer:apache").unwrap_err().to_string();
        assert!(error.contains("peer:haproxy, peer:envoy"), "{error}");
    }
}
