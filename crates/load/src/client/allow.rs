//! The services that a load generator may connect to, where somebody else chooses the target.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use super::target::Target;
use crate::error::Error;

/// A service that may be loaded: an address or a name, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    host: String,
    port: u16,
}

impl Allow {
    /// Reads `HOST:PORT`; an IPv6 address is in brackets.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            "must be a name or an address and a port, such as shop.example:443, 192.0.2.7:8443 or \
             [::1]:80"
                .to_owned()
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let sound = match bare {
            Some(bare) => bare.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && !host.contains([':', '/', '@', '*', '[']),
        };
        if !sound {
            return Err(wrong());
        }
        Ok(Self { host: bare.unwrap_or(host).to_ascii_lowercase(), port })
    }

    /// Whether a connection for this target may be opened to this address: the address is named, or
    /// the name of the target is and `found` are the addresses that this machine has for it.
    fn permits(&self, target: &Target, address: SocketAddr, found: &[SocketAddr]) -> bool {
        if self.port != address.port() || self.port != target.port {
            return false;
        }
        match self.host.parse::<IpAddr>() {
            Ok(named) => named.to_canonical() == address.ip().to_canonical(),
            Err(_) => self.host.eq_ignore_ascii_case(&target.host) && found.contains(&address),
        }
    }
}

/// Checks the addresses of a target; `given` says that the test states them, in place of those that
/// this machine finds.
///
/// # Errors
/// One of them is not allowed.
pub(crate) fn check(
    allowed: &[Allow],
    target: &Target,
    addresses: &[SocketAddr],
    given: bool,
) -> Result<(), Error> {
    let own: Vec<SocketAddr> = match given {
        // A name that is not found permits nothing.
        true => {
            (target.host.as_str(), target.port).to_socket_addrs().map_or(vec![], Iterator::collect)
        }
        false => addresses.to_vec(),
    };
    let permitted =
        |address: &&SocketAddr| allowed.iter().any(|it| it.permits(target, **address, &own));
    match addresses.iter().find(|address| !permitted(address)) {
        None => Ok(()),
        Some(address) => Err(Error::Plan {
            key: "target",
            rule: format!("{} at {address} may not be loaded from here", target.text),
            remedy: "start the agent with --allow HOST:PORT for each service that is yours to load",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(allowed: &[&str], target: &str, address: &str, given: bool) -> bool {
        let allowed: Vec<_> = allowed.iter().map(|text| Allow::parse(text).unwrap()).collect();
        let target = Target::parse(target).unwrap();
        check(&allowed, &target, &[address.parse().unwrap()], given).is_ok()
    }

    #[test]
    fn an_address_permits_itself_whatever_the_name() {
        let allowed = ["192.0.2.7:443", "[2001:db8::1]:443"];
        for (target, address, permitted) in [
            ("https://192.0.2.7", "192.0.2.7:443", true),
            ("https://shop.test", "192.0.2.7:443", true),
            ("https://shop.test", "[::ffff:192.0.2.7]:443", true),
            ("https://shop.test", "[2001:db8::1]:443", true),
            ("https://shop.test", "192.0.2.8:443", false),
            ("http://192.0.2.7", "192.0.2.7:80", false),
        ] {
            assert_eq!(checked(&allowed, target, address, true), permitted, "{target} {address}");
        }
    }

    #[test]
    fn a_name_permits_the_addresses_that_this_machine_finds_for_it_alone() {
        let allowed = ["localhost:443", "shop.test:443"];
        assert!(checked(&allowed, "https://LocalHost", "127.0.0.1:443", true));
        assert!(checked(&allowed, "https://shop.test", "192.0.2.1:443", false));
        // A test that states another address for the name leads nowhere.
        assert!(!checked(&allowed, "https://localhost", "192.0.2.1:443", true));
        assert!(!checked(&allowed, "https://other.test", "127.0.0.1:443", true));
        assert!(!checked(&[], "https://localhost", "127.0.0.1:443", true));
    }

    #[test]
    fn what_is_no_service_is_rejected_with_examples() {
        for bad in
            ["", "shop", "shop:", "shop:0", "shop:x", ":1", "::1:80", "[x]:1", "*:1", "a/b:1"]
        {
            assert!(Allow::parse(bad).unwrap_err().contains("such as shop.example:443"), "{bad}");
        }
    }
}
