//! Settings of connections: HTTP version, lifetime, close, source addresses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tidegate_config::Word;

use crate::word::words;

/// Source addresses for a target on loopback. Each has some 28,000 ports, so that together
/// they last for a minute of TIME_WAIT at 20,000 connections per second.
const LOOPBACK_SOURCES: u8 = 64;

/// Source addresses of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sources {
    /// For a target on loopback (IPv4), 64 addresses of 127.0.77.0/24 in turn, so that
    /// connections in TIME_WAIT do not exhaust the ports; else the system chooses.
    #[default]
    Auto,
    /// The system chooses.
    System,
    /// These addresses in turn.
    List(Vec<IpAddr>),
}

/// HTTP/1.1 connections of a browser to one server.
pub(crate) const PARALLEL: u8 = 6;

/// The connection settings of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connections {
    /// HTTP version.
    pub http: Http,
    /// Lifetime.
    pub keep: KeepAlive,
    /// How connections are closed.
    pub close: Close,
    /// Source addresses.
    pub sources: Sources,
    /// Most HTTP/1.1 connections of a customer for the assets of a page, at least 1.
    pub parallel: u8,
    /// Requests say that compressed responses are accepted.
    pub accept_encoding: bool,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            http: Http::default(),
            keep: KeepAlive::default(),
            close: Close::default(),
            sources: Sources::default(),
            parallel: PARALLEL,
            accept_encoding: false,
        }
    }
}

/// Version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1.
    #[default]
    One,
    /// HTTP/2: by ALPN over TLS, with prior knowledge over plain TCP. A connection belongs
    /// to one customer. It has one request at a time, apart from the assets of a page.
    Two,
}

words!(Http: "1.1" => One, "2" => Two);

impl Http {
    /// `1.1` or `2`.
    pub fn name(self) -> &'static str {
        self.word()
    }
}

/// Lifetime of a connection, unless the server closes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepAlive {
    /// One request, sent with `Connection: close`.
    Request,
    /// One session, as in browsers. The next session begins without a ticket.
    #[default]
    Session,
    /// All sessions of a customer of the closed model, together with the tickets.
    /// Customers of other models have one session.
    Customer,
}

words!(KeepAlive: "request" => Request, "session" => Session, "customer" => Customer);

impl Sources {
    /// Most addresses used of one network.
    pub const MOST: u32 = 1024;

    /// Reads `auto`, `system`, or addresses and IPv4 networks such as
    /// `127.0.1.1,127.8.0.0/16`. From a large network [`Sources::MOST`] evenly spread
    /// addresses are used.
    ///
    /// # Errors
    /// The item that is neither, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "auto" => return Ok(Self::Auto),
            "system" => return Ok(Self::System),
            _ => {}
        }
        let mut list = Vec::new();
        for item in text.split(',').map(str::trim) {
            let wrong = || format!("\"{item}\" is neither an address nor an IPv4 network");
            match item.split_once('/') {
                None => list.push(item.parse().map_err(|_| wrong())?),
                Some((address, bits)) => {
                    let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
                    let bits = bits.parse().ok().filter(|bits| (8..=30).contains(bits));
                    list.extend(network(address, bits.ok_or_else(wrong)?));
                }
            }
        }
        Ok(Self::List(list))
    }

    /// The source addresses for connections to `target`; empty leaves the choice to the
    /// system.
    pub(crate) fn addresses(&self, target: SocketAddr) -> Vec<IpAddr> {
        match (self, target.ip()) {
            (Self::Auto, IpAddr::V4(ip)) if ip.is_loopback() => {
                (1..=LOOPBACK_SOURCES).map(|n| Ipv4Addr::new(127, 0, 77, n).into()).collect()
            }
            (Self::List(list), ip) => {
                list.iter().copied().filter(|source| source.is_ipv4() == ip.is_ipv4()).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Host addresses of a network of 8 to 30 bits, without the network and the broadcast
/// address.
fn network(address: Ipv4Addr, bits: u32) -> impl Iterator<Item = IpAddr> {
    let size = 1u32 << (32 - bits);
    let base = u32::from(address) & !(size - 1);
    let hosts = size - 2;
    let taken = hosts.min(Sources::MOST);
    (0..taken).map(move |n| Ipv4Addr::from(base + 1 + n * (hosts / taken)).into())
}

/// How a connection is closed at the end of its lifetime. Abandoned connections are always
/// reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Close {
    /// close_notify and FIN, as browsers do.
    #[default]
    Shutdown,
    /// close_notify and RST: no TIME_WAIT, for high rates from one address.
    Reset,
}

words!(Close: "shutdown" => Shutdown, "reset" => Reset);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_addresses_are_a_list_or_evenly_spread_over_a_network() {
        assert_eq!(Sources::parse("auto"), Ok(Sources::Auto));
        let Ok(Sources::List(list)) = Sources::parse("127.0.1.9, ::1, 127.0.2.0/30") else {
            panic!("a list");
        };
        let text: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["127.0.1.9", "::1", "127.0.2.1", "127.0.2.2"]);
        let Ok(Sources::List(all)) = Sources::parse("127.0.0.0/8") else { panic!("a list") };
        // 2^24 − 2 hosts, every 16,383rd of them.
        assert_eq!(all.len(), 1024);
        assert_eq!(all[1].to_string(), "127.0.64.0");
        assert!(all.iter().all(IpAddr::is_loopback));
        for bad in ["", "shop", "127.0.0.0/31", "127.0.0.0/x", "::1/64", "127.0.0.1,"] {
            assert!(Sources::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_target_on_loopback_gets_many_source_addresses() {
        let loopback = "127.0.0.1:443".parse().unwrap();
        assert_eq!(Sources::Auto.addresses(loopback).len(), 64);
        assert!(Sources::Auto.addresses("192.0.2.1:443".parse().unwrap()).is_empty());
        assert!(Sources::System.addresses(loopback).is_empty());
    }
}
