//! The TLS configurations of each group: one that signs, for new sessions, and one that
//! cannot, for connections with a good ticket. So no returning connection ever costs a full
//! handshake, whatever it sends after its first hello.

use crate::admission::handshake_context::HandshakeContext;
use crate::admission::names::Names;
use crate::admission::negotiation::Offer;
use crate::admission::ticketer::Ticketer;
use crate::admission::tickets::Keyring;
use crate::config::{Config, Identity, MinimumVersion};
use crate::tls::{clients, transcript};
use rustls::crypto::aws_lc_rs::{self, sign::any_supported_type};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{NamedGroup, ProtocolVersion, ServerConfig, SignatureAlgorithm, SignatureScheme};
use std::sync::Arc;
use tidegate_control::KeyExchange;

/// TLS towards customers, for all cores.
#[derive(Debug)]
pub struct ServerConfigs {
    /// By group, as rustls takes the client's preferred one of several.
    groups: Vec<GroupConfigs>,
    /// The keys of the tickets.
    pub keyring: Arc<Keyring>,
    /// What the gate offers in a handshake.
    pub offer: Arc<Offer>,
    /// The cryptography in use.
    pub provider: Arc<CryptoProvider>,
}

/// The configurations with one group of key exchanges.
#[derive(Debug)]
struct GroupConfigs {
    group: NamedGroup,
    /// Signs; its ticketer seals tickets and opens none.
    full: Arc<ServerConfig>,
    /// Cannot sign; its ticketer seals and opens.
    returning: Arc<ServerConfig>,
}

impl ServerConfigs {
    /// Builds the configurations from certificates, the default one first, with ticket keys
    /// that may be in use already.
    ///
    /// # Errors
    /// A key or the clients' authorities cannot be used.
    pub fn new(
        config: &Config,
        identities: &[&Identity],
        keyring: Arc<Keyring>,
    ) -> Result<Self, rustls::Error> {
        let provider = Arc::new(CryptoProvider {
            kx_groups: config.tls.groups.iter().filter_map(|group| offered(*group)).collect(),
            ..aws_lc_rs::default_provider()
        });
        let names = Arc::new(Names::new(identities.iter().map(|one| one.names.as_slice())));
        let (mut signing, mut non_signing) = (Vec::new(), Vec::new());
        for identity in identities {
            let key = any_supported_type(&identity.key)?;
            let chain = identity.chain.clone();
            let other = CertifiedKey::new(chain.clone(), Arc::new(NonSigningKey(key.clone())));
            signing.push(Arc::new(CertifiedKey::new(chain, key)));
            non_signing.push(Arc::new(other));
        }
        let protocols = protocols(config.listen.http2);
        let tls12 = config.tls.minimum_version == MinimumVersion::Tls12;
        let client_auth = clients::rules_hash(config);
        let verifier = clients::verifier(config, &provider)?;
        let serving = transcript::with_names_as_sent(&provider);
        let keys: Vec<_> = signing.iter().map(|one: &Arc<CertifiedKey>| &*one.key).collect();
        let offer = Offer::new(&provider, &keys, names.clone(), client_auth, tls12)
            .with_protocols(protocols);
        let signing = Arc::new(AgreedKey { names: names.clone(), keys: signing });
        let non_signing = Arc::new(AgreedKey { names, keys: non_signing });
        let make = |provider: &Arc<CryptoProvider>, keys: &Arc<AgreedKey>, opens| {
            let ticketer = Ticketer { keyring: keyring.clone(), opens, client_auth };
            server_config(provider, tls12, verifier.clone(), keys.clone(), ticketer, protocols)
        };
        let of_group = |group: &&'static dyn SupportedKxGroup| {
            let provider = Arc::new(CryptoProvider { kx_groups: vec![*group], ..serving.clone() });
            Ok(GroupConfigs {
                group: group.name(),
                full: make(&provider, &signing, false)?,
                returning: make(&provider, &non_signing, true)?,
            })
        };
        let groups =
            provider.kx_groups.iter().map(of_group).collect::<Result<_, rustls::Error>>()?;
        Ok(Self { groups, keyring, offer: Arc::new(offer), provider })
    }

    /// The configuration of a handshake in this group: one that signs, or for `returning`
    /// connections one that cannot. `None`: the gate does not offer the group.
    pub fn of(&self, group: u16, returning: bool) -> Option<&Arc<ServerConfig>> {
        let configs = self.groups.iter().find(|configs| u16::from(configs.group) == group)?;
        Some(if returning { &configs.returning } else { &configs.full })
    }
}

/// The TLS library's implementation of a group.
fn offered(group: KeyExchange) -> Option<&'static dyn SupportedKxGroup> {
    let known = aws_lc_rs::ALL_KX_GROUPS.iter();
    known.copied().find(|known| u16::from(known.name()) == group.code())
}

/// The protocols above TLS (ALPN), the preferred one first. `http/1.0` is what `curl --http1.0`
/// offers, alone.
fn protocols(http2: bool) -> &'static [&'static [u8]] {
    if http2 { &[b"h2", b"http/1.1", b"http/1.0"] } else { &[b"http/1.1", b"http/1.0"] }
}

fn server_config(
    provider: &Arc<CryptoProvider>,
    tls12: bool,
    verifier: Arc<dyn ClientCertVerifier>,
    keys: Arc<AgreedKey>,
    ticketer: Ticketer,
    protocols: &[&[u8]],
) -> Result<Arc<ServerConfig>, rustls::Error> {
    // A group that TLS 1.2 does not have is chosen for a hello of TLS 1.3 only.
    let tls12 = tls12
        && provider
            .kx_groups
            .iter()
            .any(|group| group.usable_for_version(ProtocolVersion::TLSv1_2));
    let versions = if tls12 { rustls::ALL_VERSIONS } else { &[&rustls::version::TLS13] };
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(keys);
    // Session ids of TLS 1.2 would resume beside the tickets.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = Arc::new(ticketer);
    // Each costs about 5 µs, and one is enough for a client that returns.
    config.send_tls13_tickets = 1;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// Certificates, of which a handshake gets the one that was [agreed](Offer::choose) on.
#[derive(Debug)]
struct AgreedKey {
    names: Arc<Names>,
    /// At least one.
    keys: Vec<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for AgreedKey {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let agreed = HandshakeContext::of_this_thread().map(|handshake| handshake.agreed);
        let place = agreed.map(|agreed| agreed.certificate);
        let place = place.or_else(|| self.names.choose(hello.server_name()).first().copied())?;
        self.keys.get(place).cloned()
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
    use crate::admission::negotiation::Agreement;
    use crate::admission::tickets::{Holder, Terms};
    use crate::telemetry::clock::unix_now;
    use rustls::client::WebPkiServerVerifier;
    use rustls::server::ProducesTickets;
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};
    use std::time::Duration;
    use tidegate_hello::negotiate::Choice;

    const X25519: u16 = 29;
    const AGREED: Agreement = Agreement {
        choice: Choice { version: 0x0304, suite: 0x1301, group: X25519, retry: false },
        certificate: 0,
    };

    impl ServerConfigs {
        fn full(&self) -> &Arc<ServerConfig> {
            self.of(X25519, false).unwrap()
        }

        fn returning(&self) -> &Arc<ServerConfig> {
            self.of(X25519, true).unwrap()
        }
    }

    fn tls() -> (ServerConfigs, ClientConfig) {
        let text = "[upstream]\nurl = \"http://127.0.0.1:1\"\n";
        let config = Config::from_toml(text, "test.toml").unwrap();
        let identity = &config.identities().unwrap()[0];
        let hour = Duration::from_secs(3600);
        let keyring = Arc::new(Keyring::new(hour, hour, unix_now()).unwrap());
        let tls = ServerConfigs::new(&config, &[identity], keyring).unwrap();
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
            let error = shake(tls.returning(), client).unwrap_err();
            assert!(error.to_string().contains("no full handshake"), "{error}");
        }
    }

    #[test]
    fn a_ticket_of_other_rules_for_client_certificates_does_not_open() {
        let (tls, _) = tls();
        let terms = Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false };
        let (session, began) = ([7; 16], unix_now());
        let handshake = HandshakeContext {
            holder: Holder::Session,
            session,
            began,
            uses: 2,
            agreed: AGREED,
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
        assert!(tls.full().ticketer.encrypt(b"state").is_none());
        shake(tls.full(), client).unwrap();
        let terms = Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false };
        let handshake = HandshakeContext {
            holder: Holder::Session,
            session: [7; 16],
            began: 1,
            uses: 2,
            agreed: AGREED,
            terms,
            server_name: 3,
            unusable_name: None,
        };
        let ticket = handshake.scope(|| tls.full().ticketer.encrypt(b"state")).unwrap();
        let claims = tls.keyring.open(&ticket, unix_now()).unwrap().claims;
        assert_eq!((claims.session, claims.began, claims.uses), ([7; 16], 1, 2));
        assert!(tls.full().ticketer.encrypt(b"state").is_none());
        assert!(tls.full().ticketer.decrypt(&ticket).is_none(), "the signing side opens nothing");
        assert_eq!(tls.returning().ticketer.decrypt(&ticket).unwrap(), b"state");
    }
}
