//! The predicted resumption compared with that of rustls, with real sessions.

use std::sync::Arc;

use crate::support::real::{Identity, P256, identity, real, some, versions};
use crate::support::{Draft, hello, server_name};
use proptest::prelude::*;
use rustls::client::{
    ClientSessionMemoryCache, ResolvesClientCert, Resumption as ClientResumption,
    WebPkiServerVerifier,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::server::ProducesTickets;
use rustls::sign::CertifiedKey;
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConfig, ServerConnection,
    SignatureScheme,
};
use tidegate_hello::ClientHello;
use tidegate_hello::negotiate::{self, Resumption, Session, choose, server_name_hash};

/// A ticketer and what clients share to resume each other's sessions: rustls
/// keeps sessions of different verifiers and of different own identities apart.
struct Sessions {
    ticketer: Arc<dyn ProducesTickets>,
    store: ClientResumption,
    verifier: Arc<WebPkiServerVerifier>,
    no_identity: Arc<dyn ResolvesClientCert>,
    identity: &'static Identity,
}

impl Sessions {
    fn new(identity: &'static Identity) -> Self {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(identity.certificate.clone()).expect("a certificate");
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        Self {
            ticketer: aws_lc_rs::Ticketer::new().expect("random bytes"),
            store: ClientResumption::store(Arc::new(ClientSessionMemoryCache::new(32))),
            verifier: verifier.build().expect("roots"),
            no_identity: Arc::new(NoIdentity),
            identity,
        }
    }

    fn client(&self, suites: &[u16], tls12: bool, tls13: bool) -> ClientConnection {
        let mut provider: CryptoProvider = aws_lc_rs::default_provider();
        let all = std::mem::take(&mut provider.cipher_suites);
        let known = |code: &u16| all.iter().find(|suite| u16::from(suite.suite()) == *code);
        provider.cipher_suites = suites.iter().filter_map(known).copied().collect();
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&versions(tls12, tls13))
            .expect("versions")
            .with_webpki_verifier(self.verifier.clone())
            .with_client_cert_resolver(self.no_identity.clone());
        config.resumption = self.store.clone();
        let name = ServerName::try_from("a.example").expect("a name");
        ClientConnection::new(Arc::new(config), name).expect("a client")
    }

    fn server(&self) -> ServerConfig {
        let mut config = self.identity.server(&self.identity.rules);
        config.ticketer = self.ticketer.clone();
        config
    }

    /// A whole handshake; returns the suite.
    fn visit(&self, mut client: ClientConnection) -> u16 {
        let mut server = ServerConnection::new(Arc::new(self.server())).expect("a server");
        while client.is_handshaking() || server.is_handshaking() || server.wants_write() {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).expect("memory");
            }
            feed(&wire, |rest| {
                server.read_tls(rest).expect("memory");
                server.process_new_packets().expect("a handshake");
            });
            wire.clear();
            while server.wants_write() {
                server.write_tls(&mut wire).expect("memory");
            }
            feed(&wire, |rest| {
                client.read_tls(rest).expect("memory");
                client.process_new_packets().expect("a handshake");
            });
        }
        server.negotiated_cipher_suite().expect("done").suite().into()
    }

    /// The prediction for a hello whose tickets, if they open, are of this
    /// session.
    fn predicted(&self, hello: &ClientHello, session: &Session) -> Resumption {
        let choice = choose(hello, &self.identity.rules).expect("compatible");
        match negotiate::tickets(hello, &choice)
            .any(|ticket| self.ticketer.decrypt(ticket).is_some())
        {
            true => negotiate::resume(hello, &choice, session),
            false => Resumption::Full(negotiate::Obstacle::Suite),
        }
    }

    /// The handshake of the rustls server.
    fn real(&self, bytes: &[u8]) -> Option<HandshakeKind> {
        let (answer, server) = real(self.server(), bytes);
        answer.and_then(|_| server.handshake_kind())
    }
}

#[derive(Debug)]
struct NoIdentity;

impl ResolvesClientCert for NoIdentity {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

fn feed(wire: &[u8], mut take: impl FnMut(&mut &[u8])) {
    let mut rest = wire;
    while !rest.is_empty() {
        take(&mut rest);
    }
}

fn first_flight(mut client: ClientConnection) -> Vec<u8> {
    let mut wire = Vec::new();
    client.write_tls(&mut wire).expect("memory");
    wire
}

fn same(predicted: Resumption, real: Option<HandshakeKind>) -> bool {
    match predicted {
        Resumption::Resumed => real == Some(HandshakeKind::Resumed),
        Resumption::Full(_) => real == Some(HandshakeKind::Full),
        Resumption::Alert => real.is_none(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn rustls_resumes_as_predicted(
        first in suites(),
        second in suites(),
        before in prop::sample::select(vec![(true, true), (true, false), (false, true)]),
        after in prop::sample::select(vec![(true, true), (true, false), (false, true)]),
    ) {
        let sessions = Sessions::new(&P256);
        let suite = sessions.visit(sessions.client(&first, before.0, before.1));
        let bytes = first_flight(sessions.client(&second, after.0, after.1));
        let session = Session {
            suite,
            server_name: server_name_hash(Some("a.example")),
            extended_master_secret: suite & 0xff00 != 0x1300,
        };
        let predicted = sessions.predicted(&hello(&bytes), &session);
        let real = sessions.real(&bytes);
        prop_assert!(same(predicted, real), "{:?} but {:?}", predicted, real);
    }
}

/// Suites of both versions in any order.
fn suites() -> impl Strategy<Value = Vec<u16>> {
    let tls13 = some(&[0x1301, 0x1302, 0x1303]);
    let tls12 = some(&[0xc02b, 0xc02c, 0xcca9]);
    (tls13, tls12).prop_map(|(tls13, tls12)| [tls13, tls12].concat())
}

#[test]
fn real_sessions_of_both_versions_resume_as_predicted() {
    for (tls12, tls13, suite) in [(true, false, 0xc02b), (false, true, 0x1301)] {
        for key in 0..3 {
            let sessions = Sessions::new(identity(key));
            let suites = [0x1301, 0x1302, 0xc02b, 0xc02c, 0xc02f];
            let chosen = sessions.visit(sessions.client(&suites, tls12, tls13));
            assert!(chosen == suite || (chosen, key) == (0xc02f, 1));
            let session = Session {
                suite: chosen,
                server_name: server_name_hash(Some("a.example")),
                extended_master_secret: tls12,
            };
            let bytes = first_flight(sessions.client(&suites, tls12, tls13));
            assert_eq!(sessions.predicted(&hello(&bytes), &session), Resumption::Resumed);
            assert_eq!(sessions.real(&bytes), Some(HandshakeKind::Resumed));
        }
    }
}

#[test]
fn a_tls12_ticket_in_a_changed_hello_resumes_as_predicted() {
    let sessions = Sessions::new(&P256);
    let suites = [0xc02b, 0xc02c];
    let suite = sessions.visit(sessions.client(&suites, true, false));
    let session = Session {
        suite,
        server_name: server_name_hash(Some("a.example")),
        extended_master_secret: true,
    };
    let original = Draft::of(&first_flight(sessions.client(&suites, true, false)));
    let reversed = Draft { suites: vec![0xc02c, 0xc02b], ..original.clone() };
    let without_id = Draft { session_id: vec![], ..original.clone() };
    let full = |obstacle| Resumption::Full(obstacle);
    let cases = [
        (original.clone(), Resumption::Resumed),
        (without_id, Resumption::Resumed),
        (original.clone().without(0).with(0, server_name("A.EXAMPLE")), Resumption::Resumed),
        (
            original.clone().without(0).with(0, server_name("b.example")),
            full(negotiate::Obstacle::ServerName),
        ),
        (original.clone().without(0), full(negotiate::Obstacle::ServerName)),
        (
            original.clone().without(0).with(0, server_name("127.0.0.1")),
            full(negotiate::Obstacle::ServerName),
        ),
        (reversed, full(negotiate::Obstacle::Suite)),
        (original.without(23), Resumption::Alert),
    ];
    for (draft, expected) in cases {
        let bytes = draft.record();
        assert_eq!(sessions.predicted(&hello(&bytes), &session), expected, "{draft:02x?}");
        let real = sessions.real(&bytes);
        assert!(same(expected, real), "{expected:?} but {real:?}");
    }
}
