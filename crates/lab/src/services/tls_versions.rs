//! The versions of TLS as servers name them.

use tidegate_load::TlsVersions;

/// As Tomcat's `protocols` has them.
pub fn protocols(versions: TlsVersions) -> &'static str {
    match versions {
        TlsVersions::Both => "TLSv1.2+TLSv1.3",
        TlsVersions::Only12 => "TLSv1.2",
        TlsVersions::Only13 => "TLSv1.3",
    }
}

/// The lowest and the highest, as Node names them.
pub fn range(versions: TlsVersions) -> (&'static str, &'static str) {
    match versions {
        TlsVersions::Both => ("TLSv1.2", "TLSv1.3"),
        TlsVersions::Only12 => ("TLSv1.2", "TLSv1.2"),
        TlsVersions::Only13 => ("TLSv1.3", "TLSv1.3"),
    }
}
