//! The listening sockets of a gate: each of its addresses has one for every core.

use crate::config::Listen;
use crate::error::Error;
use crate::listen::core::Listeners;
use crate::listen::listener;
use crate::shared::Addresses;
use crate::socket::Scheme;
use std::net::{SocketAddr, TcpListener};

/// Opens the listening sockets of so many cores.
///
/// # Errors
/// An address cannot be listened on.
pub fn open(config: &Listen, cores: usize) -> Result<(Vec<Listeners>, Addresses), Error> {
    let mut of_cores: Vec<Listeners> = (0..cores).map(|_| Vec::new()).collect();
    let mut open = |address: SocketAddr, scheme| {
        let only_v6 = config.address.iter().any(|other| leaves_ipv4_to(address, *other));
        let opened = listener::listen(address, cores, config.backlog, only_v6)?;
        let bound = local_address(&opened, address);
        let each = of_cores.iter_mut().zip(opened);
        each.for_each(|(core, listener)| core.push((listener, scheme)));
        bound
    };
    let tls = config.address.iter().map(|address| open(*address, Scheme::Https));
    let tls = tls.collect::<Result<_, _>>()?;
    let clear = config.clear.map(|address| open(address, Scheme::Http)).transpose()?;
    Ok((of_cores, Addresses { tls, clear }))
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

    #[test]
    fn an_ipv6_listener_leaves_ipv4_to_the_one_with_its_port() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let four = listener::listen(at("0.0.0.0:0"), 1, 1, false).unwrap();
        let port = four[0].local_addr().unwrap().port();
        let six = at(&format!("[::]:{port}"));
        assert!(leaves_ipv4_to(six, at(&format!("0.0.0.0:{port}"))));
        assert!(!leaves_ipv4_to(six, at("0.0.0.0:9")) && !leaves_ipv4_to(six, six));
        let six = listener::listen(six, 2, 1, true).unwrap();
        assert_eq!(six[0].local_addr().unwrap(), six[1].local_addr().unwrap());
    }
}
