//! The two TLS configurations: one that signs, for who is new, and one that
//! cannot, for who brought a good ticket. So no returning connection ever
//! costs a full handshake, whatever it sends after its first hello.

use crate::admission::tickets::{Claims, GRACE, Keyring, SessionId, Terms};
use crate::config::{Config, Identity, MinimumVersion};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs;
use rustls::server::{NoServerSessionStorage, ProducesTickets};
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{
    AlertDescription, ProtocolVersion, ServerConfig, SignatureAlgorithm, SignatureScheme,
};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidegate_hello::ClientHello;
use tidegate_hello::negotiate::{self, Incompatible};

/// What all cores need to speak TLS with customers.
#[derive(Debug)]
pub struct Tls {
    /// Signs; its ticketer seals tickets and opens none.
    pub full: Arc<ServerConfig>,
    /// Cannot sign; its ticketer seals and opens.
    pub returning: Arc<ServerConfig>,
    /// The keys of the tickets.
    pub keyring: Arc<Keyring>,
    /// The cryptography in use.
    pub provider: Arc<CryptoProvider>,
    terms: Offer,
}

/// What the gate offers, as code points.
#[derive(Debug)]
struct Offer {
    tls12: bool,
    suites: [Vec<u16>; 2],
    groups: [Vec<u16>; 2],
}

impl Offer {
    /// What the provider offers with this certificate key, for TLS 1.2 and 1.3.
    fn new(provider: &CryptoProvider, algorithm: SignatureAlgorithm, tls12: bool) -> Self {
        let versions = [ProtocolVersion::TLSv1_2, ProtocolVersion::TLSv1_3];
        let suites = versions.map(|version| {
            let suites = provider.cipher_suites.iter().filter(|suite| {
                suite.version().version == version
                    && suite.usable_for_signature_algorithm(algorithm)
            });
            suites.map(|suite| u16::from(suite.suite())).collect()
        });
        let groups = versions.map(|version| {
            let groups =
                provider.kx_groups.iter().filter(|group| group.usable_for_version(version));
            groups.map(|group| u16::from(group.name())).collect()
        });
        Self { tls12, suites, groups }
    }
}

impl Tls {
    /// Builds both configurations from a certificate and its key.
    ///
    /// # Errors
    /// The key cannot be used or is not the certificate's.
    pub fn new(config: &Config, identity: &Identity) -> Result<Self, rustls::Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let certified =
            CertifiedKey::from_der(identity.chain.clone(), identity.key.clone_key(), &provider)?;
        let algorithm = certified.key.algorithm();
        let mute = CertifiedKey::new(certified.cert.clone(), Arc::new(Mute(certified.key.clone())));
        let (lifetime, rotation) = (config.tls.ticket_lifetime, config.tls.ticket_rotation);
        let keyring = Keyring::new(lifetime, rotation, unix_now())
            .map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
        let keyring = Arc::new(keyring);
        let tls12 = config.tls.minimum_version == MinimumVersion::Tls12;
        let make = |key: CertifiedKey, opens: bool| {
            server_config(&provider, tls12, key, Ticketer { keyring: keyring.clone(), opens })
        };
        let (full, returning) = (make(certified, false)?, make(mute, true)?);
        let terms = Offer::new(&provider, algorithm, tls12);
        Ok(Self { full, returning, keyring, provider, terms })
    }

    /// What a handshake with this hello will end with.
    ///
    /// # Errors
    /// The alert with which every handshake with it fails.
    pub fn foresee(&self, hello: &ClientHello) -> Result<Terms, AlertDescription> {
        let Offer { tls12, suites, groups } = &self.terms;
        let rules = negotiate::Rules {
            tls12: *tls12,
            tls13: true,
            tls12_suites: &suites[0],
            tls13_suites: &suites[1],
            tls12_groups: &groups[0],
            tls13_groups: &groups[1],
            schemes: &[],
            require_ems: false,
            alpn: &[b"http/1.1"],
        };
        let choice = negotiate::choose(hello, &rules).map_err(alert)?;
        let extended_master_secret =
            choice.version == negotiate::TLS12 && hello.extended_master_secret();
        Ok(Terms { version: choice.version, suite: choice.suite, extended_master_secret })
    }
}

/// The alert that rustls answers such a hello with.
///
/// Source: RFC 8446, section 6.2; RFC 7301, section 3.2.
fn alert(why: Incompatible) -> AlertDescription {
    match why {
        Incompatible::Version => AlertDescription::ProtocolVersion,
        Incompatible::Protocol => AlertDescription::NoApplicationProtocol,
        Incompatible::PskModesMissing => AlertDescription::MissingExtension,
        Incompatible::Compression | Incompatible::KeyShareTwice | Incompatible::PointFormat => {
            AlertDescription::IllegalParameter
        }
        Incompatible::SignatureSchemesMissing
        | Incompatible::Group
        | Incompatible::Suite
        | Incompatible::KeyShareMissing
        | Incompatible::ExtendedMasterSecret
        | Incompatible::SignatureScheme => AlertDescription::HandshakeFailure,
    }
}

fn server_config(
    provider: &Arc<CryptoProvider>,
    tls12: bool,
    key: CertifiedKey,
    ticketer: Ticketer,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let versions = if tls12 { rustls::ALL_VERSIONS } else { &[&rustls::version::TLS13] };
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    // Session ids of TLS 1.2 would resume beside the tickets.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = Arc::new(ticketer);
    // Each costs about 5 µs, and one is enough for a client that comes back.
    config.send_tls13_tickets = 1;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Seconds since 1970; 0 for a clock set before that.
pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

/// The certificate's key with its voice taken: it chooses a scheme as the real
/// one does, so that the negotiation runs the same, and fails to sign.
#[derive(Debug)]
struct Mute(Arc<dyn SigningKey>);

impl SigningKey for Mute {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let scheme = self.0.choose_scheme(offered)?.scheme();
        Some(Box::new(MuteSigner(scheme)))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

#[derive(Debug)]
struct MuteSigner(SignatureScheme);

impl Signer for MuteSigner {
    fn sign(&self, _message: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        Err(rustls::Error::General("returning customers get no full handshake".into()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.0
    }
}

/// For whom the handshake that runs on this thread is. The TLS library tells
/// its ticketer nothing about the connection, so this is set around every
/// step of a handshake (see [`Bearer::during`]).
#[derive(Clone, Copy, Debug)]
pub struct Bearer {
    /// Whose connection it is.
    pub session: SessionId,
    /// When the session began, in seconds since 1970.
    pub began: u64,
    /// Connections of the session before the next one: what its ticket says.
    pub uses: u32,
    /// What the handshake will end with.
    pub terms: Terms,
    /// Hash of the server name asked for.
    pub server_name: u64,
}

thread_local! {
    static BEARER: Cell<Option<Bearer>> = const { Cell::new(None) };
}

impl Bearer {
    /// Runs a step of this customer's handshake.
    pub fn during<T>(&self, step: impl FnOnce() -> T) -> T {
        struct Clear;
        impl Drop for Clear {
            fn drop(&mut self) {
                BEARER.set(None);
            }
        }
        BEARER.set(Some(*self));
        let _clear = Clear;
        step()
    }
}

/// What the TLS library calls for tickets.
#[derive(Debug)]
struct Ticketer {
    keyring: Arc<Keyring>,
    opens: bool,
}

impl ProducesTickets for Ticketer {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(self.keyring.lifetime().as_secs()).unwrap_or(u32::MAX)
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let Bearer { session, began, uses, terms, server_name } = BEARER.get()?;
        let claims = Claims { session, began, issued: unix_now(), uses, terms, server_name };
        self.keyring.seal(&claims, plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        if !self.opens {
            return None;
        }
        // The clock may have moved on since the hello was judged: who was found
        // to be inside then stays so until the handshake is over.
        let judged = unix_now().saturating_sub(GRACE.as_secs());
        self.keyring.open(cipher, judged).ok().map(|opened| opened.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::client::WebPkiServerVerifier;
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};

    fn tls() -> (Tls, ClientConfig) {
        let text = "[upstream]\nurl = \"http://127.0.0.1:1\"\n";
        let config = Config::from_toml(text, "test.toml").unwrap();
        let identity = config.identity().unwrap();
        let tls = Tls::new(&config, &identity).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(identity.chain[0].clone()).unwrap();
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots.into(), tls.provider.clone());
        let client = ClientConfig::builder_with_provider(tls.provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_webpki_verifier(verifier.build().unwrap())
            .with_no_client_auth();
        (tls, client)
    }

    /// Runs a handshake in memory; the server's error if it failed.
    fn shake(server: &Arc<ServerConfig>, client: ClientConfig) -> Result<(), rustls::Error> {
        let name = "localhost".try_into().unwrap();
        let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
        let mut server = ServerConnection::new(server.clone()).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            server.read_tls(&mut &wire[..]).unwrap();
            server.process_new_packets()?;
            wire.clear();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            client.read_tls(&mut &wire[..]).unwrap();
            client.process_new_packets().unwrap();
        }
        Ok(())
    }

    #[test]
    fn who_comes_as_returning_without_a_ticket_gets_no_full_handshake() {
        for version in rustls::ALL_VERSIONS {
            let (tls, _) = tls();
            // Its trust does not matter: the server fails first.
            let client = ClientConfig::builder_with_provider(tls.provider.clone())
                .with_protocol_versions(&[version])
                .unwrap()
                .with_root_certificates(RootCertStore::empty())
                .with_no_client_auth();
            let error = shake(&tls.returning, client).unwrap_err();
            assert!(error.to_string().contains("no full handshake"), "{error}");
        }
    }

    #[test]
    fn outside_a_handshake_no_ticket_is_made() {
        let (tls, client) = tls();
        assert!(tls.full.ticketer.encrypt(b"state").is_none());
        shake(&tls.full, client).unwrap();
        let terms = Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false };
        let bearer = Bearer { session: [7; 16], began: 1, uses: 2, terms, server_name: 3 };
        let ticket = bearer.during(|| tls.full.ticketer.encrypt(b"state")).unwrap();
        let claims = tls.keyring.open(&ticket, unix_now()).unwrap().claims;
        assert_eq!((claims.session, claims.began, claims.uses), ([7; 16], 1, 2));
        assert!(tls.full.ticketer.encrypt(b"state").is_none());
        assert!(tls.full.ticketer.decrypt(&ticket).is_none(), "the signing side opens nothing");
        assert_eq!(tls.returning.ticketer.decrypt(&ticket).unwrap(), b"state");
    }
}
