//! How the gate reads the host of a request: for routes.

use std::cmp::Ordering;
use std::fmt;

/// A host name, or all names below one: `*.example.com`. In lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPattern {
    /// With a dot in front where it stands for all names that end with it.
    name: String,
}

impl HostPattern {
    /// Reads a pattern as an operator writes it: a name or an address without a port, or `*.` and
    /// a name. `None` where it is not of this form.
    pub fn new(text: &str) -> Option<Self> {
        let name = text.strip_prefix('*').unwrap_or(text);
        let below = name.len() != text.len();
        let bare = if below { name.strip_prefix('.')? } else { name };
        let address = bare.parse::<std::net::IpAddr>().ok().filter(|_| !below);
        // As it is written in a Host.
        let name = match address {
            Some(address) if address.is_ipv6() => format!("[{address}]"),
            Some(address) => address.to_string(),
            None => {
                rustls::pki_types::DnsName::try_from(bare).ok()?;
                name.to_ascii_lowercase()
            }
        };
        Some(Self { name })
    }

    /// Whether it stands for the host of a request, as [`for_routes`] reads it.
    pub fn matches(&self, host: &[u8]) -> bool {
        let name = self.name.as_bytes();
        match self.is_wildcard() {
            true => host
                .len()
                .checked_sub(name.len())
                .is_some_and(|at| at > 0 && host[at..].eq_ignore_ascii_case(name)),
            false => host.eq_ignore_ascii_case(name),
        }
    }

    fn is_wildcard(&self) -> bool {
        self.name.starts_with('.')
    }

    /// Orders patterns of which both may stand for a host: the nearer one first. A name is nearer
    /// than all names below another, and of these the longer one.
    pub fn nearer(&self, other: &Self) -> Ordering {
        let rank = |pattern: &Self| (!pattern.is_wildcard(), pattern.name.len());
        rank(other).cmp(&rank(self))
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.is_wildcard() { "*" } else { "" };
        write!(f, "{star}{}", self.name)
    }
}

/// The host in the `Host` of a request: without its port, and without a dot at its end.
pub fn for_routes(host: &[u8]) -> &[u8] {
    let bare = match host.iter().rposition(|byte| *byte == b':') {
        // The colons of an IPv6 address stand in brackets.
        Some(at) if !host[at..].contains(&b']') => &host[..at],
        _ => host,
    };
    bare.strip_suffix(b".").unwrap_or(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, host: &str) -> bool {
        HostPattern::new(pattern).unwrap().matches(for_routes(host.as_bytes()))
    }

    #[test]
    fn a_name_stands_for_itself_with_any_port_and_case() {
        for host in ["shop.example", "SHOP.example", "shop.example:8443", "shop.example."] {
            assert!(matches("Shop.example", host), "{host}");
        }
        for host in ["a.shop.example", "hop.example", "shop.example.org", "", ":80"] {
            assert!(!matches("shop.example", host), "{host}");
        }
        assert!(matches("127.0.0.1", "127.0.0.1:80") && matches("::1", "[::1]:80"));
        assert!(matches("::1", "[::1]") && !matches("::1", "[::2]"));
    }

    #[test]
    fn a_wildcard_stands_for_all_names_below_and_not_for_the_name_itself() {
        for host in ["a.shop.example", "b.A.shop.example:80"] {
            assert!(matches("*.shop.example", host), "{host}");
        }
        for host in ["shop.example", ".shop.example", "ashop.example", "shop.example.a"] {
            assert!(!matches("*.shop.example", host), "{host}");
        }
    }

    #[test]
    fn what_is_no_name_is_none() {
        for text in ["", "*", "*.", "a b", "shop.example:80", "*.*.a", "http://a", "a.*", "*a.b"] {
            assert_eq!(HostPattern::new(text), None, "{text}");
        }
    }

    #[test]
    fn the_nearer_of_two_patterns_comes_first() {
        let mut patterns =
            ["*.example", "a.b.example", "*.b.example"].map(|text| HostPattern::new(text).unwrap());
        patterns.sort_by(HostPattern::nearer);
        let shown = patterns.map(|pattern| pattern.to_string());
        assert_eq!(shown, ["a.b.example", "*.b.example", "*.example"]);
    }
}
