//! The prefix of an address: what counts as one client where places and turns are shared.

use std::net::{IpAddr, Ipv6Addr};

/// The leading bits of an address, the rest zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(u128);

/// How many leading bits of an address make its prefix. With 0 all addresses of the family
/// have one prefix.
#[derive(Clone, Copy, Debug)]
pub struct PrefixLengths {
    /// Of IPv4, 0 to 32. IPv4 addresses mapped into IPv6 are IPv4.
    pub ipv4: u32,
    /// Of IPv6, 0 to 128.
    pub ipv6: u32,
}

/// Bits of a mapped IPv4 address before the address itself.
const MAPPED: u32 = 96;

impl PrefixLengths {
    /// The prefix of an address.
    pub fn prefix_of(&self, address: IpAddr) -> Prefix {
        let (address, length) = match address {
            IpAddr::V4(ip) => (ip.to_ipv6_mapped(), MAPPED + self.ipv4),
            IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => (ip, MAPPED + self.ipv4),
            IpAddr::V6(ip) => (ip, self.ipv6),
        };
        let rest = Ipv6Addr::BITS.saturating_sub(length);
        let mask = u128::MAX.checked_shl(rest).unwrap_or(0);
        Prefix(address.to_bits() & mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(lengths: PrefixLengths, one: &str, other: &str) -> bool {
        let [one, other] = [one, other].map(|text| lengths.prefix_of(text.parse().unwrap()));
        one == other
    }

    #[test]
    fn addresses_that_share_the_leading_bits_have_one_prefix() {
        let usual = PrefixLengths { ipv4: 24, ipv6: 56 };
        assert!(same(usual, "192.0.2.1", "192.0.2.255"));
        assert!(!same(usual, "192.0.2.1", "192.0.3.1"));
        assert!(same(usual, "192.0.2.1", "::ffff:192.0.2.9"));
        assert!(same(usual, "2001:db8:0:100::1", "2001:db8:0:1ff::2"));
        assert!(!same(usual, "2001:db8:0:100::1", "2001:db8:0:200::1"));
    }

    #[test]
    fn the_longest_prefix_is_the_address_and_the_shortest_is_the_family() {
        let whole = PrefixLengths { ipv4: 32, ipv6: 128 };
        assert!(!same(whole, "192.0.2.1", "192.0.2.2"));
        assert!(!same(whole, "2001:db8::1", "2001:db8::2"));
        let none = PrefixLengths { ipv4: 0, ipv6: 0 };
        assert!(same(none, "192.0.2.1", "203.0.113.7"));
        assert!(same(none, "2001:db8::1", "fe80::1"));
        assert!(!same(none, "192.0.2.1", "fe80::1"));
    }
}
