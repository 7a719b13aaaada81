//! A rustls server that receives given bytes, and its answer.

#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use rcgen::{CertificateParams, KeyPair, RsaKeySize};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};
use tidegate_hello::negotiate::{Choice, Rules, TLS12};

/// A certificate with its key, for a.example and b.example.
pub struct Identity {
    pub certificate: CertificateDer<'static>,
    pub key: PrivateKeyDer<'static>,
    pub rules: Rules<'static>,
}

pub static RSA: LazyLock<Identity> = LazyLock::new(|| {
    let key = KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048);
    Identity::new(key.expect("a key"), Rules::RSA)
});
pub static P256: LazyLock<Identity> =
    LazyLock::new(|| Identity::of(&rcgen::PKCS_ECDSA_P256_SHA256));
pub static ED25519: LazyLock<Identity> = LazyLock::new(|| {
    let key = KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    Identity::new(key, Rules::ED25519)
});

pub static ML_DSA_65: LazyLock<Identity> = LazyLock::new(|| {
    let key = KeyPair::generate_for(&rcgen::PKCS_ML_DSA_65).expect("a key");
    Identity::new(key, Rules::ML_DSA_65)
});

impl Identity {
    pub fn of(algorithm: &'static rcgen::SignatureAlgorithm) -> Self {
        Self::new(KeyPair::generate_for(algorithm).expect("a key"), Rules::ECDSA_P256)
    }

    pub fn new(key: KeyPair, rules: Rules<'static>) -> Self {
        let names = ["a.example", "b.example"].map(String::from);
        let parameters = CertificateParams::new(names).expect("names");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let der = key.serialize_der().try_into().expect("a key");
        Self { certificate: certificate.der().clone(), key: der, rules }
    }

    pub fn server(&self, rules: &Rules<'_>) -> ServerConfig {
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let mut config = builder
            .with_protocol_versions(&versions(rules.tls12, rules.tls13))
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .expect("an identity");
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.require_ems = rules.require_ems;
        config.alpn_protocols = rules.alpn.iter().map(|protocol| protocol.to_vec()).collect();
        config
    }
}

pub fn versions(tls12: bool, tls13: bool) -> Vec<&'static SupportedProtocolVersion> {
    let all = [(tls12, &rustls::version::TLS12), (tls13, &rustls::version::TLS13)];
    all.into_iter().filter(|(enabled, _)| *enabled).map(|(_, version)| version).collect()
}

/// The answer of a rustls server: its choice (the group only with TLS 1.3), or
/// None for an alert.
pub fn real(config: ServerConfig, bytes: &[u8]) -> (Option<Choice>, ServerConnection) {
    let mut server = ServerConnection::new(Arc::new(config)).expect("a server");
    let mut rest = bytes;
    while !rest.is_empty() {
        server.read_tls(&mut rest).expect("memory");
        if server.process_new_packets().is_err() {
            return (None, server);
        }
    }
    let mut out = Vec::new();
    server.write_tls(&mut out).expect("memory");
    (Some(server_hello(&out)), server)
}

/// Reads a ServerHello. Source: RFC 8446, sections 4.1.3 and 4.1.4.
pub fn server_hello(out: &[u8]) -> Choice {
    const RETRY: [u8; 4] = [0xcf, 0x21, 0xad, 0x74];
    assert_eq!((out[0], out[5]), (22, 2), "a handshake record with a ServerHello");
    let number = |at: usize| u16::from_be_bytes([out[at], out[at + 1]]);
    let end = 9 + usize::from(number(7));
    let at = 9 + 34 + 1 + usize::from(out[43]);
    let mut choice =
        Choice { version: TLS12, suite: number(at), group: 0, retry: out[11..15] == RETRY };
    let mut at = at + 5;
    while at + 4 <= end {
        match number(at) {
            43 => choice.version = number(at + 4),
            51 => choice.group = number(at + 4),
            _ => {}
        }
        at += 4 + usize::from(number(at + 2));
    }
    choice
}

/// Some of these, in any order.
pub fn some(of: &'static [u16]) -> impl Strategy<Value = Vec<u16>> {
    prop::sample::subsequence(of, 1..=of.len()).prop_shuffle()
}

/// One with a key of another kind for 0 (P-256), 1 (RSA), 2 (Ed25519) and 3 (ML-DSA-65).
pub fn identity(index: usize) -> &'static Identity {
    [&*P256, &*RSA, &*ED25519, &*ML_DSA_65][index]
}
