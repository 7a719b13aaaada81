//! Which host names a server_name extension may carry.

use std::net::IpAddr;

/// The kind of the name in a server_name extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// A DNS name, perhaps with a trailing dot.
    Dns,
    /// An IP address. The protocol forbids it; it counts as no name, since
    /// clients send it and servers accept it.
    Address,
    /// Neither, such as a name with a port. It counts as an unknown name, as with nginx.
    Unusable,
    /// Bytes that no server takes for a name: too many of them, or a NUL among them.
    Invalid,
}

/// Classifies the bytes of a host name by the rules of rustls: labels of 1 to 63 letters, digits, hyphens (not at
/// either end) and underscores, 253 bytes in all, the last label not a number.
///
/// Source: RFC 6066, section 3; RFC 1035, section 2.3.1.
/// Deviation: underscores are allowed, as clients use them.
pub(crate) fn classify(bytes: &[u8]) -> Name {
    if is_dns_name(bytes) {
        return Name::Dns;
    }
    match std::str::from_utf8(bytes).map(str::parse::<IpAddr>) {
        Ok(Ok(_)) => Name::Address,
        _ if bytes.is_empty() || bytes.len() > LONGEST || bytes.contains(&0) => Name::Invalid,
        _ => Name::Unusable,
    }
}

/// The longest name that OpenSSL takes.
const LONGEST: usize = 255;

fn is_dns_name(bytes: &[u8]) -> bool {
    if bytes.len() > 253 {
        return false;
    }
    let bare = bytes.strip_suffix(b".").unwrap_or(bytes);
    let mut last_is_number = true;
    for label in bare.split(|byte| *byte == b'.') {
        if !is_label(label) {
            return false;
        }
        last_is_number = label.iter().all(u8::is_ascii_digit);
    }
    !last_is_number
}

fn is_label(label: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=63).contains(&label.len())
        && label.iter().all(allowed)
        && !label.starts_with(b"-")
        && !label.ends_with(b"-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dns_names_addresses_and_other_names_are_distinguished() {
        for name in ["localhost", "a.example", "A.Example.", "_x.example", "1.2.3.x4", "xn--a-b"] {
            assert_eq!(classify(name.as_bytes()), Name::Dns, "{name}");
        }
        for name in ["127.0.0.1", "::1", "2001:db8::7"] {
            assert_eq!(classify(name.as_bytes()), Name::Address, "{name}");
        }
        let long = "a".repeat(64);
        for name in [
            "a.example:8443",
            "[::1]:443",
            ".",
            "a..b",
            "-a.b",
            "a-.b",
            "a.b-",
            "a b",
            "1.2",
            "a.99",
            "ä.de",
            &long,
        ] {
            assert_eq!(classify(name.as_bytes()), Name::Unusable, "{name}");
        }
        for name in ["", "a\0b", &"-".repeat(256)] {
            assert_eq!(classify(name.as_bytes()), Name::Invalid, "{name}");
        }
    }

    #[test]
    fn a_name_has_at_most_253_bytes() {
        let name = |length: usize| "a.".repeat(length / 2) + &"b".repeat(length % 2);
        assert_eq!(classify(name(253).as_bytes()), Name::Dns);
        assert_eq!(classify(name(254).as_bytes()), Name::Unusable);
    }
}
