//! What full handshakes of TLS 1.3 cost by kind: CPU time of either side in the TLS library
//! alone, and bytes on the wire. From them come the references of
//! [`FullHandshake::reference_cpu_s`]; `docs/post-quantum.md` has a run.
//!
//! `cargo bench -p tidegate-bench --bench handshakes` prints a table; `cargo test` makes each
//! handshake once.

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{ALL_KX_GROUPS, default_provider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use std::sync::Arc;
use std::time::Duration;
use tidegate_control::{CertificateKey, FullHandshake, KeyExchange};
use tidegate_gate::config::selfsigned;
use tidegate_host::cpu_clock;

/// Batches, of which the median counts.
const BATCHES: usize = 9;

fn main() {
    let measures = std::env::args().any(|argument| argument == "--bench");
    println!("| kind | server | client | bytes sent by the client | by the server |");
    println!("| --- | --- | --- | --- | --- |");
    for kind in kinds() {
        let pair = Pair::new(kind);
        let number = if measures { 60 } else { 1 };
        let mut batches: Vec<Cost> = (0..BATCHES).map(|_| pair.batch(number)).collect();
        batches.sort_by_key(|cost| cost.server);
        let Cost { server, client, sent, received } = batches[BATCHES / 2];
        let us = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(number);
        println!(
            "| `{}` | {:.0} µs | {:.0} µs | {sent} | {received} |",
            kind.name(),
            us(server),
            us(client)
        );
    }
}

/// Each key with X25519, each group with P-256, and what people deploy, with and without
/// certificates of clients.
fn kinds() -> Vec<FullHandshake> {
    let ecdsa = FullHandshake { key: CertificateKey::EcdsaP256, ..FullHandshake::RSA_2048 };
    let exchange = KeyExchange::X25519MlKem768;
    let mutual = FullHandshake { mutual: true, ..ecdsa };
    let quantum = FullHandshake { key: CertificateKey::MlDsa65, exchange, mutual: false };
    let keys = CertificateKey::ALL.into_iter().map(|key| FullHandshake { key, ..ecdsa });
    let groups = KeyExchange::ALL.into_iter().skip(1);
    let groups = groups.map(|exchange| FullHandshake { exchange, ..ecdsa });
    keys.chain(groups).chain([mutual, quantum]).collect()
}

/// A client and a server for one kind.
struct Pair {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

/// CPU time of a batch, and bytes of one handshake.
#[derive(Clone, Copy, Default)]
struct Cost {
    server: Duration,
    client: Duration,
    sent: usize,
    received: usize,
}

impl Pair {
    fn new(kind: FullHandshake) -> Self {
        let group =
            ALL_KX_GROUPS.iter().find(|group| u16::from(group.name()) == kind.exchange.code());
        let kx_groups = vec![*group.expect("rustls has all groups")];
        let provider = Arc::new(CryptoProvider { kx_groups, ..default_provider() });
        let (certificate, key) = identity(kind.key);
        let (of_client, key_of_client) = identity(CertificateKey::EcdsaP256);
        let trusting = |certificate: &CertificateDer<'static>| {
            let mut roots = RootCertStore::empty();
            roots.add(certificate.clone()).expect("a certificate");
            Arc::new(roots)
        };
        let versions = [&rustls::version::TLS13];
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .expect("TLS 1.3")
            .with_root_certificates(trusting(&certificate));
        let mut client = match kind.mutual {
            true => {
                client.with_client_auth_cert(vec![of_client.clone()], key_of_client).expect("a key")
            }
            false => client.with_no_client_auth(),
        };
        client.resumption = rustls::client::Resumption::disabled();
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .expect("TLS 1.3");
        let server = match kind.mutual {
            true => server.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(trusting(&of_client), provider)
                    .build()
                    .expect("an authority"),
            ),
            false => server.with_no_client_auth(),
        };
        let mut server = server.with_single_cert(vec![certificate], key).expect("an identity");
        server.send_tls13_tickets = 1;
        Self { client: Arc::new(client), server: Arc::new(server) }
    }

    fn batch(&self, number: u32) -> Cost {
        let mut cost = Cost::default();
        (0..number).for_each(|_| self.shake(&mut cost));
        cost
    }

    /// One handshake in memory.
    fn shake(&self, cost: &mut Cost) {
        (cost.sent, cost.received) = (0, 0);
        let name = || ServerName::try_from("localhost").expect("a name");
        let (mut client, mut server) = (None, None);
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        loop {
            cost.client += spent(|| {
                let client = client.get_or_insert_with(|| {
                    ClientConnection::new(self.client.clone(), name()).expect("a client")
                });
                read(&std::mem::take(&mut to_client), |bytes| {
                    client.read_tls(bytes).expect("memory");
                    client.process_new_packets().expect("a handshake");
                });
                while client.wants_write() {
                    client.write_tls(&mut to_server).expect("memory");
                }
            });
            cost.sent += to_server.len();
            if to_server.is_empty() {
                return;
            }
            cost.server += spent(|| {
                let server = server.get_or_insert_with(|| {
                    ServerConnection::new(self.server.clone()).expect("a server")
                });
                read(&std::mem::take(&mut to_server), |bytes| {
                    server.read_tls(bytes).expect("memory");
                    server.process_new_packets().expect("a handshake");
                });
                while server.wants_write() {
                    server.write_tls(&mut to_client).expect("memory");
                }
            });
            cost.received += to_client.len();
        }
    }
}

fn read(mut bytes: &[u8], mut step: impl FnMut(&mut &[u8])) {
    while !bytes.is_empty() {
        step(&mut bytes);
    }
}

fn spent(work: impl FnOnce()) -> Duration {
    let before = cpu_clock::of_this_thread();
    work();
    cpu_clock::of_this_thread().saturating_sub(before)
}

/// A self-signed certificate of a key of this kind, and the key.
fn identity(kind: CertificateKey) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
    let made = selfsigned::make(kind, &["localhost".to_owned()]).expect("a certificate");
    (made.chain[0].clone(), made.key.clone_key())
}
