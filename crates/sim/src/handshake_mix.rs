//! What customers' handshakes cost the gate, by kind of certificate and protocol.

use tidegate_control::{CertificateKey, Entry, FullHandshake, KeyExchange};

/// How customers connect, and what that costs the gate, in CPU seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandshakeMix {
    /// Without TLS: no handshake, and no ticket that could identify the session.
    Clear,
    /// With it.
    Handshakes {
        /// The kind of a full handshake, as the gate names it.
        kind: FullHandshake,
        /// A full handshake.
        full: f64,
        /// A resumed one.
        resumed: f64,
    },
}

/// What the gate learned in the demo against the TLS library alone, on the same
/// kind of handshake: 700 against 466 µs for a full one with RSA-2048, 160 against
/// 105 for a resumed one. The rest is in the system calls.
const IN_THE_GATE: f64 = 1.5;

/// Known kinds: CPU time of a full and of a resumed handshake, in µs.
///
/// Source: rustls 0.23 with aws-lc-rs, server side, one core of the machine that
/// the demo's costs come from. A resumed handshake of TLS 1.3 still exchanges
/// keys (`psk_dhe_ke`); one of TLS 1.2 does not. The last four follow from
/// [`FullHandshake::reference_cpu_s`] and `rsa-2048`.
const KINDS: [(&str, FullHandshake, f64, f64); 9] = [
    ("ecdsa-p256", ECDSA, 115.0, 105.0),
    ("rsa-2048", FullHandshake::RSA_2048, 466.0, 105.0),
    ("rsa-4096", RSA_4096, 1985.0, 105.0),
    ("tls12-ecdsa-p256", ECDSA, 80.0, 16.5),
    ("tls12-rsa-2048", FullHandshake::RSA_2048, 414.0, 16.5),
    ("rsa-4096-mutual", FullHandshake { mutual: true, ..RSA_4096 }, 2144.0, 105.0),
    ("ecdsa-p256-hybrid", FullHandshake { exchange: HYBRID, ..ECDSA }, 148.0, 138.0),
    ("ml-dsa-65-hybrid", ML_DSA, 362.0, 138.0),
    ("ml-dsa-65-hybrid-mutual", FullHandshake { mutual: true, ..ML_DSA }, 521.0, 138.0),
];

const HYBRID: KeyExchange = KeyExchange::X25519MlKem768;
const ECDSA: FullHandshake =
    FullHandshake { key: CertificateKey::EcdsaP256, ..FullHandshake::RSA_2048 };
const RSA_4096: FullHandshake =
    FullHandshake { key: CertificateKey::Rsa4096, ..FullHandshake::RSA_2048 };
const ML_DSA: FullHandshake =
    FullHandshake { key: CertificateKey::MlDsa65, exchange: HYBRID, mutual: false };

impl HandshakeMix {
    /// The names that [`HandshakeMix::named`] knows.
    pub const NAMES: [&str; 10] = [
        "ecdsa-p256",
        "rsa-2048",
        "rsa-4096",
        "tls12-ecdsa-p256",
        "tls12-rsa-2048",
        "rsa-4096-mutual",
        "ecdsa-p256-hybrid",
        "ml-dsa-65-hybrid",
        "ml-dsa-65-hybrid-mutual",
        "clear",
    ];

    /// A known kind: TLS 1.3 unless its name says 1.2, on the demo's machine;
    /// `None`: no such name.
    pub fn named(name: &str) -> Option<Self> {
        if name == "clear" {
            return Some(Self::Clear);
        }
        let (_, kind, full, resumed) = KINDS.iter().find(|(known, ..)| *known == name)?;
        let in_the_gate = |us: f64| us * 1e-6 * IN_THE_GATE;
        let (full, resumed) = (in_the_gate(*full), in_the_gate(*resumed));
        Some(Self::Handshakes { kind: *kind, full, resumed })
    }

    /// Handshakes of these costs, of the kind that costs about as much without client
    /// certificates.
    pub fn costing(full: f64, resumed: f64) -> Self {
        let of_demo = Self::named("rsa-2048").map_or(full, Self::full) / full;
        let usual = FullHandshake::RSA_2048.reference_cpu_s();
        let off = |kind: &FullHandshake| (kind.reference_cpu_s() / usual * of_demo).ln().abs();
        let kinds = FullHandshake::all().filter(|kind| !kind.mutual);
        let kind = kinds.min_by(|a, b| off(a).total_cmp(&off(b)));
        Self::Handshakes { kind: kind.unwrap_or(FullHandshake::RSA_2048), full, resumed }
    }

    /// CPU time of a full and of a resumed handshake in the TLS library alone, in µs, of a
    /// known kind; `None`: no such name, or no TLS.
    pub fn in_the_library(name: &str) -> Option<(f64, f64)> {
        let (.., full, resumed) = KINDS.iter().find(|(known, ..)| *known == name)?;
        Some((*full, *resumed))
    }

    /// How a new connection begins.
    pub fn entry(self) -> Entry {
        match self {
            Self::Clear => Entry::Clear,
            Self::Handshakes { kind, .. } => Entry::Full(kind),
        }
    }

    /// CPU time of a full handshake.
    pub fn full(self) -> f64 {
        match self {
            Self::Clear => 0.0,
            Self::Handshakes { full, .. } => full,
        }
    }

    /// CPU time of a resumed handshake.
    pub fn resumed(self) -> f64 {
        match self {
            Self::Clear => 0.0,
            Self::Handshakes { resumed, .. } => resumed,
        }
    }

    /// The same on a machine that takes so many times as long.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        match self {
            Self::Clear => Self::Clear,
            Self::Handshakes { kind, full, resumed } => {
                Self::Handshakes { kind, full: full * factor, resumed: resumed * factor }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    #[test]
    fn every_name_has_its_costs() {
        for name in HandshakeMix::NAMES {
            let tls = HandshakeMix::named(name).unwrap();
            assert_eq!(tls == HandshakeMix::Clear, name == "clear");
            assert!(tls == HandshakeMix::Clear || tls.full() > tls.resumed(), "{name}");
        }
        assert_eq!(HandshakeMix::NAMES.len(), KINDS.len() + 1);
        assert_eq!(HandshakeMix::named("rsa"), None);
    }

    #[test]
    fn handshakes_are_of_the_kind_that_costs_as_much() {
        for kind in [ECDSA, FullHandshake::RSA_2048, RSA_4096] {
            let times = kind.reference_cpu_s() / FullHandshake::RSA_2048.reference_cpu_s();
            let full = times * HandshakeMix::named("rsa-2048").unwrap().full();
            assert_eq!(HandshakeMix::costing(full, 1e-4).entry(), Entry::Full(kind));
        }
    }

    #[test]
    fn the_demos_handshakes_are_those_of_rsa_2048() {
        let (demo, kind) =
            (Scenario::default().work.tls(), HandshakeMix::named("rsa-2048").unwrap());
        assert!((demo.full() / kind.full() - 1.0).abs() < 0.02);
        assert!((demo.resumed() / kind.resumed() - 1.0).abs() < 0.02);
    }
}
