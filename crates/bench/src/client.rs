//! A small HTTPS client: one TLS version, one suite, one group, so that every
//! server does the same cryptography, and tickets that are kept or dropped.
//!
//! The server's signature is not verified: that would cost the driver more than
//! the server, and nothing here is secret.

use crate::upstream::BODY;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::crypto::{SupportedKxGroup, aws_lc_rs as provider};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, NamedGroup, SignatureScheme};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};
use tidegate_lab::NAME;
use tidegate_lab::peers::Version;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The request of every row.
pub const REQUEST: &[u8] = b"GET /1k HTTP/1.1\r\nHost: bench.test\r\n\
    User-Agent: tidegate-bench\r\nAccept: */*\r\n\r\n";

/// A client's configuration. `resume`: the latest ticket is kept for the next
/// connection; otherwise every connection is of a new customer, and tickets are
/// accepted and dropped.
pub fn config(version: Version, resume: bool) -> Arc<ClientConfig> {
    // The second is the curve of the certificate: OpenSSL selects no certificate
    // whose curve a TLS 1.2 client does not offer.
    with_groups(version, resume, vec![provider::kx_group::X25519, provider::kx_group::SECP256R1])
}

fn with_groups(
    version: Version,
    resume: bool,
    groups: Vec<&'static dyn SupportedKxGroup>,
) -> Arc<ClientConfig> {
    let (versions, suites) = match version {
        Version::Tls12 => (
            &rustls::version::TLS12,
            vec![
                provider::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                provider::cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            ],
        ),
        Version::Tls13 => {
            (&rustls::version::TLS13, vec![provider::cipher_suite::TLS13_AES_128_GCM_SHA256])
        }
    };
    let crypto = rustls::crypto::CryptoProvider {
        cipher_suites: suites,
        kx_groups: groups,
        ..provider::default_provider()
    };
    let mut config = ClientConfig::builder_with_provider(Arc::new(crypto))
        .with_protocol_versions(&[versions])
        .expect("the suites are of that version")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAny))
        .with_no_client_auth();
    config.resumption = Resumption::store(Arc::new(Tickets { keep: resume, ..Tickets::default() }));
    Arc::new(config)
}

/// The server name in every hello.
pub fn server_name() -> ServerName<'static> {
    ServerName::try_from(NAME).expect("a host name")
}

/// The first flight of a new customer, as bytes.
///
/// # Errors
/// The TLS library rejects its configuration.
pub fn hello(version: Version) -> anyhow::Result<Vec<u8>> {
    first_flight(config(version, false))
}

/// The first flight of a new customer with a post-quantum key share, as
/// browsers send it.
///
/// # Errors
/// The TLS library rejects its configuration.
pub fn post_quantum_hello() -> anyhow::Result<Vec<u8>> {
    use provider::kx_group::{SECP256R1, X25519, X25519MLKEM768};
    let groups = vec![X25519MLKEM768, X25519, SECP256R1];
    first_flight(with_groups(Version::Tls13, false, groups))
}

fn first_flight(config: Arc<ClientConfig>) -> anyhow::Result<Vec<u8>> {
    let mut connection = ClientConnection::new(config, server_name())?;
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes)?;
    Ok(bytes)
}

/// Sends one GET and reads the whole response.
///
/// # Errors
/// The connection breaks, or the response is not 200 with the upstream's body.
pub async fn get(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    stream.write_all(REQUEST).await?;
    stream.flush().await?;
    buffer.clear();
    let mut expected = None;
    while expected.is_none_or(|length| buffer.len() < length) {
        if stream.read_buf(buffer).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if expected.is_none() {
            expected = head_length(buffer)?.map(|head| head + BODY);
        }
    }
    if expected == Some(buffer.len()) { Ok(()) } else { Err(ErrorKind::InvalidData.into()) }
}

/// Length of a response's head, once it is complete.
fn head_length(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    if bytes.starts_with(b"HTTP/1.1 200") {
        return Ok(Some(end + 4));
    }
    let line = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
    Err(io::Error::new(ErrorKind::InvalidData, line))
}

/// At most one ticket of each version: the latest.
#[derive(Debug, Default)]
struct Tickets {
    keep: bool,
    tls12: Mutex<Option<Tls12ClientSessionValue>>,
    tls13: Mutex<Option<Tls13ClientSessionValue>>,
}

const UNPOISONED: &str = "nothing panics while it holds the lock";

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        if self.keep {
            *self.tls12.lock().expect(UNPOISONED) = Some(value);
        }
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.tls12.lock().expect(UNPOISONED).clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        *self.tls12.lock().expect(UNPOISONED) = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        if self.keep {
            *self.tls13.lock().expect(UNPOISONED) = Some(value);
        }
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.tls13.lock().expect(UNPOISONED).take()
    }
}

/// Accepts any certificate and any signature.
#[derive(Debug)]
struct AcceptAny;

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::RSA_PSS_SHA256]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;

    async fn response_of(response: &'static [u8]) -> io::Result<()> {
        let (mut near, mut far) = duplex(64 * 1024);
        far.write_all(response).await?;
        far.shutdown().await?;
        get(&mut near, &mut Vec::new()).await
    }

    #[test]
    fn a_hello_is_one_handshake_record_with_the_server_name() {
        let hello = hello(Version::Tls13).unwrap();
        assert_eq!(hello[0], 22);
        assert_eq!(usize::from(hello[3]) * 256 + usize::from(hello[4]) + 5, hello.len());
        assert!(hello.windows(NAME.len()).any(|part| part == NAME.as_bytes()));
    }

    #[tokio::test]
    async fn only_a_complete_200_is_an_operation() {
        let kind = async |response| response_of(response).await.unwrap_err().kind();
        assert_eq!(kind(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await, ErrorKind::InvalidData);
        assert_eq!(kind(b"HTTP/1.1 200 OK\r\n\r\nshort").await, ErrorKind::UnexpectedEof);
        assert_eq!(kind(&[b'x'; 9]).await, ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_head_is_complete_with_its_empty_line() {
        assert_eq!(head_length(b"HTTP/1.1 200 OK\r\nA: b\r\n").unwrap(), None);
        assert_eq!(head_length(b"HTTP/1.1 200 OK\r\n\r\nxy").unwrap(), Some(19));
    }
}
