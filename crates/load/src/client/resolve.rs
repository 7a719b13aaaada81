//! From the name of the target to its addresses: by the system, or as the user gives them.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use super::addresses::Addresses;
use super::target::Target;
use crate::error::Error;

/// Addresses for a host and port, in place of those that the system finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolve {
    host: String,
    port: u16,
    addresses: Vec<IpAddr>,
}

impl Resolve {
    /// Reads `HOST:PORT:ADDRESS[,ADDRESS]...`, as curl's `--resolve` has it. IPv6 addresses can
    /// be in brackets.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: String| {
            format!("{what}; write HOST:PORT:ADDRESS[,ADDRESS], such as shop.example:443:192.0.2.7")
        };
        let parts = text.split_once(':').and_then(|(host, rest)| {
            let (port, addresses) = rest.split_once(':')?;
            (!host.is_empty()).then_some((host, port, addresses))
        });
        let (host, port, addresses) =
            parts.ok_or_else(|| wrong("is not a host, a port and addresses".to_owned()))?;
        let port: Option<u16> = port.parse().ok().filter(|port| *port > 0);
        let port =
            port.ok_or_else(|| wrong("has no port between host and addresses".to_owned()))?;
        let address = |item: &str| {
            let item = item.trim();
            let bare = item.strip_prefix('[').and_then(|item| item.strip_suffix(']'));
            let address: Result<IpAddr, _> = bare.unwrap_or(item).parse();
            address.map_err(|_| wrong(format!("\"{item}\" is not an IP address")))
        };
        let addresses: Vec<IpAddr> = addresses.split(',').map(address).collect::<Result<_, _>>()?;
        if addresses.len() > Addresses::MOST {
            return Err(format!("has {} addresses, at most {}", addresses.len(), Addresses::MOST));
        }
        Ok(Self { host: host.to_ascii_lowercase(), port, addresses })
    }

    pub(crate) fn is_for(&self, target: &Target) -> bool {
        self.host.eq_ignore_ascii_case(&target.host) && self.port == target.port
    }
}

/// The addresses that a run against this target connects to, see [`Plan::target`] and
/// [`Plan::resolve`].
///
/// # Errors
/// The target is no URL of a service, or has no address.
///
/// [`Plan::target`]: crate::Plan::target
/// [`Plan::resolve`]: crate::Plan::resolve
pub fn addresses_of(target: &str, given: &[Resolve]) -> Result<Vec<SocketAddr>, Error> {
    resolve(&Target::parse(target)?, given)
}

/// The socket addresses of the target and the other hosts, each as by [`resolve`].
///
/// # Errors
/// A name does not resolve, or `given` has addresses of another host or port.
pub(crate) fn resolve_all(
    targets: &[&Target],
    given: &[Resolve],
) -> Result<Vec<Vec<SocketAddr>>, Error> {
    let is_other = |it: &&Resolve| !targets.iter().any(|target| it.is_for(target));
    if let (Some(other), Some(target)) = (given.iter().find(is_other), targets.first()) {
        return Err(Error::Plan {
            key: "resolve",
            rule: format!(
                "{}:{} is not the target, which is {}:{}",
                other.host, other.port, target.host, target.port
            ),
            remedy: "give addresses for the host and port of the target",
        });
    }
    targets.iter().map(|target| resolve(target, given)).collect()
}

/// The socket addresses of a target: at least one, at most [`Addresses::MOST`], each once, in
/// the order of the system or of those of `given` that are for it.
///
/// # Errors
/// The name does not resolve.
pub(crate) fn resolve(target: &Target, given: &[Resolve]) -> Result<Vec<SocketAddr>, Error> {
    let given: Vec<&Resolve> = given.iter().filter(|it| it.is_for(target)).collect();
    let found: Vec<SocketAddr> = if given.is_empty() {
        let unresolved = |reason| Error::Unresolved { target: target.text.clone(), reason };
        let found = (target.host.as_str(), target.port).to_socket_addrs();
        let found: Vec<_> = found.map_err(|error| unresolved(error.to_string()))?.collect();
        if found.is_empty() {
            return Err(unresolved("it has no address".to_owned()));
        }
        found
    } else {
        let addresses = given.iter().flat_map(|it| &it.addresses);
        addresses.map(|address| SocketAddr::new(*address, target.port)).collect()
    };
    let mut distinct = Vec::new();
    for address in found {
        if !distinct.contains(&address) && distinct.len() < Addresses::MOST {
            distinct.push(address);
        }
    }
    Ok(distinct)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_addresses_replace_those_of_the_system_and_each_counts_once() {
        let target = Target::parse("https://Shop.test:8443").unwrap();
        let given = [
            Resolve::parse("shop.test:8443:127.0.0.2,[::1], 127.0.0.3").unwrap(),
            Resolve::parse("SHOP.test:8443:::1,127.0.0.4").unwrap(),
        ];
        let found = resolve(&target, &given).unwrap();
        let expected = ["127.0.0.2:8443", "[::1]:8443", "127.0.0.3:8443", "127.0.0.4:8443"];
        assert_eq!(found, expected.map(|address| address.parse().unwrap()));
        let near = Target::parse("http://127.0.0.1:80").unwrap();
        assert_eq!(resolve(&near, &[]).unwrap(), ["127.0.0.1:80".parse().unwrap()]);
    }

    #[test]
    fn addresses_of_another_host_or_port_are_a_mistake() {
        let target = Target::parse("https://shop.test").unwrap();
        for other in ["shop.test:80:127.0.0.1", "www.shop.test:443:127.0.0.1"] {
            let given = [Resolve::parse(other).unwrap()];
            let error = resolve_all(&[&target], &given).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("is not the target, which is shop.test:443;"), "{text}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    #[test]
    fn what_is_not_host_port_and_addresses_is_rejected() {
        let many = format!("a:1:{}", vec!["::1"; 65].join(","));
        for bad in ["", "a", "a:1", ":1:::1", "a:0:::1", "a:x:::1", "a:1:", "a:1:b", &many] {
            let wrong = Resolve::parse(bad).unwrap_err();
            assert!(wrong.contains("write HOST:PORT") || wrong.contains("at most 64"), "{wrong}");
        }
    }
}
