//! Key exchanges and certificates of several kinds: which of them a customer gets, and what
//! each is charged.

use crate::common::*;
use rustls::HandshakeKind::{Full, FullWithHelloRetryRequest, Resumed};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{ALL_KX_GROUPS, default_provider};
use rustls::{NamedGroup, SignatureScheme, SupportedProtocolVersion};
use std::sync::Arc;
use tidegate_gate::Gate;
use tidegate_gate::config::Config;
use tidegate_gate::telemetry::labels::Class;

const TLS13: &SupportedProtocolVersion = &rustls::version::TLS13;
const TLS12: &SupportedProtocolVersion = &rustls::version::TLS12;

/// A customer that offers these groups, the preferred one first. It sends a key share for the
/// first, and where that is a hybrid one for its classical part.
fn offering(
    groups: &[NamedGroup],
    version: &'static SupportedProtocolVersion,
) -> Arc<rustls::ClientConfig> {
    let group = |name: &NamedGroup| ALL_KX_GROUPS.iter().find(|group| group.name() == *name);
    let kx_groups = groups.iter().map(|name| *group(name).unwrap()).collect();
    Arc::new(client_by(CryptoProvider { kx_groups, ..default_provider() }, &[version]))
}

/// A customer that accepts signatures of these schemes only.
fn accepting(
    schemes: &[SignatureScheme],
    version: &'static SupportedProtocolVersion,
) -> Arc<rustls::ClientConfig> {
    let mut provider = default_provider();
    let known = provider.signature_verification_algorithms.mapping.iter();
    let accepted = known.filter(|(scheme, _)| schemes.contains(scheme)).copied();
    provider.signature_verification_algorithms.mapping = accepted.collect::<Vec<_>>().leak();
    Arc::new(client_by(provider, &[version]))
}

/// The group of the handshake of one visit, if keys were exchanged, and its kind.
fn exchange(
    gate: &Gate,
    customer: &Arc<rustls::ClientConfig>,
) -> (Option<NamedGroup>, rustls::HandshakeKind) {
    let mut connection = connect(gate, customer);
    assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
    let session = &connection.get_ref().conn;
    (session.negotiated_key_exchange_group().map(|group| group.name()), kind(&connection))
}

/// The names of the kinds that were admitted, with their numbers.
fn kinds(gate: &Gate) -> Vec<(&'static str, u64)> {
    let snapshot = gate.snapshot();
    snapshot.handshake_kinds.iter().map(|(kind, counts)| (*kind, counts.admitted)).collect()
}

#[test]
fn of_the_groups_with_a_key_share_the_gates_preferred_one_is_agreed_on() {
    use NamedGroup::{MLKEM768, X25519, X25519MLKEM768, secp256r1, secp256r1MLKEM768};
    let by_default = gate(hello(), "");
    let classical = gate(hello(), "[tls]\ngroups = [\"X25519\", \"X25519MLKEM768\"]\n");
    let quantum =
        gate(hello(), "[tls]\ngroups = [\"SecP256r1MLKEM768\", \"MLKEM768\", \"x25519\"]\n");
    for (gate, groups, agreed, full) in [
        (&by_default, &[X25519MLKEM768, X25519][..], X25519MLKEM768, Full),
        (&classical, &[X25519MLKEM768, X25519], X25519, Full),
        // A share for a group of less preference costs no round trip.
        (&by_default, &[X25519, X25519MLKEM768], X25519, Full),
        (&by_default, &[secp256r1, X25519], secp256r1, Full),
        (&quantum, &[secp256r1MLKEM768, X25519], secp256r1MLKEM768, Full),
        (&quantum, &[MLKEM768], MLKEM768, Full),
        // Without one the gate asks for the group that it prefers.
        (&quantum, &[secp256r1, MLKEM768, X25519], MLKEM768, FullWithHelloRetryRequest),
    ] {
        let customer = offering(groups, TLS13);
        assert_eq!(exchange(gate, &customer), (Some(agreed), full), "{groups:?}");
        let (again, resumed) = exchange(gate, &customer);
        assert_eq!((again, resumed), (Some(agreed), Resumed), "{groups:?}");
    }
    let customer = offering(&[secp256r1, X25519], TLS12);
    assert_eq!(exchange(&by_default, &customer), (Some(X25519), Full));
    assert_eq!(kinds(&quantum), [("ecdsa-p256/SecP256r1MLKEM768", 1), ("ecdsa-p256/MLKEM768", 2)]);
}

#[test]
fn a_group_that_the_gate_does_not_offer_is_refused_before_admission() {
    let gate = gate(hello(), "[tls]\ngroups = [\"X25519MLKEM768\"]\n");
    for (groups, version) in [(&[NamedGroup::X25519][..], TLS13), (&[NamedGroup::X25519], TLS12)] {
        let mut connection = connect(&gate, &offering(groups, version));
        let error = get(&mut connection, "/").unwrap_err();
        assert!(error.to_string().contains("HandshakeFailure"), "{error}");
    }
    assert_eq!(gate.totals().admitted[Class::New], 0);
}

#[test]
fn of_the_certificates_for_a_name_a_customer_gets_the_first_that_its_hello_accepts() {
    use SignatureScheme as S;
    let gate =
        gate(hello(), "[tls]\nself_signed = [\"ml-dsa-65\", \"ecdsa-p256\", \"rsa-2048\"]\n");
    let rsa = [S::RSA_PSS_SHA256, S::RSA_PKCS1_SHA256];
    let classical = [&rsa[..], &[S::ECDSA_NISTP256_SHA256]].concat();
    let all = [&classical[..], &[S::ML_DSA_65]].concat();
    for (schemes, version, signed) in [
        (&all, TLS13, "ml-dsa-65"),
        // TLS 1.2 has no ML-DSA.
        (&all, TLS12, "ecdsa-p256"),
        (&classical, TLS13, "ecdsa-p256"),
        (&rsa.to_vec(), TLS13, "rsa-2048"),
        (&rsa.to_vec(), TLS12, "rsa-2048"),
    ] {
        let before = kinds(&gate);
        let customer = accepting(schemes, version);
        assert_eq!(exchange(&gate, &customer).1, Full, "{signed}");
        let new: Vec<_> = kinds(&gate).into_iter().filter(|kind| !before.contains(kind)).collect();
        assert!(new.len() == 1 && new[0].0 == format!("{signed}/x25519"), "{new:?}");
        // The terms of its ticket are those of this certificate's key.
        assert_eq!(exchange(&gate, &customer).1, Resumed, "{signed}");
    }
    let mut connection = connect(&gate, &accepting(&[S::ED25519], TLS13));
    assert!(get(&mut connection, "/").is_err(), "none can sign");
    assert_eq!(gate.totals().admitted[Class::New], 5);
}

#[test]
fn kinds_that_come_at_once_are_counted_and_charged_apart() {
    let text = "[admission]\npolicy = \"tide\"\nhold_time = \"30s\"\n\
                [tls]\nself_signed = [\"rsa-2048\", \"ml-dsa-87\"]\n";
    let gate = gate(hello(), text);
    let customers = [SignatureScheme::RSA_PSS_SHA256, SignatureScheme::ML_DSA_87]
        .map(|scheme| accepting(&[scheme], TLS13));
    assert_eq!(exchange(&gate, &customers[0]).1, Full);
    // Nothing was known when it came: it was charged what is assumed of RSA-2048.
    let first = gate.snapshot().handshake_kinds;
    assert_eq!(first[0].0, "rsa-2048/x25519");
    assert!((first[0].1.charged_cpu_s - 500e-6).abs() < 1e-9, "{first:?}");
    std::thread::scope(|scope| {
        for customer in &customers {
            let each = || {
                for _ in 0..15 {
                    // Each is new: it keeps no ticket.
                    let mut customer = rustls::ClientConfig::clone(customer);
                    customer.resumption = rustls::client::Resumption::disabled();
                    let customer = Arc::new(customer);
                    assert_eq!(exchange(&gate, &customer).1, Full);
                }
            };
            scope.spawn(each);
        }
    });
    assert_eq!(kinds(&gate), [("rsa-2048/x25519", 16), ("ml-dsa-87/x25519", 15)]);
    counted(&gate, "handshakes", |totals| totals.handshakes_by_class[Class::New] == 31);
    until("both have a price", || gate.snapshot().control.unwrap().kinds.len() == 2);
    let snapshot = gate.snapshot();
    for (kind, counts) in &snapshot.handshake_kinds {
        assert_eq!(counts.admitted, counts.handshakes, "{kind}");
        assert!(counts.charged_cpu_s > 0.0 && counts.cpu_s > 0.0, "{kind}: {counts:?}");
    }
    let metrics = snapshot.prometheus();
    for line in [
        "tidegate_handshake_kind_admitted_total{kind=\"rsa-2048/x25519\"} 16\n",
        "tidegate_handshake_kind_handshakes_total{kind=\"ml-dsa-87/x25519\"} 15\n",
        "tidegate_handshake_kind_charged_seconds_total{kind=\"ml-dsa-87/x25519\"} 0.",
        "tidegate_handshake_kind_cpu_seconds_total{kind=\"rsa-2048/x25519\"} 0.",
        "tidegate_cost_seconds{class=\"new\",kind=\"ml-dsa-87/x25519\",resource=\"gate\"} 0.",
        "tidegate_cost_seconds{class=\"new\",kind=\"rsa-2048/x25519\",resource=\"gate\"} 0.",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    // What was charged is no longer in flight once all handshakes are over.
    assert_eq!(gate.totals().starting_ns, 0);
}

#[test]
fn a_gate_that_asks_for_certificates_charges_for_that() {
    let folder = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ML_DSA_44).unwrap();
    let ca = rcgen::CertificateParams::new(vec!["ca.test".to_owned()]).unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, ca.self_signed(&key).unwrap().pem()).unwrap();
    let text = format!("[tls]\nclient_auth = \"request\"\nclient_ca = \"{}\"\n", ca_file.display());
    let gate = gate(hello(), &text);
    assert_eq!(exchange(&gate, &any_client()).1, Full);
    assert_eq!(kinds(&gate), [("ecdsa-p256/x25519/mutual", 1)]);
}

#[test]
fn a_client_certificate_of_ml_dsa_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let issue = |name: &str| {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ML_DSA_65).unwrap();
        let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.self_signed(&key).unwrap(), key)
    };
    let ((ours, key), (strange, strange_key)) = (issue("ours.test"), issue("strange.test"));
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, ours.pem()).unwrap();
    let text = format!("[tls]\nclient_auth = \"require\"\nclient_ca = \"{}\"\n", file.display());
    let gate = gate(hello(), &text);
    let customer = |certificate: &rcgen::Certificate, key: &rcgen::KeyPair| {
        let der = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
        let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&der.into()).unwrap();
        let certified = rustls::sign::CertifiedKey::new(vec![certificate.der().clone()], key);
        let mut config = client(&[TLS13]);
        config.client_auth_cert_resolver =
            Arc::new(rustls::sign::SingleCertAndKey::from(Arc::new(certified)));
        Arc::new(config)
    };
    assert_eq!(exchange(&gate, &customer(&ours, &key)).1, Full);
    let mut stranger = connect(&gate, &customer(&strange, &strange_key));
    assert!(get(&mut stranger, "/").is_err());
    assert_eq!(kinds(&gate), [("ecdsa-p256/x25519/mutual", 2)]);
}

#[test]
fn a_mistake_in_a_preference_says_what_there_is() {
    let mistakes = |line: &str| {
        let text = format!("[upstream]\nurl = \"http://127.0.0.1:9\"\n[tls]\n{line}\n");
        Config::from_toml(&text, "g.toml").unwrap_err().to_string()
    };
    for (line, expected) in [
        ("groups = [\"x448\"]", "g.toml:4: tls.groups = [\"x448\"]: must be some of x25519, "),
        ("groups = [\"x448\"]", "; \"x448\" is none of them"),
        ("groups = []", "; write [\"x25519\"]"),
        ("groups = [\"MLKEM768\", \"mlkem768\"]", "; leave out one \"mlkem768\""),
        ("self_signed = \"dsa\"", "must be some of rsa-2048, rsa-3072, rsa-4096, ecdsa-p256, "),
    ] {
        assert!(mistakes(line).contains(expected), "{line}: {}", mistakes(line));
    }
}
