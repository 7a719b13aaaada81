//! Predicts the choices of a rustls server for a hello: version, suite, group,
//! and whether it resumes a session. Pure functions over code points, without a
//! dependency on rustls.
//!
//! Source: rustls 0.23, `server/hs.rs`, `server/tls12.rs`, `server/tls13.rs`,
//! with `ignore_client_order` false; compared with rustls itself in
//! `tests/rustls_choice.rs` and `tests/rustls_resume.rs`.
//! Deviation: without client certificates, raw public keys (RFC 7250) and QUIC.

use crate::client_hello::ClientHello;
use crate::codes::Codes;

/// TLS 1.2 on the wire.
pub const TLS12: u16 = 0x0303;
/// TLS 1.3 on the wire.
pub const TLS13: u16 = 0x0304;

/// Configuration of the server. The suite is the first of the client's order, and so is the
/// group unless the server has an order of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules<'a> {
    /// TLS 1.2 is enabled.
    pub tls12: bool,
    /// TLS 1.3 is enabled.
    pub tls13: bool,
    /// The suites for TLS 1.3.
    pub tls13_suites: &'a [u16],
    /// The suites for TLS 1.2 that suit the certificate's key; all with ECDHE.
    pub tls12_suites: &'a [u16],
    /// The groups usable with TLS 1.3.
    pub tls13_groups: &'a [u16],
    /// The groups usable with TLS 1.2, without finite-field ones.
    pub tls12_groups: &'a [u16],
    /// The group is the first of the server's list for which the client sent a key share,
    /// since another one costs a round trip, else the first that it supports. rustls has no
    /// such order: the server must give it the chosen group alone.
    pub own_group_order: bool,
    /// The signature schemes that the certificate's key can make.
    pub schemes: &'a [u16],
    /// TLS 1.2 clients must offer the extended master secret.
    pub require_ems: bool,
    /// The application protocols; empty: any.
    pub alpn: &'a [&'a [u8]],
}

impl Rules<'static> {
    /// The defaults of rustls's aws-lc-rs provider, with an RSA key.
    pub const RSA: Self = Self {
        tls12: true,
        tls13: true,
        tls13_suites: &[0x1302, 0x1301, 0x1303],
        tls12_suites: &[0xc030, 0xc02f, 0xcca8],
        tls13_groups: &[X25519, P256, P384, X25519_ML_KEM_768],
        tls12_groups: &[X25519, P256, P384],
        own_group_order: false,
        schemes: &[0x0806, 0x0805, 0x0804, 0x0601, 0x0501, 0x0401],
        require_ems: false,
        alpn: &[],
    };

    /// The same with an ECDSA key on P-256.
    pub const ECDSA_P256: Self =
        Self { tls12_suites: &[0xc02c, 0xc02b, 0xcca9], schemes: &[0x0403], ..Self::RSA };

    /// The same with an ECDSA key on P-384.
    pub const ECDSA_P384: Self = Self { schemes: &[0x0503], ..Self::ECDSA_P256 };

    /// The same with an Ed25519 key, which serves the ECDSA suites of TLS 1.2.
    pub const ED25519: Self = Self { schemes: &[0x0807], ..Self::ECDSA_P256 };

    /// The same with an ML-DSA-65 key, which has no suite of TLS 1.2.
    ///
    /// Source: draft-ietf-tls-mldsa, section 3: with TLS 1.3 only.
    pub const ML_DSA_65: Self = Self { tls12_suites: &[], schemes: &[0x0905], ..Self::RSA };
}

const P256: u16 = 23;
const P384: u16 = 24;
const X25519: u16 = 29;
const X25519_ML_KEM_768: u16 = 0x11ec;

/// The choice of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// [`TLS12`] or [`TLS13`].
    pub version: u16,
    /// The cipher suite.
    pub suite: u16,
    /// The key-exchange group.
    pub group: u16,
    /// The client sent no share for that group: the server answers with a
    /// HelloRetryRequest (TLS 1.3).
    pub retry: bool,
}

/// Why the server answers a hello with an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Incompatible {
    /// No version in common.
    #[error("no TLS version in common")]
    Version,
    /// The null compression method is missing, or another one is offered with
    /// TLS 1.3.
    #[error("compression methods that the version does not allow")]
    Compression,
    /// No signature_algorithms extension; rustls requires it to resume as well.
    #[error("no signature_algorithms extension")]
    SignatureSchemesMissing,
    /// No key-exchange group in common.
    #[error("no key-exchange group in common")]
    Group,
    /// No suite in common.
    #[error("no cipher suite in common")]
    Suite,
    /// TLS 1.3 without a key_share extension.
    #[error("no key_share extension")]
    KeyShareMissing,
    /// Two key shares for the same group.
    #[error("two key shares for one group")]
    KeyShareTwice,
    /// Pre-shared keys without psk_key_exchange_modes.
    #[error("pre_shared_key without psk_key_exchange_modes")]
    PskModesMissing,
    /// TLS 1.2 without the extended master secret where it is required.
    #[error("no extended master secret")]
    ExtendedMasterSecret,
    /// TLS 1.2 without the uncompressed point format.
    #[error("no uncompressed point format")]
    PointFormat,
    /// No application protocol in common.
    #[error("no application protocol in common")]
    Protocol,
    /// No signature scheme that the key supports. Prevents a full handshake only.
    #[error("no signature scheme in common")]
    SignatureScheme,
}

/// The choice of the server, for a full and for a resumed handshake.
///
/// # Errors
/// Why every handshake with this hello fails. [`can_sign`] has one more condition
/// for a full one.
pub fn choose(hello: &ClientHello, rules: &Rules<'_>) -> Result<Choice, Incompatible> {
    if !hello.compression_methods().contains(&0) {
        return Err(Incompatible::Compression);
    }
    if hello.signature_schemes().is_empty() {
        return Err(Incompatible::SignatureSchemesMissing);
    }
    let version = version(hello, rules).ok_or(Incompatible::Version)?;
    let (suites, groups) = match version {
        TLS13 => (rules.tls13_suites, rules.tls13_groups),
        _ => (rules.tls12_suites, rules.tls12_groups),
    };
    let offered = hello.supported_groups();
    let group = match rules.own_group_order {
        true => own_choice(hello, groups, version == TLS13),
        false => first(offered, groups),
    };
    let group = group.ok_or(Incompatible::Group)?;
    let suite = first(hello.cipher_suites(), suites).ok_or(Incompatible::Suite)?;
    let retry = match version {
        TLS13 => !tls13_shares(hello, group)?,
        _ => tls12_form(hello, rules).map(|()| false)?,
    };
    let offers = |ours: &&[u8]| hello.alpn().any(|theirs| theirs == *ours);
    let absent = hello.alpn().next().is_none();
    if !rules.alpn.is_empty() && !absent && !rules.alpn.iter().any(offers) {
        return Err(Incompatible::Protocol);
    }
    Ok(Choice { version, suite, group, retry })
}

/// Checks that a full handshake can be signed in a way that the client accepts.
///
/// # Errors
/// [`Incompatible::SignatureScheme`].
pub fn can_sign(
    hello: &ClientHello,
    rules: &Rules<'_>,
    choice: &Choice,
) -> Result<(), Incompatible> {
    let usable = |scheme: &u16| choice.version == TLS12 || allowed_in_tls13(*scheme);
    let offered = hello.signature_schemes();
    match rules.schemes.iter().any(|scheme| usable(scheme) && offered.contains(*scheme)) {
        true => Ok(()),
        false => Err(Incompatible::SignatureScheme),
    }
}

/// The session of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The suite, which implies the version.
    pub suite: u16,
    /// Hash of the server name of the first hello: see [`server_name_hash`].
    pub server_name: u64,
    /// The extended master secret was in use; false with TLS 1.3.
    pub extended_master_secret: bool,
}

/// Outcome for a session whose ticket opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resumption {
    /// The session is resumed (with TLS 1.3, if the binder is valid as well).
    Resumed,
    /// A full handshake instead.
    Full(Obstacle),
    /// An alert: the session had the extended master secret and the client
    /// no longer offers it (TLS 1.2).
    Alert,
}

/// Why the server does not resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// The session has another suite than the one chosen.
    Suite,
    /// The session is for another server name.
    ServerName,
    /// The session had no extended master secret and the client now offers it.
    ExtendedMasterSecret,
    /// The client does not offer psk_dhe_ke (TLS 1.3).
    PskMode,
}

/// The tickets that a server may open for this choice, in the client's order:
/// the pre-shared key identities within the cap with TLS 1.3, the ticket with
/// TLS 1.2. The ticket of the other version is ignored.
pub fn tickets<'a>(
    hello: &'a ClientHello,
    choice: &Choice,
) -> impl Iterator<Item = &'a [u8]> + Clone {
    let (tls12, tls13) = (choice.version == TLS12, choice.version == TLS13);
    let ticket = hello.ticket().filter(|ticket| tls12 && !ticket.is_empty());
    ticket.into_iter().chain(hello.psk_identities().filter(move |_| tls13))
}

/// A 64-bit hash (FNV-1a) of a server name in lower case, 0 where there is none: so a
/// ticket can contain it in a fixed length. It guards no secret: where two names have the
/// same hash, the TLS library's own comparison decides.
pub fn server_name_hash(name: Option<&str>) -> u64 {
    let Some(name) = name else { return 0 };
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The outcome in rustls for a session whose ticket it has opened. With TLS 1.3
/// rustls tries the identities in order and uses the first that resumes.
pub fn resume(hello: &ClientHello, choice: &Choice, session: &Session) -> Resumption {
    let ems = choice.version == TLS12 && hello.extended_master_secret();
    if session.suite != choice.suite {
        Resumption::Full(Obstacle::Suite)
    } else if ems && !session.extended_master_secret {
        Resumption::Full(Obstacle::ExtendedMasterSecret)
    } else if session.server_name != server_name_hash(hello.server_name()) {
        Resumption::Full(Obstacle::ServerName)
    } else if choice.version == TLS13 && !hello.offers_psk_dhe_ke() {
        Resumption::Full(Obstacle::PskMode)
    } else if choice.version == TLS12 && session.extended_master_secret && !ems {
        Resumption::Alert
    } else {
        Resumption::Resumed
    }
}

fn version(hello: &ClientHello, rules: &Rules<'_>) -> Option<u16> {
    let offered = hello.supported_versions();
    if offered.is_empty() {
        (hello.legacy_version() >= TLS12 && rules.tls12).then_some(TLS12)
    } else if offered.contains(TLS13) && rules.tls13 {
        Some(TLS13)
    } else {
        (offered.contains(TLS12) && rules.tls12).then_some(TLS12)
    }
}

/// The first code of the client's list that the server supports.
fn first(theirs: Codes<'_>, ours: &[u16]) -> Option<u16> {
    theirs.iter().find(|code| ours.contains(code))
}

/// The group of the server's list that it chooses by its own order.
fn own_choice(hello: &ClientHello, groups: &[u16], shares: bool) -> Option<u16> {
    let offered = hello.supported_groups();
    let mut common = groups.iter().copied().filter(|group| offered.contains(*group));
    let has_share = |group: &u16| hello.key_share_groups().any(|shared| shared == *group);
    let shared = if shares { common.clone().find(has_share) } else { None };
    shared.or_else(|| common.next())
}

/// Checks the form that TLS 1.3 requires of a hello. Returns whether there is a
/// share for the group.
fn tls13_shares(hello: &ClientHello, group: u16) -> Result<bool, Incompatible> {
    if hello.compression_methods().len() != 1 {
        return Err(Incompatible::Compression);
    }
    if !hello.has_key_shares() {
        return Err(Incompatible::KeyShareMissing);
    }
    // Sorted, as a hostile hello may contain thousands.
    let mut shares: Vec<u16> = hello.key_share_groups().collect();
    shares.sort_unstable();
    if !shares.is_sorted_by(|one, next| one < next) {
        return Err(Incompatible::KeyShareTwice);
    }
    if hello.psk_offered() > 0 && hello.psk_modes().is_empty() {
        return Err(Incompatible::PskModesMissing);
    }
    Ok(shares.contains(&group))
}

fn tls12_form(hello: &ClientHello, rules: &Rules<'_>) -> Result<(), Incompatible> {
    if rules.require_ems && !hello.extended_master_secret() {
        return Err(Incompatible::ExtendedMasterSecret);
    }
    if !hello.point_formats().is_empty() && !hello.point_formats().contains(&0) {
        return Err(Incompatible::PointFormat);
    }
    Ok(())
}

/// Source: RFC 8446, section 4.2.3: no RSA PKCS #1, no SHA-1 and older hashes.
fn allowed_in_tls13(scheme: u16) -> bool {
    let [hash, signature] = scheme.to_be_bytes();
    hash > 3 && signature != 1
}
