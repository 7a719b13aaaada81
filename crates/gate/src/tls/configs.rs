//! The two TLS configurations: one that signs, for new sessions, and one that cannot,
//! for connections with a good ticket. So no returning connection ever costs a full
//! handshake, whatever it sends after its first hello.

use crate::admission::names::Names;
use crate::admission::negotiation::Offer;
use crate::admission::ticketer::Ticketer;
use crate::admission::tickets::Keyring;
use crate::config::{Config, Identity, MinimumVersion};
use crate::telemetry::clock::unix_now;
use crate::tls::{clients, transcript};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, sign::any_supported_type};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{ServerConfig, SignatureAlgorithm, SignatureScheme};
use std::sync::Arc;

/// TLS towards customers, for all cores.
#[derive(Debug)]
pub struct ServerConfigs {
    /// Signs; its ticketer seals tickets and opens none.
    pub full: Arc<ServerConfig>,
    /// Cannot sign; its ticketer seals and opens.
    pub returning: Arc<ServerConfig>,
    /// The keys of the tickets.
    pub keyring: Arc<Keyring>,
    /// What the gate offers in a handshake.
    pub offer: Arc<Offer>,
    /// The cryptography in use.
    pub provider: Arc<CryptoProvider>,
}

impl ServerConfigs {
    /// Builds both configurations from a certificate and its key, with new ticket keys.
    ///
    /// # Errors
    /// The key cannot be used.
    pub fn new(config: &Config, identity: &Identity) -> Result<Self, rustls::Error> {
        let (lifetime, rotation) = (config.tls.ticket_lifetime, config.tls.ticket_rotation);
        let keyring = Keyring::new(lifetime, rotation, unix_now())
            .map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
        Self::with_keyring(config, &[identity], Arc::new(keyring))
    }

    /// Builds both configurations from certificates, the default one first, with ticket keys
    /// that may be in use already.
    ///
    /// # Errors
    /// A key or the clients' authorities cannot be used.
    pub fn with_keyring(
        config: &Config,
        identities: &[&Identity],
        keyring: Arc<Keyring>,
    ) -> Result<Self, rustls::Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let names = Arc::new(Names::new(identities.iter().map(|one| one.names.as_slice())));
        let (mut signing, mut non_signing) = (Vec::new(), Vec::new());
        for identity in identities {
            let key = any_supported_type(&identity.key)?;
            let chain = identity.chain.clone();
            let other = CertifiedKey::new(chain.clone(), Arc::new(NonSigningKey(key.clone())));
            signing.push(Arc::new(CertifiedKey::new(chain, key)));
            non_signing.push(Arc::new(other));
        }
        let tls12 = config.tls.minimum_version == MinimumVersion::Tls12;
        let client_auth = clients::rules_hash(config);
        let verifier = clients::verifier(config, &provider)?;
        let serving = Arc::new(transcript::with_names_as_sent(&provider));
        let keys: Vec<_> = signing.iter().map(|one: &Arc<CertifiedKey>| &*one.key).collect();
        let offer = Offer::of(&provider, &keys, names.clone(), client_auth, tls12);
        let make = |keys, opens| {
            let keys = NamedKeys { names: names.clone(), keys };
            let ticketer = Ticketer { keyring: keyring.clone(), opens, client_auth };
            server_config(&serving, tls12, verifier.clone(), keys, ticketer)
        };
        let (full, returning) = (make(signing, false)?, make(non_signing, true)?);
        Ok(Self { full, returning, keyring, offer: Arc::new(offer), provider })
    }
}

fn server_config(
    provider: &Arc<CryptoProvider>,
    tls12: bool,
    verifier: Arc<dyn ClientCertVerifier>,
    keys: NamedKeys,
    ticketer: Ticketer,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let versions = if tls12 { rustls::ALL_VERSIONS } else { &[&rustls::version::TLS13] };
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(keys));
    // Session ids of TLS 1.2 would resume beside the tickets.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = Arc::new(ticketer);
    // Each costs about 5 µs, and one is enough for a client that returns.
    config.send_tls13_tickets = 1;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Certificates that are chosen by name, as [`Offer::choose`] does it.
#[derive(Debug)]
struct NamedKeys {
    names: Arc<Names>,
    /// At least one.
    keys: Vec<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for NamedKeys {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.keys.get(self.names.choose(hello.server_name())).cloned()
    }
}

/// The certificate's key without the ability to sign: it chooses a scheme as the real
/// one does, so that the negotiation is the same, and fails to sign.
#[derive(Debug)]
struct NonSigningKey(Arc<dyn SigningKey>);

impl SigningKey for NonSigningKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let scheme = self.0.choose_scheme(offered)?.scheme();
        Some(Box::new(FailingSigner(scheme)))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

#[derive(Debug)]
struct FailingSigner(SignatureScheme);

impl Signer for FailingSigner {
    fn sign(&self, _message: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        Err(rustls::Error::General("returning customers get no full handshake".into()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::handshake_context::HandshakeContext;
    use crate::admission::tickets::Terms;
    use rustls::client::WebPkiServerVerifier;
    use rustls::server::ProducesTickets;
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};

    fn tls() -> (ServerConfigs, ClientConfig) {
        let text = "[upstream]\nurl = \"http://127.0.0.1:1\"\n";
        let config = Config::from_toml(text, "test.toml").unwrap();
        let identity = config.identity().unwrap();
        let tls = ServerConfigs::new(&config, &identity).unwrap();
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

    /// Performs a handshake in memory; the server's error if it failed.
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
    fn the_returning_configuration_performs_no_full_handshake() {
        for version in rustls::ALL_VERSIONS {
            let (tls, _) = tls();
            // The client's roots do not matter: the server fails first.
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
    fn a_ticket_of_other_rules_for_client_certificates_does_not_open() {
        let (tls, _) = tls();
        let terms = Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false };
        let (session, began) = ([7; 16], unix_now());
        let handshake = HandshakeContext {
            session,
            began,
            uses: 2,
            terms,
            server_name: 3,
            unusable_name: None,
        };
        let of = |client_auth| Ticketer { keyring: tls.keyring.clone(), opens: true, client_auth };
        let ticket = handshake.scope(|| of(1).encrypt(b"state")).unwrap();
        assert!(of(1).decrypt(&ticket).is_some());
        assert!(of(0).decrypt(&ticket).is_none() && of(2).decrypt(&ticket).is_none());
        assert!(handshake.scope(|| of(1).encrypt(&[0; 9 << 10])).is_none(), "too large to return");
    }

    #[test]
    fn outside_a_handshake_no_ticket_is_sealed() {
        let (tls, client) = tls();
        assert!(tls.full.ticketer.encrypt(b"state").is_none());
        shake(&tls.full, client).unwrap();
        let terms = Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false };
        let handshake = HandshakeContext {
            session: [7; 16],
            began: 1,
            uses: 2,
            terms,
            server_name: 3,
            unusable_name: None,
        };
        let ticket = handshake.scope(|| tls.full.ticketer.encrypt(b"state")).unwrap();
        let claims = tls.keyring.open(&ticket, unix_now()).unwrap().claims;
        assert_eq!((claims.session, claims.began, claims.uses), ([7; 16], 1, 2));
        assert!(tls.full.ticketer.encrypt(b"state").is_none());
        assert!(tls.full.ticketer.decrypt(&ticket).is_none(), "the signing side opens nothing");
        assert_eq!(tls.returning.ticketer.decrypt(&ticket).unwrap(), b"state");
    }
}
