//! Kinds of full handshakes. What one costs follows from the key that signs, from the key
//! exchange, and from whether the client shows a certificate.

use std::sync::LazyLock;

/// The key of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CertificateKey {
    /// RSA of up to 2048 bits.
    Rsa2048,
    /// RSA of up to 3072 bits.
    Rsa3072,
    /// RSA of more bits.
    Rsa4096,
    /// ECDSA over P-256.
    EcdsaP256,
    /// ECDSA over P-384.
    EcdsaP384,
    /// ECDSA over P-521.
    EcdsaP521,
    /// Ed25519.
    Ed25519,
    /// ML-DSA-44.
    MlDsa44,
    /// ML-DSA-65.
    MlDsa65,
    /// ML-DSA-87.
    MlDsa87,
}

/// The group of a key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyExchange {
    /// X25519.
    X25519,
    /// P-256.
    Secp256r1,
    /// P-384.
    Secp384r1,
    /// X25519 and ML-KEM-768 together.
    X25519MlKem768,
    /// P-256 and ML-KEM-768 together.
    Secp256r1MlKem768,
    /// ML-KEM-768 alone.
    MlKem768,
    /// ML-KEM-1024 alone.
    MlKem1024,
}

impl CertificateKey {
    /// All, in the order of the enum.
    pub const ALL: [Self; 10] = [
        Self::Rsa2048,
        Self::Rsa3072,
        Self::Rsa4096,
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::EcdsaP521,
        Self::Ed25519,
        Self::MlDsa44,
        Self::MlDsa65,
        Self::MlDsa87,
    ];

    /// The name in configuration and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::EcdsaP521 => "ecdsa-p521",
            Self::Ed25519 => "ed25519",
            Self::MlDsa44 => "ml-dsa-44",
            Self::MlDsa65 => "ml-dsa-65",
            Self::MlDsa87 => "ml-dsa-87",
        }
    }

    /// Microseconds of one signature.
    const fn signature_us(self) -> f64 {
        match self {
            Self::Rsa2048 => 252.0,
            Self::Rsa3072 => 706.0,
            Self::Rsa4096 => 1_495.0,
            Self::EcdsaP256 => 19.0,
            Self::EcdsaP384 => 92.0,
            Self::EcdsaP521 => 183.0,
            Self::Ed25519 => 10.0,
            Self::MlDsa44 => 101.0,
            Self::MlDsa65 => 152.0,
            Self::MlDsa87 => 193.0,
        }
    }
}

impl KeyExchange {
    /// All, in the order of the enum.
    pub const ALL: [Self; 7] = [
        Self::X25519,
        Self::Secp256r1,
        Self::Secp384r1,
        Self::X25519MlKem768,
        Self::Secp256r1MlKem768,
        Self::MlKem768,
        Self::MlKem1024,
    ];

    /// The name that IANA has registered.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X25519 => "x25519",
            Self::Secp256r1 => "secp256r1",
            Self::Secp384r1 => "secp384r1",
            Self::X25519MlKem768 => "X25519MLKEM768",
            Self::Secp256r1MlKem768 => "SecP256r1MLKEM768",
            Self::MlKem768 => "MLKEM768",
            Self::MlKem1024 => "MLKEM1024",
        }
    }

    /// The code point.
    ///
    /// Source: IANA, TLS Supported Groups.
    pub const fn code(self) -> u16 {
        match self {
            Self::X25519 => 29,
            Self::Secp256r1 => 23,
            Self::Secp384r1 => 24,
            Self::X25519MlKem768 => 0x11ec,
            Self::Secp256r1MlKem768 => 0x11eb,
            Self::MlKem768 => 0x0201,
            Self::MlKem1024 => 0x0202,
        }
    }

    /// The group of a code point; `None`: another one.
    pub fn of_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.code() == code)
    }

    /// Microseconds of one exchange on the server's side.
    const fn exchange_us(self) -> f64 {
        match self {
            Self::X25519 => 45.0,
            Self::Secp256r1 => 71.0,
            Self::Secp384r1 => 207.0,
            Self::X25519MlKem768 => 69.0,
            Self::Secp256r1MlKem768 => 93.0,
            Self::MlKem768 => 36.0,
            Self::MlKem1024 => 43.0,
        }
    }
}

/// Everything else in a full handshake: records, key schedule, ticket; in microseconds.
const REST_US: f64 = 43.0;
/// Verifying a client's certificate and signature, both by P-256, in microseconds.
const MUTUAL_US: f64 = 116.0;

/// A kind of full handshakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FullHandshake {
    /// What signs.
    pub key: CertificateKey,
    /// How keys are exchanged.
    pub exchange: KeyExchange,
    /// The client is asked for a certificate.
    pub mutual: bool,
}

impl FullHandshake {
    /// How many kinds there are.
    pub const COUNT: usize = CertificateKey::ALL.len() * KeyExchange::ALL.len() * 2;

    /// RSA-2048 and X25519: what a site of 2007 would have today.
    pub const RSA_2048: Self =
        Self { key: CertificateKey::Rsa2048, exchange: KeyExchange::X25519, mutual: false };

    /// All kinds, in the order of [`index`](Self::index).
    pub fn all() -> impl Iterator<Item = Self> {
        CertificateKey::ALL.into_iter().flat_map(|key| {
            KeyExchange::ALL.into_iter().flat_map(move |exchange| {
                [false, true].map(|mutual| Self { key, exchange, mutual })
            })
        })
    }

    /// Its place among all, from 0.
    pub const fn index(self) -> usize {
        (self.key as usize * KeyExchange::ALL.len() + self.exchange as usize) * 2
            + self.mutual as usize
    }

    /// The name in metrics: `rsa-4096/X25519MLKEM768/mutual`.
    pub fn name(self) -> &'static str {
        static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
            let name = |FullHandshake { key, exchange, mutual }| {
                let mutual = if mutual { "/mutual" } else { "" };
                format!("{}/{}{mutual}", key.name(), exchange.name())
            };
            FullHandshake::all().map(name).collect()
        });
        NAMES.get(self.index()).map_or("", String::as_str)
    }

    /// CPU seconds of the server's side in the TLS library alone, on some machine. The ratio
    /// of two kinds is what counts: the price of a kind that was never seen is its reference,
    /// times the slowness of this machine that the others show.
    ///
    /// Source: `cargo bench -p tidegate-bench --bench handshakes`: rustls 0.23 with aws-lc-rs,
    /// TLS 1.3, no resumption, each key with X25519 and each group with P-256.
    pub fn reference_cpu_s(self) -> f64 {
        let mutual_us = if self.mutual { MUTUAL_US } else { 0.0 };
        (REST_US + self.key.signature_us() + self.exchange.exchange_us() + mutual_us) * 1e-6
    }
}

/// How a connection begins: what its handshake costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entry {
    /// As new ones do on average. Handshakes from tickets count so in the backlog: at their
    /// own price, which is less, more new sessions would be admitted beside them, and wait.
    #[default]
    Average,
    /// Without a handshake: plain HTTP.
    Clear,
    /// With a full handshake.
    Full(FullHandshake),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_place_and_a_name_of_its_own() {
        let places: Vec<_> = FullHandshake::all().map(FullHandshake::index).collect();
        assert!(places.iter().copied().eq(0..FullHandshake::COUNT));
        let mut names: Vec<_> = FullHandshake::all().map(FullHandshake::name).collect();
        let kind = FullHandshake {
            key: CertificateKey::MlDsa65,
            exchange: KeyExchange::X25519MlKem768,
            mutual: true,
        };
        assert_eq!(kind.name(), "ml-dsa-65/X25519MLKEM768/mutual");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FullHandshake::COUNT);
    }

    #[test]
    fn references_are_sums_of_what_was_measured_one_by_one() {
        let kind = |key, exchange, mutual| FullHandshake { key, exchange, mutual };
        use {CertificateKey::*, KeyExchange::*};
        for (kind, us) in [
            (kind(Rsa2048, X25519, false), 340.0),
            (kind(EcdsaP256, X25519, true), 223.0),
            (kind(EcdsaP256, X25519MlKem768, false), 131.0),
            // 43 + 152 + 69, where 257 were measured together.
            (kind(MlDsa65, X25519MlKem768, false), 264.0),
        ] {
            assert!((kind.reference_cpu_s() * 1e6 - us).abs() < 1e-6, "{}", kind.name());
        }
    }

    #[test]
    fn groups_are_found_by_their_code_points() {
        for group in KeyExchange::ALL {
            assert_eq!(KeyExchange::of_code(group.code()), Some(group));
        }
        assert_eq!(KeyExchange::of_code(0x0a0a), None);
    }
}
