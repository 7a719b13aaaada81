//! Networks: the senders that are listed.

use std::fmt;
use std::net::IpAddr;
use tidegate_config::{Problem, Rule, Value};

/// The addresses with the same leading bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Leading bits.
    length: u32,
}

impl Network {
    /// Reads `192.0.2.0/24`, `2001:db8::/32`, or an address alone.
    fn read(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().ok()?.to_canonical();
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok()?
            }
            Some(_) => return None,
        };
        (length <= most).then_some(Self { address, length })
    }

    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differing = match (self.address, address.to_canonical()) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                (one.to_bits() ^ other.to_bits()).leading_zeros()
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                (one.to_bits() ^ other.to_bits()).leading_zeros()
            }
            _ => return false,
        };
        differing >= self.length
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// A list of networks.
pub struct Networks;

/// Most networks of a list: each connection is compared with all.
const MOST: usize = 100;

impl Rule for Networks {
    type Read<'r> = Vec<Network>;

    fn read(&self, value: &Value<'_>) -> Result<Vec<Network>, Problem> {
        let rule = format!("must be 1 to {MOST} networks or addresses");
        let problem = |remedy: String| Problem::new(rule.clone(), remedy);
        let example = "write [\"10.0.0.0/8\", \"2001:db8::1\"]";
        let given = value.texts().ok_or_else(|| problem(example.into()))?;
        if given.is_empty() || given.len() > MOST {
            return Err(problem(example.into()));
        }
        let read = |text: &str| {
            Network::read(text).ok_or_else(|| problem(format!("{text:?} is neither; {example}")))
        };
        given.into_iter().map(read).collect()
    }

    fn kind(&self) -> String {
        "list of networks".into()
    }

    fn range(&self) -> String {
        format!("1 to {MOST}, such as 10.0.0.0/8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_with_its_leading_bits() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("192.0.2.9/24", "::ffff:192.0.2.1", "192.0.3.1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("0.0.0.0/0", "255.1.2.3", "::1"),
            ("::/0", "::1", "127.0.0.1"),
        ] {
            let read = Network::read(network).unwrap();
            assert!(read.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!read.contains(outside.parse().unwrap()), "{network} {outside}");
        }
    }

    #[test]
    fn what_is_no_network_is_not_read() {
        for text in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "::/129", "shop"] {
            assert_eq!(Network::read(text), None, "{text}");
        }
    }
}
