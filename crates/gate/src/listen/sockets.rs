//! The listening sockets of a gate: each of its addresses has one for every core, or those
//! that were open before.

use crate::config::Listen;
use crate::error::Error;
use crate::handover::Role;
use crate::handover::inherited::{AtAddress, Inherited};
use crate::listen::core::Listeners;
use crate::listen::listener;
use crate::shared::Addresses;
use crate::socket::Scheme;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// The listening sockets of a gate.
#[derive(Debug)]
pub struct Sockets {
    /// Of each core.
    pub of_cores: Vec<Listeners>,
    /// Each once, with its role.
    pub all: Vec<(Role, Arc<TcpListener>)>,
    /// Where they listen.
    pub addresses: Addresses,
}

/// Opens the listening sockets of so many cores. Those that are inherited stay as they are:
/// connections wait in their queues.
///
/// # Errors
/// An address cannot be listened on.
pub fn open(config: &Listen, cores: usize, inherited: &mut Inherited) -> Result<Sockets, Error> {
    let mut opening =
        Opening { config, of_cores: (0..cores).map(|_| Vec::new()).collect(), all: Vec::new() };
    let tls = opening.listeners(Role::Tls, Scheme::Https, &config.address, inherited)?;
    let clear = opening.listeners(Role::Clear, Scheme::Http, config.clear.as_slice(), inherited)?;
    let Opening { of_cores, all, .. } = opening;
    Ok(Sockets { of_cores, all, addresses: Addresses { tls, clear: clear.first().copied() } })
}

struct Opening<'a> {
    config: &'a Listen,
    of_cores: Vec<Listeners>,
    all: Vec<(Role, Arc<TcpListener>)>,
}

impl Opening<'_> {
    /// Opens all sockets of a role; returns where they listen.
    fn listeners(
        &mut self,
        role: Role,
        scheme: Scheme,
        configured: &[SocketAddr],
        inherited: &mut Inherited,
    ) -> Result<Vec<SocketAddr>, Error> {
        let mut at = inherited.named(role);
        if at.is_empty() {
            let each = configured.iter().map(|address| match inherited.at(role, *address) {
                Some(found) => Ok(found),
                None => self.fresh(*address),
            });
            at = each.collect::<Result<_, _>>()?;
        }
        let mut addresses = Vec::new();
        for (address, listeners) in at {
            self.spread(address, listeners, role, scheme)?;
            addresses.push(address);
        }
        Ok(addresses)
    }

    fn fresh(&self, address: SocketAddr) -> Result<AtAddress, Error> {
        let only_v6 = self.config.address.iter().any(|other| leaves_ipv4_to(address, *other));
        let opened = listener::listen(address, self.of_cores.len(), self.config.backlog, only_v6)?;
        Ok((local_address(&opened, address)?, opened))
    }

    /// Distributes the sockets of an address over the cores. Where there are more cores,
    /// others are opened if the port may be shared; else cores accept from the same socket,
    /// and a connection wakes each of them. Where there are fewer, some have several.
    fn spread(
        &mut self,
        address: SocketAddr,
        listeners: Vec<TcpListener>,
        role: Role,
        scheme: Scheme,
    ) -> Result<(), Error> {
        let mut listeners = listeners;
        let (cores, backlog) = (self.of_cores.len(), self.config.backlog);
        let failed = |source| Error::Listen { address, source };
        listeners.iter().try_for_each(|one| listener::prepare(one, backlog)).map_err(failed)?;
        while listeners.len() < cores {
            let Some(Ok(another)) = listeners.first().map(|one| listener::beside(one, backlog))
            else {
                break;
            };
            listeners.push(another);
        }
        let listeners: Vec<_> = listeners.into_iter().map(Arc::new).collect();
        let turns = listeners.len().max(cores);
        for (turn, listener) in listeners.iter().cycle().take(turns).enumerate() {
            self.of_cores[turn % cores].push((listener.clone(), scheme));
        }
        self.all.extend(listeners.into_iter().map(|listener| (role, listener)));
        Ok(())
    }
}

/// Whether a socket of an IPv6 address has to leave IPv4 to that of the other.
fn leaves_ipv4_to(address: SocketAddr, other: SocketAddr) -> bool {
    address.is_ipv6() && other.is_ipv4() && address.port() == other.port()
}

/// The address of these sockets, whose port the system may have chosen.
///
/// # Errors
/// The system does not tell it.
pub fn local_address(
    listeners: &[TcpListener],
    configured: SocketAddr,
) -> Result<SocketAddr, Error> {
    let Some(listener) = listeners.first() else { return Ok(configured) };
    listener.local_addr().map_err(|source| Error::Listen { address: configured, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn opening(config: &Listen, cores: usize) -> Opening<'_> {
        Opening { config, of_cores: vec![Vec::new(); cores], all: Vec::new() }
    }

    fn listen() -> Listen {
        let text = "[upstream]\nurl = \"http://127.0.0.1:1\"\n";
        crate::config::Config::from_toml(text, "t").unwrap().listen
    }

    /// Spreads so many sockets over so many cores: how many each core has, and all.
    fn spread(sockets: Vec<TcpListener>, cores: usize) -> (Vec<usize>, usize) {
        let listen = listen();
        let address = sockets[0].local_addr().unwrap();
        let mut opening = opening(&listen, cores);
        opening.spread(address, sockets, Role::Tls, Scheme::Https).unwrap();
        let all = opening.all.iter().map(|(_, socket)| socket.local_addr().unwrap());
        assert!(all.into_iter().all(|at| at == address));
        (opening.of_cores.iter().map(Vec::len).collect(), opening.all.len())
    }

    #[test]
    fn every_core_accepts_and_every_inherited_socket_is_accepted_from() {
        let shared = |count| listener::listen(at("127.0.0.1:0"), count, 1, false).unwrap();
        assert_eq!(spread(shared(2), 2), (vec![1, 1], 2));
        assert_eq!(spread(shared(1), 3), (vec![1, 1, 1], 3), "the port may be shared");
        assert_eq!(spread(shared(5), 2), (vec![3, 2], 5));
        let one = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(spread(vec![one], 3), (vec![1, 1, 1], 1), "the port may not be shared");
    }

    #[test]
    fn an_ipv6_listener_leaves_ipv4_to_the_one_with_its_port() {
        let four = listener::listen(at("0.0.0.0:0"), 1, 1, false).unwrap();
        let port = four[0].local_addr().unwrap().port();
        let six = at(&format!("[::]:{port}"));
        assert!(leaves_ipv4_to(six, at(&format!("0.0.0.0:{port}"))));
        assert!(!leaves_ipv4_to(six, at("0.0.0.0:9")) && !leaves_ipv4_to(six, six));
        let six = listener::listen(six, 2, 1, true).unwrap();
        assert_eq!(six[0].local_addr().unwrap(), six[1].local_addr().unwrap());
    }
}
