//! The addresses of this machine.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

/// Whether an address belongs to this machine: all of 127.0.0.0/8 and `::1`, the unspecified
/// address, which leads to one of them, and the addresses of its interfaces. Binding to an address
/// does not tell: with `net.ipv4.ip_nonlocal_bind` any address can be bound.
pub fn is_own_address(address: IpAddr) -> bool {
    let address = address.to_canonical();
    if address.is_loopback() || address.is_unspecified() {
        return true;
    }
    let Ok(interfaces) = getifaddrs() else { return false };
    interfaces.filter_map(|interface| ip(&interface.address?)).any(|own| own == address)
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|it| IpAddr::from(it.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|it| IpAddr::from(it.ip())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_the_interfaces_are_own_and_addresses_of_documentation_are_not() {
        let is_own = |text: &str| is_own_address(text.parse().unwrap());
        for own in ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"] {
            assert!(is_own(own), "{own}");
        }
        let of_interfaces: Vec<IpAddr> =
            getifaddrs().unwrap().filter_map(|it| ip(&it.address?)).collect();
        assert!(!of_interfaces.is_empty() && of_interfaces.into_iter().all(is_own_address));
        // Source: RFC 5737, section 3; RFC 3849.
        for other in ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"] {
            assert!(!is_own(other), "{other}");
        }
    }
}
