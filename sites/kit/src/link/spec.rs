//! How a link is secured and whether its connections persist, as a person writes it.

use std::fmt;
use std::str::FromStr;

/// What protects the messages of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Nothing: for one machine, or a network that is trusted.
    None,
    /// TLS 1.3, in which both tiers show a certificate of the private CA.
    Tls,
    /// Each message is encrypted with a key that both tiers have.
    Sealed,
}

/// A link's configuration: `none`, `tls` or `sealed`; then, separated by commas,
/// `persistent` (the default) or `per-request` connections, and for TLS `resumed` (the
/// default) or `full` handshakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// What protects the messages.
    pub protection: Protection,
    /// Connections are kept for further calls; otherwise each call opens one.
    pub persistent: bool,
    /// TLS sessions are resumed; otherwise every handshake is a full one.
    pub resumption: bool,
}

impl Spec {
    /// Persistent connections, whose TLS sessions are resumed.
    pub const fn persistent(protection: Protection) -> Self {
        Self { protection, persistent: true, resumption: true }
    }

    /// A connection for each call.
    pub const fn per_request(protection: Protection) -> Self {
        Self { protection, persistent: false, resumption: true }
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(',').map(str::trim);
        let protection = match words.next().unwrap_or_default() {
            "none" => Protection::None,
            "tls" => Protection::Tls,
            "sealed" => Protection::Sealed,
            other => {
                return Err(format!("{other:?} must be none, tls or sealed; try tls,persistent"));
            }
        };
        let (mut persistent, mut resumption) = (None, None);
        for word in words {
            let (setting, value) = match word {
                "persistent" => (&mut persistent, true),
                "per-request" => (&mut persistent, false),
                "resumed" if protection == Protection::Tls => (&mut resumption, true),
                "full" if protection == Protection::Tls => (&mut resumption, false),
                "resumed" | "full" => {
                    return Err(format!("{word:?} is of tls alone; leave it out"));
                }
                other => {
                    return Err(format!(
                        "{other:?} must be persistent or per-request, or for tls resumed or full"
                    ));
                }
            };
            if setting.replace(value).is_some() {
                return Err(format!("{word:?} contradicts or repeats a word before it"));
            }
        }
        Ok(Self {
            protection,
            persistent: persistent.unwrap_or(true),
            resumption: resumption.unwrap_or(true),
        })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = if self.persistent { "persistent" } else { "per-request" };
        match self.protection {
            Protection::None => write!(f, "none,{connections}"),
            Protection::Sealed => write!(f, "sealed,{connections}"),
            Protection::Tls => {
                let handshakes = if self.resumption { "resumed" } else { "full" };
                write!(f, "tls,{connections},{handshakes}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displayed_link_parses_to_itself() {
        for text in [
            "none,persistent",
            "none,per-request",
            "sealed,persistent",
            "sealed,per-request",
            "tls,persistent,resumed",
            "tls,persistent,full",
            "tls,per-request,resumed",
            "tls,per-request,full",
        ] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        assert_eq!("tls".parse(), Ok(Spec::persistent(Protection::Tls)));
        assert_eq!("none, per-request".parse(), Ok(Spec::per_request(Protection::None)));
    }

    #[test]
    fn a_mistake_names_what_is_possible() {
        for (text, expected) in [
            ("", "must be none, tls or sealed"),
            ("ssl", "must be none, tls or sealed"),
            ("tls,often", "persistent or per-request"),
            ("sealed,full", "of tls alone"),
            ("none,persistent,per-request", "contradicts"),
            ("tls,full,full", "contradicts or repeats"),
        ] {
            let error = text.parse::<Spec>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
