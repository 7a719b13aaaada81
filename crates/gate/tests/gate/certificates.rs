//! Several certificates, chosen by name, and renewed while the gate runs.

use crate::common::*;
use rustls::HandshakeKind::{Full, Resumed};
use std::path::Path;
use std::sync::Arc;
use tidegate_gate::Gate;
use tidegate_gate::config::Config;
use tidegate_gate::telemetry::labels::{Class, TicketResult};

/// Writes a certificate for these names and its key, ECDSA or RSA. Returns it as DER.
fn issue(folder: &Path, file: &str, names: &[&str], rsa: bool) -> Vec<u8> {
    let key = match rsa {
        true => rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048),
        false => rcgen::KeyPair::generate(),
    };
    let (key, names) = (key.unwrap(), names.iter().map(ToString::to_string).collect::<Vec<_>>());
    let made = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    std::fs::write(folder.join(format!("{file}.key")), key.serialize_pem()).unwrap();
    std::fs::write(folder.join(format!("{file}.pem")), made.pem()).unwrap();
    made.der().to_vec()
}

/// A gate with the first certificate as the default and the others in tables.
fn gate_of_certificates(folder: &Path, more: &str, files: &[&str]) -> Gate {
    let at = |file: &str| {
        let path = folder.join(file);
        format!("certificate = \"{0}.pem\"\nkey = \"{0}.key\"\n", path.display())
    };
    let (first, others) = files.split_first().unwrap();
    let mut text = format!("[tls]\n{more}{}", at(first));
    for other in others {
        text += &format!("[[tls.certificates]]\n{}", at(other));
    }
    gate(hello(), &text)
}

/// The certificate that a customer gets who asks for a name, and the kind of the handshake.
fn visit(
    gate: &Gate,
    config: &Arc<rustls::ClientConfig>,
    name: &'static str,
) -> (Vec<u8>, rustls::HandshakeKind) {
    let mut connection = connect_as(gate, config, name);
    assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
    let shown = connection.get_ref().conn.peer_certificates().unwrap()[0].to_vec();
    (shown, kind(&connection))
}

fn certificate(gate: &Gate, name: &'static str) -> Vec<u8> {
    visit(gate, &any_client(), name).0
}

#[test]
fn each_name_gets_its_certificate_and_all_others_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = issue(folder, "first", &["first.test"], false);
    let wildcard = issue(folder, "wildcard", &["*.shop.test", "shop.test"], true);
    let exact = issue(folder, "exact", &["pay.shop.test"], false);
    let gate = gate_of_certificates(folder, "", &["first", "wildcard", "exact"]);
    for version in rustls::ALL_VERSIONS {
        for (name, expected) in [
            ("first.test", &first),
            ("other.test", &first),
            ("127.0.0.1", &first),
            ("shop.test", &wildcard),
            ("a.shop.test", &wildcard),
            ("pay.shop.test", &exact),
        ] {
            let customer = Arc::new(client(&[version]));
            let (shown, full) = visit(&gate, &customer, name);
            assert!((&shown, full) == (expected, Full), "{name}");
            // The terms of its ticket are those of this certificate's key.
            let (shown, resumed) = visit(&gate, &customer, name);
            assert!((&shown, resumed) == (expected, Resumed), "{name} {version:?}");
        }
    }
    assert_eq!(gate.totals().handshakes_failed.values(), &[0, 0]);
    let snapshot = gate.snapshot();
    let shown: Vec<_> = snapshot.certificates.iter().map(|one| one.names.join(" ")).collect();
    assert_eq!(shown, ["first.test", "*.shop.test shop.test", "pay.shop.test"]);
    // The year 4096, in which certificates of this kind expire.
    let line = "tidegate_certificate_expiry_timestamp_seconds{place=\"2\",name=\"pay.shop.test\"}";
    assert!(snapshot.prometheus().contains(&format!("{line} 67090")), "{}", snapshot.prometheus());
}

#[test]
fn a_ticket_for_one_name_resumes_for_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    issue(folder, "a", &["a.test"], false);
    let b = issue(folder, "b", &["b.test"], true);
    let gate = gate_of_certificates(folder, "", &["a", "b"]);
    for version in rustls::ALL_VERSIONS {
        let mut customer = client(&[version]);
        // A store that shows the ticket of any name.
        customer.resumption = rustls::client::Resumption::store(Arc::new(OneName(
            rustls::client::ClientSessionMemoryCache::new(8),
        )));
        let customer = Arc::new(customer);
        assert_eq!(visit(&gate, &customer, "a.test").1, Full);
        assert_eq!(visit(&gate, &customer, "a.test").1, Resumed);
        let before = gate.totals();
        assert_eq!(visit(&gate, &customer, "b.test"), (b.clone(), Full), "{version:?}");
        let after = gate.totals();
        let unfit = TicketResult::Unfit;
        assert_eq!(after.tickets[unfit] - before.tickets[unfit], 1);
        assert_eq!(after.admitted[Class::New] - before.admitted[Class::New], 1);
    }
}

/// Keeps the sessions of all names as if they were of one.
#[derive(Debug)]
struct OneName(rustls::client::ClientSessionMemoryCache);

impl rustls::client::ClientSessionStore for OneName {
    fn set_kx_hint(&self, name: rustls::pki_types::ServerName<'static>, hint: rustls::NamedGroup) {
        self.0.set_kx_hint(name, hint);
    }

    fn kx_hint(&self, name: &rustls::pki_types::ServerName<'_>) -> Option<rustls::NamedGroup> {
        self.0.kx_hint(name)
    }

    fn set_tls12_session(
        &self,
        _: rustls::pki_types::ServerName<'static>,
        value: rustls::client::Tls12ClientSessionValue,
    ) {
        self.0.set_tls12_session(one_name(), value);
    }

    fn tls12_session(
        &self,
        _: &rustls::pki_types::ServerName<'_>,
    ) -> Option<rustls::client::Tls12ClientSessionValue> {
        self.0.tls12_session(&one_name())
    }

    fn remove_tls12_session(&self, _: &rustls::pki_types::ServerName<'static>) {
        self.0.remove_tls12_session(&one_name());
    }

    fn insert_tls13_ticket(
        &self,
        _: rustls::pki_types::ServerName<'static>,
        value: rustls::client::Tls13ClientSessionValue,
    ) {
        self.0.insert_tls13_ticket(one_name(), value);
    }

    fn take_tls13_ticket(
        &self,
        _: &rustls::pki_types::ServerName<'static>,
    ) -> Option<rustls::client::Tls13ClientSessionValue> {
        self.0.take_tls13_ticket(&one_name())
    }
}

fn one_name() -> rustls::pki_types::ServerName<'static> {
    "one.test".try_into().unwrap()
}

#[test]
fn a_renewed_certificate_is_noticed_and_customers_stay_known() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    issue(folder, "a", &["a.test"], false);
    let other = issue(folder, "b", &["b.test"], false);
    let gate = gate_of_certificates(folder, "reload_interval = \"1s\"\n", &["a", "b"]);
    let customer = Arc::new(client(&[&rustls::version::TLS13]));
    visit(&gate, &customer, "a.test");
    // Another kind of key too.
    let renewed = issue(folder, "a", &["a.test"], true);
    until("it is in use", || certificate(&gate, "a.test") == renewed);
    assert_eq!(certificate(&gate, "b.test"), other);
    assert_eq!(visit(&gate, &customer, "a.test").1, Resumed);
    let customer = Arc::new(client(&[&rustls::version::TLS12]));
    assert_eq!(visit(&gate, &customer, "a.test").1, Full);
    assert_eq!(visit(&gate, &customer, "a.test").1, Resumed);
    assert_eq!(gate.snapshot().config_reloads, [("ok", 1), ("failed", 0)]);
}

#[test]
fn a_broken_certificate_is_not_put_in_force_and_tried_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = issue(folder, "a", &["a.test"], false);
    let gate = gate_of_certificates(folder, "reload_interval = \"1s\"\n", &["a"]);
    std::fs::write(folder.join("a.pem"), "no certificate").unwrap();
    until("it was tried", || gate.snapshot().config_reloads == [("ok", 0), ("failed", 1)]);
    assert_eq!(certificate(&gate, "a.test"), before);
    let renewed = issue(folder, "a", &["a.test"], false);
    until("the next one is in use", || certificate(&gate, "a.test") == renewed);
    assert_eq!(gate.snapshot().config_reloads, [("ok", 1), ("failed", 1)]);
}

#[test]
fn without_an_interval_only_a_reload_reads_certificates_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = issue(folder, "a", &["a.test"], false);
    let gate = gate_of_certificates(folder, "reload_interval = \"0s\"\n", &["a"]);
    let renewed = issue(folder, "a", &["a.test"], false);
    assert_eq!(certificate(&gate, "a.test"), before);
    let config = gate.config().with_files_read_again().unwrap();
    assert!(gate.reload(|| Ok(config)));
    until("it is in use", || certificate(&gate, "a.test") == renewed);
}

#[test]
fn mistakes_in_tables_of_certificates_name_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (file, names) in [("a", &["a.test"][..]), ("b", &["b.test"]), ("none", &["127.0.0.1"])] {
        issue(folder, file, names, false);
    }
    let place = folder.join("g.toml");
    let mistakes = |tables: &str| {
        let text = format!("[upstream]\nurl = \"http://127.0.0.1:9\"\n{tables}");
        let read = Config::from_toml(&text, place.to_str().unwrap());
        read.err().map(|mistakes| mistakes.to_string()).unwrap_or_default()
    };
    let table = |certificate: &str, key: &str| {
        format!("[[tls.certificates]]\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n")
    };
    let good = table("a.pem", "a.key");
    assert_eq!(mistakes(&[good.clone(), table("b.pem", "b.key")].concat()), "");
    for (second, expected) in [
        (
            table("b.pem", "a.key"),
            ":8: tls.certificates[1].key = \"a.key\": is not the key of tls.certificates[1]",
        ),
        (table("c.pem", "b.key"), ":7: tls.certificates[1].certificate = \"c.pem\": does not"),
        (table("none.pem", "none.key"), "tls.certificates[1].certificate = \"none.pem\": has no"),
        ("[[tls.certificates]]\nkey = \"b.key\"\n".into(), "tls.certificates[1].certificate: must"),
        (
            format!("{}names = 1\n", table("b.pem", "b.key")),
            ":9: tls.certificates[1].names = 1: is not a known key",
        ),
    ] {
        let shown = mistakes(&format!("{good}{second}"));
        assert!(shown.contains(expected), "{shown}");
        assert_eq!(shown.lines().count(), 1, "{shown}");
    }
    assert!(mistakes("[tls]\ncertificates = 7\n").contains("must be tables [[tls.certificates]]"));
}

#[test]
fn files_that_begin_with_a_byte_order_mark_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let own = issue(folder, "own", &["own.test"], false);
    issue(folder, "ca", &["ca.test"], false);
    for file in ["own.pem", "own.key", "ca.pem"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        std::fs::write(folder.join(file), format!("\u{feff}{text}")).unwrap();
    }
    let ca = folder.join("ca.pem");
    let clients = format!("client_auth = \"request\"\nclient_ca = \"{}\"\n", ca.display());
    let gate = gate_of_certificates(folder, &clients, &["own"]);
    assert_eq!(certificate(&gate, "own.test"), own);
}
