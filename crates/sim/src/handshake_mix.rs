//! What customers' handshakes cost the gate, by kind of certificate and protocol.

/// How customers connect, and what that costs the gate, in CPU seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandshakeMix {
    /// Without TLS: no handshake, and no ticket that could identify the session.
    Clear,
    /// With it.
    Handshakes {
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
/// keys (`psk_dhe_ke`); one of TLS 1.2 does not.
const KINDS: [(&str, f64, f64); 5] = [
    ("ecdsa-p256", 115.0, 105.0),
    ("rsa-2048", 466.0, 105.0),
    ("rsa-4096", 1985.0, 105.0),
    ("tls12-ecdsa-p256", 80.0, 16.5),
    ("tls12-rsa-2048", 414.0, 16.5),
];

impl HandshakeMix {
    /// The names that [`HandshakeMix::named`] knows.
    pub const NAMES: [&str; 6] =
        ["ecdsa-p256", "rsa-2048", "rsa-4096", "tls12-ecdsa-p256", "tls12-rsa-2048", "clear"];

    /// A known kind: TLS 1.3 unless its name says 1.2, on the demo's machine;
    /// `None`: no such name.
    pub fn named(name: &str) -> Option<Self> {
        if name == "clear" {
            return Some(Self::Clear);
        }
        let (full, resumed) = Self::in_the_library(name)?;
        let in_the_gate = |us: f64| us * 1e-6 * IN_THE_GATE;
        Some(Self::Handshakes { full: in_the_gate(full), resumed: in_the_gate(resumed) })
    }

    /// CPU time of a full and of a resumed handshake in the TLS library alone, in µs, of a
    /// known kind; `None`: no such name, or no TLS.
    pub fn in_the_library(name: &str) -> Option<(f64, f64)> {
        let (_, full, resumed) = KINDS.iter().find(|(known, ..)| *known == name)?;
        Some((*full, *resumed))
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
            Self::Handshakes { full, resumed } => {
                Self::Handshakes { full: full * factor, resumed: resumed * factor }
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
    fn the_demos_handshakes_are_those_of_rsa_2048() {
        let (demo, kind) =
            (Scenario::default().work.tls(), HandshakeMix::named("rsa-2048").unwrap());
        assert!((demo.full() / kind.full() - 1.0).abs() < 0.02);
        assert!((demo.resumed() / kind.resumed() - 1.0).abs() < 0.02);
    }
}
