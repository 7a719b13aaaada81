//! Cipher suites and key exchange groups: their names, which of them customers
//! offer, and what a handshake agreed on.
//!
//! Source: IANA, "Transport Layer Security (TLS) Parameters", for names and
//! numbers; RFC 8446, sections 4.1.2 and 4.2.7, for the order of preference.

use std::fmt;

use rustls::crypto::aws_lc_rs::{ALL_KX_GROUPS, default_provider};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::{
    CipherSuite, CommonState, NamedGroup, ProtocolVersion, SupportedProtocolVersion, version,
};
use serde::{Deserialize, Serialize};

use crate::client::tls::rules::TlsVersions;

/// A cipher suite that customers can offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite(CipherSuite);

/// A group in which customers can agree on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyExchangeGroup(NamedGroup);

/// A name that stands for nothing that can be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}; {remedy}")]
pub struct UnknownName {
    /// What was found and the rule it breaks.
    pub rule: String,
    /// What to write instead.
    pub remedy: String,
}

/// Names of each suite: IANA's first, then those of OpenSSL and rustls.
const SUITES: [(CipherSuite, &[&str]); 9] = [
    (
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        &["TLS_AES_128_GCM_SHA256", "TLS13_AES_128_GCM_SHA256"],
    ),
    (
        CipherSuite::TLS13_AES_256_GCM_SHA384,
        &["TLS_AES_256_GCM_SHA384", "TLS13_AES_256_GCM_SHA384"],
    ),
    (
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        &["TLS_CHACHA20_POLY1305_SHA256", "TLS13_CHACHA20_POLY1305_SHA256"],
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        &["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"],
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        &["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"],
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        &["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"],
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        &["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        &["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        &["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"],
    ),
];

/// Names of each group, in the same order; case does not matter.
const GROUPS: [(NamedGroup, &[&str]); 7] = [
    (NamedGroup::X25519, &["x25519"]),
    (NamedGroup::secp256r1, &["secp256r1", "P-256", "prime256v1"]),
    (NamedGroup::secp384r1, &["secp384r1", "P-384"]),
    (NamedGroup::X25519MLKEM768, &["X25519MLKEM768"]),
    (NamedGroup::secp256r1MLKEM768, &["SecP256r1MLKEM768"]),
    (NamedGroup::MLKEM768, &["MLKEM768"]),
    (NamedGroup::MLKEM1024, &["MLKEM1024"]),
];

impl Suite {
    /// Reads a name of IANA, OpenSSL or rustls; case does not matter.
    ///
    /// # Errors
    /// It is no suite that can be offered.
    pub fn parse(name: &str) -> Result<Self, UnknownName> {
        let found = find(name, &SUITES).map(Self);
        found.ok_or_else(|| unknown(name, "cipher suite", &SUITES))
    }
}

impl KeyExchangeGroup {
    /// Reads a name of IANA or OpenSSL; case does not matter.
    ///
    /// # Errors
    /// It is no group that can be offered.
    pub fn parse(name: &str) -> Result<Self, UnknownName> {
        let found = find(name, &GROUPS).map(Self);
        found.ok_or_else(|| unknown(name, "key exchange group", &GROUPS))
    }
}

impl Suite {
    /// The suites of a cipher such as `aes-128-gcm`: one of TLS 1.3, and one for each type of key
    /// of TLS 1.2.
    pub fn of_cipher(cipher: &str) -> impl Iterator<Item = Self> {
        // IANA's names have the cipher's in capitals.
        let part = cipher.to_ascii_uppercase().replace('-', "_");
        Self::all().filter(move |suite| suite.to_string().contains(&part))
    }

    /// All that can be offered.
    pub fn all() -> impl Iterator<Item = Self> {
        SUITES.iter().map(|(it, _)| Self(*it))
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name(self.0, &SUITES))
    }
}

impl KeyExchangeGroup {
    /// All that can be offered.
    pub fn all() -> impl Iterator<Item = Self> {
        GROUPS.iter().map(|(it, _)| Self(*it))
    }
}

impl fmt::Display for KeyExchangeGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name(self.0, &GROUPS))
    }
}

fn find<T: Copy>(name: &str, all: &[(T, &[&str])]) -> Option<T> {
    let is_meant = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    all.iter().find(|(_, names)| is_meant(names)).map(|(it, _)| *it)
}

fn unknown<T>(name: &str, what: &str, all: &[(T, &[&str])]) -> UnknownName {
    // Suggestions use IANA's names; input may use any name.
    let every: Vec<&str> = all.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let first: Vec<&str> = all.iter().map(|(_, names)| names[0]).collect();
    let remedy = tidegate_config::did_you_mean(name, &every)
        .unwrap_or_else(|| format!("must be one of {}", first.join(", ")));
    UnknownName { rule: format!("\"{name}\" is no {what} that can be offered"), remedy }
}

/// IANA's name. What a peer agrees to was offered, so it has one.
fn name<T: PartialEq>(it: T, all: &[(T, &[&'static str])]) -> &'static str {
    all.iter().find(|(known, _)| *known == it).map_or("unknown", |(_, names)| names[0])
}

/// What customers offer, in the order of preference.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) versions: Vec<&'static SupportedProtocolVersion>,
    pub(crate) provider: CryptoProvider,
}

/// Choices that leave nothing to offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    /// `suites` or `groups`.
    pub(crate) key: &'static str,
    pub(crate) rule: String,
    pub(crate) remedy: &'static str,
}

impl Offer {
    /// Of these versions those for which there is a suite and a group; an empty
    /// list leaves the choice to us, see [`browsers`].
    ///
    /// # Errors
    /// No version has both.
    pub(crate) fn new(
        versions: TlsVersions,
        suites: &[Suite],
        groups: &[KeyExchangeGroup],
    ) -> Result<Self, Contradiction> {
        let mut provider = browsers();
        if !suites.is_empty() {
            let all = std::mem::take(&mut provider.cipher_suites);
            let wanted = |Suite(id): &Suite| all.iter().find(|known| known.suite() == *id).copied();
            provider.cipher_suites = suites.iter().filter_map(wanted).collect();
        }
        if !groups.is_empty() {
            let wanted = |KeyExchangeGroup(id): &KeyExchangeGroup| {
                ALL_KX_GROUPS.iter().find(|it| it.name() == *id)
            };
            provider.kx_groups = groups.iter().filter_map(wanted).copied().collect();
        }
        let mut versions = versions.list();
        let offered = versions.iter().map(|version| version_name(version.version));
        let offered = offered.collect::<Vec<_>>().join(" or ");
        versions.retain(|version| provider.cipher_suites.iter().any(|s| s.version() == *version));
        if versions.is_empty() {
            return Err(Contradiction {
                key: "suites",
                rule: format!("none is of TLS {offered}, and no other version is offered"),
                remedy: "list a suite of that version, or offer another",
            });
        }
        versions.retain(|version| {
            provider.kx_groups.iter().any(|group| group.usable_for_version(version.version))
        });
        if versions.is_empty() {
            return Err(Contradiction {
                key: "groups",
                rule: "all are of TLS 1.3 only, which is not offered".to_owned(),
                remedy: "list x25519 or secp256r1 as well, or offer TLS 1.3 and a suite of it",
            });
        }
        provider.cipher_suites.retain(|suite| versions.contains(&suite.version()));
        let usable = |group: &dyn SupportedKxGroup| {
            versions.iter().any(|version| group.usable_for_version(version.version))
        };
        provider.kx_groups.retain(|group| usable(*group));
        Ok(Self { versions, provider })
    }
}

impl TlsVersions {
    fn list(self) -> Vec<&'static SupportedProtocolVersion> {
        match self {
            Self::Both => vec![&version::TLS13, &version::TLS12],
            Self::Only12 => vec![&version::TLS12],
            Self::Only13 => vec![&version::TLS13],
        }
    }
}

/// Offers suites in the order of browsers, AES-128 first: rustls has AES-256
/// first, whose SHA-384 makes every handshake costlier on both sides, as
/// processors have instructions for SHA-256 only.
fn browsers() -> CryptoProvider {
    let mut provider = default_provider();
    let is_aes_128 = |suite| {
        matches!(
            suite,
            CipherSuite::TLS13_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        )
    };
    provider.cipher_suites.sort_by_key(|suite| {
        (suite.version().version != ProtocolVersion::TLSv1_3, !is_aes_128(suite.suite()))
    });
    provider
}

/// What a handshake agreed on: numbers only, so that every event can carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u16, u16, Option<u16>)", into = "(u16, u16, Option<u16>)")]
pub(crate) struct Agreed {
    version: ProtocolVersion,
    suite: CipherSuite,
    /// `None` where no key was exchanged: TLS 1.2 resumed.
    group: Option<NamedGroup>,
}

impl Agreed {
    /// Of a connection whose handshake is complete.
    pub(crate) fn of(connection: &CommonState) -> Self {
        let suite = connection.negotiated_cipher_suite();
        Self {
            version: connection.protocol_version().unwrap_or(ProtocolVersion::Unknown(0)),
            suite: suite.map_or(CipherSuite::Unknown(0), |suite| suite.suite()),
            group: connection.negotiated_key_exchange_group().map(|group| group.name()),
        }
    }

    /// `1.2` or `1.3`.
    pub(crate) fn version(self) -> &'static str {
        version_name(self.version)
    }

    /// IANA's name of the suite.
    pub(crate) fn suite(self) -> &'static str {
        name(self.suite, &SUITES)
    }

    /// IANA's name of the group.
    pub(crate) fn group(self) -> Option<&'static str> {
        self.group.map(|group| name(group, &GROUPS))
    }
}

impl From<Agreed> for (u16, u16, Option<u16>) {
    /// IANA's numbers.
    fn from(agreed: Agreed) -> Self {
        (agreed.version.into(), agreed.suite.into(), agreed.group.map(Into::into))
    }
}

impl From<(u16, u16, Option<u16>)> for Agreed {
    fn from((version, suite, group): (u16, u16, Option<u16>)) -> Self {
        Self { version: version.into(), suite: suite.into(), group: group.map(Into::into) }
    }
}

fn version_name(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_3 => "1.3",
        ProtocolVersion::TLSv1_2 => "1.2",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(names: &[&str]) -> Vec<Suite> {
        names.iter().map(|name| Suite::parse(name).unwrap()).collect()
    }

    fn groups(names: &[&str]) -> Vec<KeyExchangeGroup> {
        names.iter().map(|name| KeyExchangeGroup::parse(name).unwrap()).collect()
    }

    #[test]
    fn customers_offer_what_browsers_offer_first() {
        let offered: Vec<_> = browsers().cipher_suites.iter().map(|s| s.suite()).collect();
        assert_eq!(offered[0], CipherSuite::TLS13_AES_128_GCM_SHA256);
        assert_eq!(offered[3], CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256);
        assert_eq!(offered.len(), 9);
    }

    #[test]
    fn every_suite_and_group_of_the_library_has_its_name() {
        for suite in default_provider().cipher_suites {
            assert_ne!(name(suite.suite(), &SUITES), "unknown", "{suite:?}");
        }
        for group in ALL_KX_GROUPS {
            assert_ne!(name(group.name(), &GROUPS), "unknown", "{group:?}");
        }
        for (id, names) in SUITES {
            assert!(names.iter().all(|name| Suite::parse(name) == Ok(Suite(id))), "{names:?}");
        }
        for (id, names) in GROUPS {
            assert!(
                names.iter().all(|name| KeyExchangeGroup::parse(name) == Ok(KeyExchangeGroup(id))),
                "{names:?}"
            );
        }
        assert_eq!(KeyExchangeGroup::parse("X25519").unwrap().to_string(), "x25519");
    }

    #[test]
    fn a_cipher_has_a_suite_of_tls_1_3_and_one_for_each_key_of_tls_1_2() {
        for cipher in ["aes-128-gcm", "AES-256-GCM", "chacha20-poly1305"] {
            assert_eq!(Suite::of_cipher(cipher).count(), 3, "{cipher}");
        }
        assert_eq!(Suite::of_cipher("all").count(), 0);
    }

    #[test]
    fn an_unknown_name_is_reported_with_a_suggestion() {
        let message = |error: UnknownName| error.to_string();
        assert_eq!(
            message(Suite::parse("TLS_AES_128_GCM_SHA265").unwrap_err()),
            "\"TLS_AES_128_GCM_SHA265\" is no cipher suite that can be offered; \
             did you mean TLS_AES_128_GCM_SHA256?"
        );
        let group = message(KeyExchangeGroup::parse("sect571k1-and-more").unwrap_err());
        assert!(
            group.ends_with(
                "must be one of x25519, secp256r1, secp384r1, X25519MLKEM768, \
                                 SecP256r1MLKEM768, MLKEM768, MLKEM1024"
            ),
            "{group}"
        );
    }

    #[test]
    fn what_is_listed_is_offered_in_its_order() {
        let listed = suites(&["ECDHE-RSA-AES256-GCM-SHA384", "TLS_CHACHA20_POLY1305_SHA256"]);
        let offer = Offer::new(TlsVersions::Both, &listed, &groups(&["P-384", "X25519"])).unwrap();
        let names: Vec<_> = offer.provider.cipher_suites.iter().map(|s| s.suite()).collect();
        assert_eq!(names, listed.iter().map(|suite| suite.0).collect::<Vec<_>>());
        let names: Vec<_> = offer.provider.kx_groups.iter().map(|g| g.name()).collect();
        assert_eq!(names, [NamedGroup::secp384r1, NamedGroup::X25519]);
        assert_eq!(offer.versions.len(), 2);
        // What is of another version is left out.
        let offer = Offer::new(TlsVersions::Only13, &listed, &[]).unwrap();
        assert_eq!(offer.provider.cipher_suites.len(), 1);
    }

    #[test]
    fn a_version_without_suite_or_group_is_not_offered() {
        let only = |suites: &[Suite], groups: &[KeyExchangeGroup]| {
            let offer = Offer::new(TlsVersions::Both, suites, groups).unwrap();
            offer.versions.iter().map(|it| it.version).collect::<Vec<_>>()
        };
        assert_eq!(only(&suites(&["TLS_AES_128_GCM_SHA256"]), &[]), [ProtocolVersion::TLSv1_3]);
        assert_eq!(only(&[], &groups(&["X25519MLKEM768"])), [ProtocolVersion::TLSv1_3]);
    }

    #[test]
    fn choices_that_leave_nothing_are_a_contradiction() {
        let listed = suites(&["ECDHE-RSA-AES256-GCM-SHA384"]);
        let error = Offer::new(TlsVersions::Only13, &listed, &[]).unwrap_err();
        assert_eq!(error.key, "suites");
        assert_eq!(error.rule, "none is of TLS 1.3, and no other version is offered");
        let hybrid = groups(&["X25519MLKEM768"]);
        for (versions, suites) in [(TlsVersions::Only12, &[][..]), (TlsVersions::Both, &listed)] {
            assert_eq!(Offer::new(versions, suites, &hybrid).unwrap_err().key, "groups");
        }
    }
}
