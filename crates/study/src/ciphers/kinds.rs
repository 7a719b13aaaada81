//! What a site offers: protocols, ciphers, keys and groups, each tried with one handshake.

use serde::Serialize;
use tidegate_lab::{Error, Result};
use tidegate_load::{Handshake, KeyExchangeGroup, Plan, SigningKey, Suite, TlsVersions, handshake};

use crate::site::addresses::of_load;

/// What a kind of connection changes against what customers get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Version of TLS.
    Protocol,
    /// Cipher of the suite.
    Cipher,
    /// Key of the server's certificate.
    Key,
    /// Group of the key exchange.
    Group,
}

impl Factor {
    /// All, in the order of the report.
    pub const ALL: [Self; 4] = [Self::Protocol, Self::Cipher, Self::Key, Self::Group];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Protocol => "protocol",
            Self::Cipher => "cipher",
            Self::Key => "key",
            Self::Group => "group",
        }
    }
}

/// A kind of connection that the site offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// What it changes; `None` for what customers get.
    pub factor: Option<Factor>,
    /// What the site agrees on.
    pub agreed: Handshake,
    /// What customers offer for it.
    offer: Offer,
}

/// What customers offer.
#[derive(Clone, Debug, PartialEq)]
struct Offer {
    versions: TlsVersions,
    suites: Vec<Suite>,
    groups: Vec<KeyExchangeGroup>,
    key: Option<SigningKey>,
}

/// What the site does not offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotOffered {
    /// What it is a level of.
    pub factor: Factor,
    /// Its name.
    pub level: String,
}

/// Names of the ciphers.
const CIPHERS: [&str; 3] = ["AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"];

impl Offer {
    fn put(&self, plan: &mut Plan) {
        plan.tls = self.versions;
        plan.suites.clone_from(&self.suites);
        plan.groups.clone_from(&self.groups);
        plan.server_key = self.key;
    }
}

impl Kind {
    /// Lets the customers of a plan connect so.
    pub(super) fn put(&self, plan: &mut Plan) {
        self.offer.put(plan);
    }

    /// The level of a factor that it has.
    pub fn level(&self, factor: Factor) -> String {
        match factor {
            Factor::Protocol => format!("TLS {}", self.agreed.version),
            Factor::Cipher => cipher(self.agreed.suite).to_owned(),
            Factor::Key => self.agreed.key.to_string(),
            Factor::Group => self.agreed.group.unwrap_or("no group").to_owned(),
        }
    }

    /// What it changes, or `today`.
    pub fn name(&self) -> String {
        self.factor.map_or_else(|| "today".to_owned(), |factor| self.level(factor))
    }

    /// All of its levels.
    pub(super) fn levels(&self) -> String {
        Factor::ALL.map(|it| self.level(it)).join(", ")
    }
}

/// The cipher of a suite.
fn cipher(suite: &str) -> &'static str {
    let is_of = |it: &&str| Suite::of_cipher(it).any(|of| of.to_string() == suite);
    CIPHERS.into_iter().find(is_of).unwrap_or("an unknown cipher")
}

/// All that the site offers, first what the plan's customers get; and what it does not.
///
/// # Errors
/// It cannot be reached, or its certificate is not trusted.
pub(super) fn find(plan: &Plan) -> Result<(Vec<Kind>, Vec<NotOffered>)> {
    let today = handshake(plan).map_err(of_load)?;
    let own = Offer::of(&today);
    let mut kinds = vec![Kind { factor: None, agreed: today, offer: own.clone() }];
    let mut lacking = Vec::new();
    for (factor, level, offer) in others(&kinds[0], &own) {
        let mut tried = plan.clone();
        offer.put(&mut tried);
        match handshake(&tried) {
            Ok(agreed) => kinds.push(Kind { factor: Some(factor), agreed, offer }),
            // Nothing to offer, as groups of ML-KEM with TLS 1.2, or not accepted.
            Err(tidegate_load::Error::Tls { .. } | tidegate_load::Error::Plan { .. }) => {
                lacking.push(NotOffered { factor, level });
            }
            Err(error) => return Err(of_load(error)),
        }
        if plan.stop.is_stopped() {
            return Err(Error::Process("interrupted: the study has no result".to_owned()));
        }
    }
    Ok((kinds, lacking))
}

impl Offer {
    /// What is agreed, and nothing else.
    fn of(agreed: &Handshake) -> Self {
        Self {
            versions: version(agreed.version),
            suites: Suite::of_cipher(cipher(agreed.suite)).collect(),
            groups: agreed
                .group
                .and_then(|it| KeyExchangeGroup::parse(it).ok())
                .into_iter()
                .collect(),
            key: agreed.key.signs,
        }
    }
}

fn version(of: &str) -> TlsVersions {
    if of == "1.2" { TlsVersions::Only12 } else { TlsVersions::Only13 }
}

/// Every other level of every factor.
fn others(today: &Kind, own: &Offer) -> Vec<(Factor, String, Offer)> {
    let mut all = Vec::new();
    let mut add = |factor, level: String, offer| {
        if level != today.level(factor) {
            all.push((factor, level, offer));
        }
    };
    for of in ["1.3", "1.2"] {
        // A group of the other version may be none of this one.
        let groups = if of == "1.2" { Vec::new() } else { own.groups.clone() };
        let offer = Offer { versions: version(of), groups, ..own.clone() };
        add(Factor::Protocol, format!("TLS {of}"), offer);
    }
    for name in CIPHERS {
        let suites = Suite::of_cipher(name).collect();
        add(Factor::Cipher, name.to_owned(), Offer { suites, ..own.clone() });
    }
    for key in SigningKey::ALL {
        if own.key != Some(key) {
            add(Factor::Key, key.to_string(), Offer { key: Some(key), ..own.clone() });
        }
    }
    for group in KeyExchangeGroup::all() {
        let groups = vec![group];
        add(Factor::Group, group.to_string(), Offer { groups, ..own.clone() });
    }
    all
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tidegate_load::ServerKey;

    /// What customers get: TLS 1.3, AES-128, P-256, X25519.
    pub(in crate::ciphers) fn today() -> Kind {
        let key = ServerKey { signs: Some(SigningKey::EcdsaP256), bits: 0 };
        let agreed = Handshake {
            version: "1.3",
            suite: "TLS_AES_128_GCM_SHA256",
            group: Some("x25519"),
            key,
            certificates: 1,
            mutual: false,
        };
        Kind { factor: None, offer: Offer::of(&agreed), agreed }
    }

    /// The same with another key.
    pub(in crate::ciphers) fn with_key(key: ServerKey) -> Kind {
        let agreed = Handshake { key, ..today().agreed };
        Kind { factor: Some(Factor::Key), offer: Offer::of(&agreed), agreed }
    }

    /// The same with another group.
    pub(in crate::ciphers) fn with_group(group: &'static str) -> Kind {
        let agreed = Handshake { group: Some(group), ..today().agreed };
        Kind { factor: Some(Factor::Group), offer: Offer::of(&agreed), agreed }
    }

    #[test]
    fn one_factor_at_a_time_is_tried_and_what_customers_get_is_not_tried_again() {
        let today = today();
        let all = others(&today, &today.offer);
        let of = |factor| {
            let levels = all.iter().filter(|it| it.0 == factor).map(|it| it.1.as_str());
            levels.collect::<Vec<_>>()
        };
        assert_eq!(of(Factor::Protocol), ["TLS 1.2"]);
        assert_eq!(of(Factor::Cipher), ["AES-256-GCM", "ChaCha20-Poly1305"]);
        assert_eq!(of(Factor::Key).len(), 6);
        assert_eq!(of(Factor::Group).len(), 6);
        for (factor, _, offer) in &all {
            let same = [
                offer.versions == today.offer.versions,
                offer.suites == today.offer.suites,
                offer.key == today.offer.key,
                offer.groups == today.offer.groups,
            ];
            let changed = same.iter().filter(|it| !**it).count();
            assert!(changed == 1 || *factor == Factor::Protocol, "{factor:?}: {offer:?}");
        }
        assert_eq!(today.levels(), "TLS 1.3, AES-128-GCM, ECDSA P-256, x25519");
    }
}
