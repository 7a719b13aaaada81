//! The address of the customer who sent a request.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, HeaderValue};

use crate::server::Peer;

/// The address of who sent a request: the other end of the connection, or, where
/// that is a proxy, whom the proxy names. This machine and `proxies` are believed.
pub fn address(request: &Request, proxies: &[IpAddr]) -> IpAddr {
    let peer = request.extensions().get::<Peer>();
    // Without a server, as in a unit test, there is no connection.
    let peer = peer.map_or(Ipv4Addr::LOCALHOST.into(), |Peer(address)| *address);
    behind(peer, request.headers(), proxies)
}

/// Whether a believed proxy says that the customer reaches it over TLS.
pub fn over_tls(headers: &HeaderMap, extensions: &Extensions, proxies: &[IpAddr]) -> bool {
    let Some(Peer(peer)) = extensions.get::<Peer>() else { return false };
    let peer = peer.to_canonical();
    let says = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"https");
    let believed = peer.is_loopback() || proxies.contains(&peer);
    // One that adds a line instead of replacing the customer's is not understood.
    let mut values = headers.get_all("x-forwarded-proto").iter();
    believed && values.next().is_some_and(says) && values.next().is_none()
}

/// Each proxy appends whom it serves, so the list is read from its end for as
/// long as the one before is believed.
fn behind(peer: IpAddr, headers: &HeaderMap, proxies: &[IpAddr]) -> IpAddr {
    let believed = |address: IpAddr| address.is_loopback() || proxies.contains(&address);
    let mut client = peer.to_canonical();
    let lists = headers.get_all("x-forwarded-for").iter();
    let lists: Vec<&str> = lists.filter_map(|list| list.to_str().ok()).collect();
    for named in lists.iter().rev().flat_map(|list| list.rsplit(',')) {
        if !believed(client) {
            break;
        }
        let Ok(named) = named.trim().parse::<IpAddr>() else { break };
        client = named.to_canonical();
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, lists: &[&'static str]) -> String {
        let mut headers = HeaderMap::new();
        for list in lists {
            headers.append("x-forwarded-for", list.parse().unwrap());
        }
        let proxies = ["10.0.0.9".parse().unwrap()];
        behind(peer.parse().unwrap(), &headers, &proxies).to_string()
    }

    #[test]
    fn a_proxy_that_is_believed_names_the_customer() {
        assert_eq!(seen("127.0.0.1", &["192.0.2.7"]), "192.0.2.7");
        assert_eq!(seen("10.0.0.9", &["192.0.2.7"]), "192.0.2.7");
        assert_eq!(seen("::ffff:10.0.0.9", &["2001:db8::7"]), "2001:db8::7");
        assert_eq!(seen("127.0.0.1", &["192.0.2.7, 10.0.0.9"]), "192.0.2.7");
        assert_eq!(seen("127.0.0.1", &["192.0.2.7", "10.0.0.9"]), "192.0.2.7");
    }

    #[test]
    fn a_proxy_that_is_believed_tells_of_tls() {
        let told = |peer: &str, values: &[&'static str]| {
            let (mut headers, mut extensions) = (HeaderMap::new(), Extensions::new());
            extensions.insert(Peer(peer.parse().unwrap()));
            for value in values {
                headers.append("x-forwarded-proto", HeaderValue::from_static(value));
            }
            over_tls(&headers, &extensions, &["10.0.0.9".parse().unwrap()])
        };
        assert!(told("127.0.0.1", &["https"]) && told("10.0.0.9", &["HTTPS"]));
        assert!(!told("192.0.2.7", &["https"]) && !told("127.0.0.1", &["http"]));
        assert!(!told("127.0.0.1", &[]) && !told("127.0.0.1", &["https", "http"]));
    }

    #[test]
    fn a_customer_cannot_choose_their_address() {
        assert_eq!(seen("192.0.2.7", &["192.0.2.8"]), "192.0.2.7");
        assert_eq!(seen("127.0.0.1", &["192.0.2.8, 192.0.2.7"]), "192.0.2.7");
        assert_eq!(seen("127.0.0.1", &["192.0.2.8", "192.0.2.7"]), "192.0.2.7");
        for junk in ["", "x", "192.0.2.7:80", ",", "unknown"] {
            assert_eq!(seen("127.0.0.1", &[junk]), "127.0.0.1", "{junk}");
        }
        assert_eq!(seen("127.0.0.1", &[]), "127.0.0.1");
    }
}
