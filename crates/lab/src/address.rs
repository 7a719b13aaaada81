use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Fault, Result};

/// Below the ports that Linux gives to outgoing connections and to listeners that ask for any
/// (`ip_local_port_range`, from 32768 by default): none of those takes a port between its
/// choice here and the start of the server that listens on it.
const PORTS: Range<u16> = 10_000..32_000;

/// A port of 127.0.0.1 that was free a moment ago. A process gets each port once, until it has
/// had all of them; several processes start at random places.
///
/// # Errors
/// No port is free, or the machine allows no listener.
pub fn free_address() -> Result<SocketAddr> {
    static TURN: LazyLock<AtomicU64> = LazyLock::new(|| {
        let random = RandomState::new().hash_one(());
        AtomicU64::new(random % PORTS.len() as u64)
    });
    for _ in PORTS {
        let turn = TURN.fetch_add(1, Ordering::Relaxed) % PORTS.len() as u64;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, PORTS.start + turn as u16));
        match TcpListener::bind(address) {
            Ok(_) => return Ok(address),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error).of_machine("no port of 127.0.0.1 can be listened on"),
        }
    }
    Err("each from 10000 to 31999 is in use").of_machine("no port of 127.0.0.1 is free")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_address_is_given_twice() {
        let addresses: HashSet<SocketAddr> = (0..1_000).map(|_| free_address().unwrap()).collect();
        assert_eq!(addresses.len(), 1_000);
    }

    #[test]
    fn an_address_in_use_is_not_given() {
        let turn = free_address().unwrap().port();
        let next = (turn + 1)..(turn + 20).min(PORTS.end);
        let taken: Vec<TcpListener> =
            next.filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()).collect();
        let given: HashSet<SocketAddr> = (0..40).map(|_| free_address().unwrap()).collect();
        for listener in taken {
            assert!(!given.contains(&listener.local_addr().unwrap()));
        }
    }
}
