//! What the upstream learns about the customer: the fields that name the customer's
//! address, protocol and host.
//!
//! A field that the customer wrote must not pass for one that the gate wrote. Names are
//! compared as CGI, WSGI and Rack do when they make variables of them: there
//! `X_Forwarded_For` and `X-Forwarded-For` are the same.

use crate::config::{Forwarded, Host, Upstream};
use crate::socket::Scheme;
use http::header::{Entry, HOST, HeaderMap, HeaderName, HeaderValue};
use std::net::{IpAddr, SocketAddr};

/// The addresses that a request came from.
pub const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// The protocol that the customer uses.
pub const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const HTTPS: HeaderValue = HeaderValue::from_static("https");
const HTTP: HeaderValue = HeaderValue::from_static("http");

/// A customer, as the upstream learns of them.
#[derive(Debug)]
pub struct Customer {
    /// Their address.
    pub address: HeaderValue,
    /// The protocol that they use.
    pub scheme: Scheme,
}

impl Customer {
    /// The customer at this address.
    pub fn new(peer: SocketAddr, scheme: Scheme) -> Self {
        let ip = match peer.ip() {
            IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
            ip => ip,
        };
        let address = HeaderValue::from_str(&ip.to_string());
        Self { address: address.unwrap_or(HeaderValue::from_static("unknown")), scheme }
    }
}

/// What an upstream learns about customers.
#[derive(Debug)]
pub struct Forwarding {
    /// How to treat the fields of a request.
    pub mode: Forwarded,
    /// What to put in place of the customer's `Host`, if anything.
    pub host: Option<HeaderValue>,
    /// The `Host` of a request that may be without one.
    pub default_host: HeaderValue,
    /// Whether requests have a Via field of the gate.
    pub via: bool,
}

impl Forwarding {
    /// What an upstream learns, as configured.
    pub fn of(upstream: &Upstream) -> Self {
        // A checked URL has a host that is one of HTTP too.
        let own = HeaderValue::from_str(&upstream.url.first().authority())
            .unwrap_or(HeaderValue::from_static("localhost"));
        Self {
            mode: upstream.forwarded,
            host: (upstream.host == Host::Upstream).then(|| own.clone()),
            default_host: own,
            via: upstream.via,
        }
    }

    /// Removes the claims of the customer and sets the gate's own fields, as configured.
    pub fn apply(&self, customer: &Customer, headers: &mut HeaderMap) {
        match self.mode {
            Forwarded::Pass => return,
            Forwarded::Off => return remove(headers, is_claim),
            Forwarded::Replace => {
                remove(headers, is_claim);
                headers.insert(X_FORWARDED_FOR, customer.address.clone());
            }
            Forwarded::Append => {
                // No proxy writes the other spellings: the customer did.
                remove(headers, |name| !is_dashed(name) && is_claim(name));
                headers.append(X_FORWARDED_FOR, customer.address.clone());
                if headers.contains_key(X_FORWARDED_PROTO) {
                    return;
                }
            }
        }
        let scheme = match customer.scheme {
            Scheme::Https => HTTPS,
            Scheme::Http => HTTP,
        };
        headers.insert(X_FORWARDED_PROTO, scheme);
        let host = headers.get(HOST).cloned();
        match (headers.entry(X_FORWARDED_HOST), host) {
            (Entry::Occupied(mut entry), Some(host)) => drop(entry.insert(host)),
            (Entry::Vacant(entry), Some(host)) => drop(entry.insert(host)),
            (Entry::Occupied(entry), None) => drop(entry.remove()),
            (Entry::Vacant(_), None) => {}
        }
    }
}

/// Removes the fields with such names.
pub fn remove(headers: &mut HeaderMap, which: impl Fn(&str) -> bool) {
    if !headers.keys().any(|name| which(name.as_str())) {
        return;
    }
    let names: Vec<_> = headers.keys().filter(|name| which(name.as_str())).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Whether a field claims where a request comes from.
pub fn is_claim(name: &str) -> bool {
    // Most names are ruled out by their first letters.
    let fits = match name.as_bytes() {
        [b'x', b'-' | b'a'..=b'z' | b'0'..=b'9', ..] => name.starts_with("x-"),
        [b'x', ..] => true,
        [first, ..] => b"cfprtw".contains(first),
        [] => false,
    };
    let listed = |name: &str| name.starts_with("x-forwarded") || CLAIMS.contains(&name);
    fits && if is_dashed(name) { listed(name) } else { listed(&dashed(name)) }
}

/// Whether a field harms an upstream that makes variables of the names: another spelling
/// of one that delimits the message, or `Proxy`, which becomes `HTTP_PROXY`.
///
/// Source: CVE-2016-5385 (httpoxy).
pub fn is_harmful_variable(name: &str) -> bool {
    name == "proxy"
        || !is_dashed(name)
            && matches!(dashed(name).as_str(), "content-length" | "transfer-encoding")
}

/// Whether a name has letters, digits and dashes only.
fn is_dashed(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// A name with a dash for whatever is neither letter nor digit.
pub fn dashed(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

/// The fields by which proxies, content delivery networks and frameworks name the customer's
/// address, protocol or host, beside all that begin with `x-forwarded`.
const CLAIMS: [&str; 31] = [
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "cf-pseudo-ipv4",
    "client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded",
    "forwarded-for",
    "front-end-https",
    "proxy-client-ip",
    "remote-addr",
    "true-client-ip",
    "wl-proxy-client-ip",
    "x-appengine-user-ip",
    "x-azure-clientip",
    "x-azure-socketip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-host",
    "x-original-for",
    "x-original-forwarded-for",
    "x-original-host",
    "x-original-proto",
    "x-originating-ip",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-scheme",
    "x-url-scheme",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of a request after the gate's treatment, as `name: value` lines.
    fn applied(mode: Forwarded, scheme: Scheme, fields: &[(&str, &str)]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("shop"));
        for (name, value) in fields {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        let address = HeaderValue::from_static("192.0.2.7");
        let default_host = HeaderValue::from_static("backend");
        let forwarding = Forwarding { mode, host: None, default_host, via: true };
        forwarding.apply(&Customer { address, scheme }, &mut headers);
        headers.remove(HOST);
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        let mut lines: Vec<_> = headers.iter().map(line).collect();
        lines.sort();
        lines
    }

    const OWN: [&str; 3] =
        ["x-forwarded-for: 192.0.2.7", "x-forwarded-host: shop", "x-forwarded-proto: https"];

    #[test]
    fn a_customer_cannot_choose_the_address_that_the_upstream_trusts() {
        let spellings = CLAIMS.iter().flat_map(|name| [name.to_string(), name.replace('-', "_")]);
        let more = ["X-Forwarded-For", "x-forwarded", "x-forwarded-any", "x_forwarded_for"];
        let more = more.into_iter().chain(["X.Forwarded-For", "x_real-ip", "x-forwarded_proto"]);
        for name in spellings.chain(more.map(str::to_owned)) {
            let fields = [(name.as_str(), "10.0.0.1")];
            assert_eq!(applied(Forwarded::Replace, Scheme::Https, &fields), OWN, "{name}");
            assert!(applied(Forwarded::Off, Scheme::Https, &fields).is_empty(), "{name}");
            assert_eq!(applied(Forwarded::Pass, Scheme::Https, &fields).len(), 1, "{name}");
        }
    }

    #[test]
    fn fields_that_claim_nothing_are_kept() {
        for name in ["x_basket", "x-realm", "x", "cookie", "x-requested-with", "client-ips"] {
            let kept = applied(Forwarded::Off, Scheme::Http, &[(name, "7")]);
            assert_eq!(kept, [format!("{name}: 7")]);
        }
    }

    #[test]
    fn a_trusted_proxys_fields_are_appended_to_and_other_spellings_removed() {
        let fields = [
            ("x-forwarded-for", "10.0.0.1"),
            ("x_forwarded_for", "10.0.0.2"),
            ("forwarded", "for=10.0.0.1"),
        ];
        let all = ["forwarded: for=10.0.0.1", "x-forwarded-for: 10.0.0.1"];
        let all = [&all[..], &OWN[..]].concat();
        assert_eq!(applied(Forwarded::Append, Scheme::Https, &fields), all);
    }

    #[test]
    fn the_upstream_learns_the_scheme_unless_a_trusted_proxy_has_set_it() {
        let proto = |scheme, mode, given: &[(&str, &str)]| {
            let lines = applied(mode, scheme, given);
            lines.into_iter().find(|line| line.starts_with("x-forwarded-proto")).unwrap()
        };
        let given = |value| [("x-forwarded-proto", value)];
        let (https, http) = ("x-forwarded-proto: https", "x-forwarded-proto: http");
        assert_eq!(proto(Scheme::Https, Forwarded::Replace, &given("http")), https);
        assert_eq!(proto(Scheme::Http, Forwarded::Replace, &given("https")), http);
        assert_eq!(proto(Scheme::Http, Forwarded::Append, &given("https")), https);
        assert_eq!(proto(Scheme::Http, Forwarded::Append, &[]), http);
    }

    #[test]
    fn names_that_harm_as_variables_are_found() {
        for name in ["content_length", "transfer_encoding", "transfer.encoding", "proxy"] {
            assert!(is_harmful_variable(name), "{name}");
        }
        for name in ["content-length", "content_type", "transfer-encoding"] {
            assert!(!is_harmful_variable(name), "{name}");
        }
    }
}
