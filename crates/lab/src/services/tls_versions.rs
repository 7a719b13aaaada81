//! Versions of TLS.

/// Versions of TLS that a server offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersions {
    /// 1.2 and 1.3.
    #[default]
    Both,
    /// 1.2 alone.
    Only12,
    /// 1.3 alone.
    Only13,
}

impl TlsVersions {
    /// As Tomcat's `protocols` has them.
    pub fn protocols(self) -> &'static str {
        match self {
            Self::Both => "TLSv1.2+TLSv1.3",
            Self::Only12 => "TLSv1.2",
            Self::Only13 => "TLSv1.3",
        }
    }

    /// The lowest and the highest, as Node names them.
    pub fn range(self) -> (&'static str, &'static str) {
        match self {
            Self::Both => ("TLSv1.2", "TLSv1.3"),
            Self::Only12 => ("TLSv1.2", "TLSv1.2"),
            Self::Only13 => ("TLSv1.3", "TLSv1.3"),
        }
    }
}
