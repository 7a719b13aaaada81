//! The rows of the table: what is measured, and its goals.

use serde::Serialize;
use tidegate_lab::CertificateKey;
use tidegate_lab::peers::{Version, Work};

/// One kind of operation, measured at every server.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Name in flags and results.
    pub id: &'static str,
    /// Heading in the table.
    pub title: &'static str,
    /// What the driver does.
    pub work: Work,
    /// The certificate's key.
    #[serde(serialize_with = "named")]
    pub key: CertificateKey,
    /// Most that the gate may cost against nginx, as a ratio.
    pub most_of_nginx: f64,
    /// Most that the gate may cost against HAProxy, as a ratio; against Envoy it is 1.
    pub most_of_haproxy: f64,
}

/// The usual key.
const P256: CertificateKey = CertificateKey::EcdsaP256;

fn named<S: serde::Serializer>(key: &CertificateKey, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(key.name())
}

/// The row that a refusal is compared to.
pub const FULL_CONNECTION: &str = "full13-p256";

/// The row of refusals.
pub const REFUSAL: &str = "refused";

/// Most that a refusal may cost against a full connection, as a ratio.
pub const REFUSAL_OF_FULL: f64 = 0.1;

/// Most that reading a hello may cost against a refusal, as a ratio: less than
/// the spread of the windows, which no measurement from outside can resolve.
pub const INSPECTION_OF_REFUSAL: f64 = 0.02;

const fn row(id: &'static str, title: &'static str, work: Work, key: CertificateKey) -> Row {
    Row { id, title, work, key, most_of_nginx: 1.0, most_of_haproxy: 1.0 }
}

/// All rows, in the order in which they are measured and shown.
pub const ROWS: &[Row] = &[
    Row {
        most_of_haproxy: 0.45,
        ..row(FULL_CONNECTION, "TLS 1.3 full, P-256, 1 GET", Work::Full(Version::Tls13), P256)
    },
    row(
        "full13-rsa",
        "TLS 1.3 full, RSA-2048, 1 GET",
        Work::Full(Version::Tls13),
        CertificateKey::Rsa2048,
    ),
    row("resumed13", "TLS 1.3 resumed, 1 GET", Work::Resumed(Version::Tls13), P256),
    row("full12-p256", "TLS 1.2 full, P-256, 1 GET", Work::Full(Version::Tls12), P256),
    row(
        "full12-rsa",
        "TLS 1.2 full, RSA-2048, 1 GET",
        Work::Full(Version::Tls12),
        CertificateKey::Rsa2048,
    ),
    row("resumed12", "TLS 1.2 resumed, 1 GET", Work::Resumed(Version::Tls12), P256),
    Row {
        most_of_haproxy: 0.8,
        ..row("keepalive-tls", "keep-alive GET 1 KiB, TLS 1.3", Work::KeepAliveTls, P256)
    },
    row("keepalive-http2", "keep-alive GET 1 KiB, HTTP/2", Work::KeepAliveHttp2, P256),
    row("keepalive-clear", "keep-alive GET 1 KiB, plain HTTP", Work::KeepAliveClear, P256),
    row("static", "keep-alive GET of a 1 KiB file, TLS 1.3", Work::StaticTls, P256),
    row("websocket", "WebSocket message and echo, TLS 1.3", Work::WebSocket, P256),
    row(REFUSAL, "refused after the hello", Work::Refused, P256),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_the_named_rows_exist() {
        for row in ROWS {
            assert_eq!(ROWS.iter().filter(|other| other.id == row.id).count(), 1, "{}", row.id);
        }
        assert!([FULL_CONNECTION, REFUSAL].iter().all(|id| ROWS.iter().any(|row| row.id == *id)));
    }
}
