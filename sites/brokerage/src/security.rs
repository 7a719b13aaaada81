//! Which connections of the brokerage are secured, and how.

use std::str::FromStr;

use tidegate_sitekit::link::{Protection, Spec};

/// The security of all connections. The first three presets are the configurations of the
/// paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
    /// TLS of the browsers' connections.
    pub browsers: Option<Handshakes>,
    /// The link from the web tier to the application tier.
    pub web_app: Spec,
    /// The link from the application tier to the data tier.
    pub app_data: Spec,
}

/// Which TLS handshakes browsers are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshakes {
    /// Full ones alone.
    Full,
    /// Resumed ones where the browser can.
    Resumed,
}

impl Security {
    /// Nothing is secured; the web tier opens a connection for each request.
    pub const NONE: Self = Self {
        browsers: None,
        web_app: Spec::per_request(Protection::None),
        app_data: Spec::persistent(Protection::None),
    };
    /// TLS between browser and web tier, with a full handshake for each connection.
    pub const TLS: Self = Self { browsers: Some(Handshakes::Full), ..Self::NONE };
    /// The same, and each message between the tiers is encrypted.
    pub const TLS_BACKEND: Self = Self {
        web_app: Spec::per_request(Protection::Sealed),
        app_data: Spec::persistent(Protection::Sealed),
        ..Self::TLS
    };
    /// As it is done today: TLS with resumption, and mutual TLS on persistent connections
    /// between the tiers.
    pub const MODERN: Self = Self {
        browsers: Some(Handshakes::Resumed),
        web_app: Spec::persistent(Protection::Tls),
        app_data: Spec::persistent(Protection::Tls),
    };
}

impl FromStr for Security {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::NONE),
            "tls" => Ok(Self::TLS),
            "tls+backend" => Ok(Self::TLS_BACKEND),
            "modern" => Ok(Self::MODERN),
            _ => Err("must be none, tls, tls+backend or modern".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_are_those_of_the_paper_and_one_of_today() {
        let words = |name: &str| {
            let security: Security = name.parse().unwrap();
            let links = format!("{} {}", security.web_app, security.app_data);
            (security.browsers, links)
        };
        let plain = "none,per-request none,persistent".to_owned();
        assert_eq!(words("none"), (None, plain.clone()));
        assert_eq!(words("tls"), (Some(Handshakes::Full), plain));
        let sealed = "sealed,per-request sealed,persistent".into();
        assert_eq!(words("tls+backend"), (Some(Handshakes::Full), sealed));
        let mutual = "tls,persistent,resumed tls,persistent,resumed".into();
        assert_eq!(words("modern"), (Some(Handshakes::Resumed), mutual));
        assert!("ssl".parse::<Security>().unwrap_err().contains("tls+backend"));
    }
}
