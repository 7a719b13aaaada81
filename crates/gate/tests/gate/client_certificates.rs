//! Certificates of clients: verified, passed to the upstream, and never assumed.

use crate::common::*;
use rcgen::{CertificateParams, DnType, Issuer, KeyPair};
use rustls::HandshakeKind::{Full, Resumed};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, SupportedProtocolVersion};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_gate::Gate;
use tidegate_gate::config::Config;
use tidegate_gate::telemetry::labels::{Class, TicketResult};

/// An authority, whose certificate is in a file.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: PathBuf,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let file = folder.join(format!("{name}.pem"));
        std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { issuer: Issuer::new(params, key), file }
    }

    /// A customer with a certificate of this authority.
    fn customer(&self, version: &'static SupportedProtocolVersion, name: &str) -> ClientConfig {
        self.numbered(version, name, 1)
    }

    /// The same with this serial number.
    fn numbered(
        &self,
        version: &'static SupportedProtocolVersion,
        name: &str,
        serial: u64,
    ) -> ClientConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "Shop");
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(serial.into());
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        with_certificate(version, certificate, &key)
    }

    /// Writes the list of the revoked numbers, which is valid until this year.
    fn revoke(&self, file: &Path, serials: &[u64], until: i32) {
        let revoked = |serial: &u64| rcgen::RevokedCertParams {
            serial_number: (*serial).into(),
            revocation_time: rcgen::date_time_ymd(2026, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = rcgen::CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2026, 1, 1),
            next_update: rcgen::date_time_ymd(until, 1, 2),
            crl_number: 1u64.into(),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: rcgen::KeyIdMethod::Sha256,
        };
        std::fs::write(file, list.signed_by(&self.issuer).unwrap().pem().unwrap()).unwrap();
    }

    fn lines(&self, auth: &str) -> String {
        format!(
            "[tls]\nclient_auth = \"{auth}\"\nclient_ca = \"{}\"\n\
             client_subject_header = \"X-Client-Subject\"\n",
            self.file.display()
        )
    }
}

fn with_certificate(
    version: &'static SupportedProtocolVersion,
    certificate: CertificateDer<'static>,
    key: &KeyPair,
) -> ClientConfig {
    let mut config = client(&[version]);
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).unwrap();
    let certified = rustls::sign::CertifiedKey::new(vec![certificate], key);
    config.client_auth_cert_resolver =
        Arc::new(rustls::sign::SingleCertAndKey::from(Arc::new(certified)));
    config
}

/// An upstream that answers with the subject that it received.
fn subject() -> SocketAddr {
    answering(|got| ok(got.header("x-client-subject").unwrap_or("none")))
}

const FORGED: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nX-Client-Subject: CN=eve\r\n\
X_Client-Subject: CN=eve\r\nConnection: X-Client-Subject\r\n\r\n";

/// The subject that the upstream received with a request that claims another, and the kind
/// of the handshake; none if the gate refused the connection.
fn visit(gate: &Gate, config: &Arc<ClientConfig>) -> Option<(String, rustls::HandshakeKind)> {
    use std::io::Write;
    let mut connection = connect(gate, config);
    connection.get_mut().write_all(FORGED).ok()?;
    let response = receive(&mut connection, "GET").ok()?;
    Some((response.text().to_owned(), kind(&connection)))
}

#[test]
fn the_upstream_receives_the_subject_that_was_verified_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ours");
    let gate = gate(subject(), &authority.lines("request"));
    for version in rustls::ALL_VERSIONS {
        let alice = Arc::new(authority.customer(version, "alice"));
        let expected = "CN=alice,O=Shop".to_owned();
        assert_eq!(visit(&gate, &alice), Some((expected.clone(), Full)));
        assert_eq!(visit(&gate, &alice), Some((expected, Resumed)), "{version:?}");
        let nobody = Arc::new(client(&[version]));
        assert_eq!(visit(&gate, &nobody), Some(("none".into(), Full)));
        assert_eq!(visit(&gate, &nobody), Some(("none".into(), Resumed)));
    }
}

#[test]
fn a_trailer_brings_no_subject_in() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ours");
    let upstream = upstream(|mut reader| {
        use std::io::{BufRead, Write};
        let mut all = String::new();
        while !all.ends_with("\r\n0\r\n\r\n") && !all.contains("eve") {
            if reader.read_line(&mut all).unwrap_or(0) == 0 {
                break;
            }
        }
        let answer = if all.contains("eve") { "forged" } else { "clean" };
        reader.get_mut().write_all(ok(answer).as_bytes()).unwrap();
    });
    let gate = gate(upstream, &authority.lines("request"));
    let mut connection = connect(&gate, &any_client());
    let request = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\
        TE: trailers\r\nTrailer: X-Client-Subject\r\n\r\n1\r\na\r\n0\r\n\
        X-Client-Subject: CN=eve\r\n\r\n";
    send(&mut connection, request);
    assert_eq!(receive(&mut connection, "POST").unwrap().text(), "clean");
}

#[test]
fn plain_http_brings_no_subject_in() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ours");
    let listen = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\ncores = \"{}\"\n",
        a_core()
    );
    let gate = gate(subject(), &format!("{listen}{}", authority.lines("require")));
    let socket = TcpStream::connect(gate.clear_address().unwrap()).unwrap();
    let mut connection = std::io::BufReader::new(socket);
    send(&mut connection, FORGED);
    assert_eq!(receive(&mut connection, "GET").unwrap().text(), "none");
}

#[test]
fn where_a_certificate_is_required_only_our_authoritys_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new(folder.path(), "ours");
    let other = Authority::new(folder.path(), "other");
    let gate = gate(subject(), &ours.lines("require"));
    for version in rustls::ALL_VERSIONS {
        assert_eq!(visit(&gate, &Arc::new(client(&[version]))), None);
        assert_eq!(visit(&gate, &Arc::new(other.customer(version, "alice"))), None);
        let alice = Arc::new(ours.customer(version, "alice"));
        assert_eq!(visit(&gate, &alice).unwrap().1, Full);
        assert_eq!(visit(&gate, &alice).unwrap().1, Resumed);
    }
}

#[test]
fn a_ticket_from_before_certificates_were_required_is_no_way_in() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ours");
    let other = Authority::new(folder.path(), "other");
    let upstream = subject();
    for before in ["", &authority.lines("request"), &other.lines("require")] {
        for version in rustls::ALL_VERSIONS {
            let gate = gate(upstream, before);
            let mut customer = match before.contains("other") {
                true => other.customer(version, "eve"),
                false => client(&[version]),
            };
            customer.resumption = Resumption::in_memory_sessions(8);
            let customer = Arc::new(customer);
            assert_eq!(visit(&gate, &customer).unwrap().1, Full);
            assert_eq!(visit(&gate, &customer).unwrap().1, Resumed);
            let config = Config::clone(&gate.config());
            let text = format!(
                "[upstream]\nprocesses = \"none\"\nurl = \"http://{upstream}\"\n\
                 [admission]\npolicy = \"off\"\n{}",
                authority.lines("require")
            );
            let wanted = Config::from_toml(&text, "test.toml").unwrap();
            let (tls, files) = (wanted.tls, wanted.files);
            assert!(gate.reload(|| Ok(Config { tls, files, ..config })));
            until("certificates are required", || visit(&gate, &any_client()).is_none());
            let was = gate.totals();
            assert_eq!(visit(&gate, &customer), None, "{before} {version:?}");
            let totals = gate.totals();
            assert_eq!(totals.tickets[TicketResult::Unfit] - was.tickets[TicketResult::Unfit], 1);
            assert_eq!(totals.admitted[Class::Returning], was.admitted[Class::Returning]);
        }
    }
}

#[test]
fn settings_that_miss_a_part_are_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ours");
    let ca = format!("client_ca = \"{}\"\n", authority.file.display());
    std::fs::write(folder.path().join("junk.pem"), "junk").unwrap();
    for (lines, expected) in [
        ("client_auth = \"require\"\n", "tls.client_auth = \"require\": needs the authorities"),
        (ca.as_str(), "has no effect while tls.client_auth is off"),
        ("client_subject_header = \"X-A\"\n", "has no effect while tls.client_auth is off"),
        ("client_subject_header = \"Host\"\n", "must be a field that has no other use"),
        ("client_subject_header = \"a b\"\n", "must be the name of a header field"),
        (
            "client_auth = \"request\"\nclient_ca = \"none.pem\"\n",
            "tls.client_ca = \"none.pem\": does not exist",
        ),
    ] {
        let text = format!("[upstream]\nurl = \"http://127.0.0.1:9\"\n[tls]\n{lines}");
        let shown = Config::from_toml(&text, "test.toml").unwrap_err().to_string();
        assert!(shown.contains(expected), "{lines}: {shown}");
        assert_eq!(shown.lines().count(), 1, "{shown}");
    }
}

#[test]
fn a_client_whose_certificate_is_revoked_is_refused_also_with_a_ticket() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "ours");
    let list = folder.path().join("crl.pem");
    authority.revoke(&list, &[7], 2099);
    let lines = format!("{}client_crl = {list:?}\n", authority.lines("require"));
    for version in rustls::ALL_VERSIONS {
        authority.revoke(&list, &[7], 2099);
        let gate = gate(subject(), &lines);
        let alice = Arc::new(authority.numbered(version, "alice", 8));
        let mallory = Arc::new(authority.numbered(version, "mallory", 7));
        assert_eq!(visit(&gate, &mallory), None, "{version:?}");
        assert_eq!(visit(&gate, &alice), Some(("CN=alice,O=Shop".into(), Full)));
        assert_eq!(visit(&gate, &alice), Some(("CN=alice,O=Shop".into(), Resumed)));
        // Signed again with the same content, the list changes nothing.
        authority.revoke(&list, &[7], 2098);
        assert!(gate.reload(|| gate.config().with_files_read_again()));
        assert_eq!(visit(&gate, &alice), Some(("CN=alice,O=Shop".into(), Resumed)));
        authority.revoke(&list, &[7, 8], 2099);
        assert!(gate.reload(|| gate.config().with_files_read_again()));
        assert_eq!(visit(&gate, &alice), None, "{version:?}: the ticket is of no use");
    }
}

#[test]
fn clients_of_an_expired_or_missing_list_are_refused_and_the_operator_is_warned() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) =
        (Authority::new(folder.path(), "ours"), Authority::new(folder.path(), "theirs"));
    let list = folder.path().join("crl.pem");
    let lines = format!("{}client_crl = [{list:?}]\n", ours.lines("require"));
    let alice = || Arc::new(ours.customer(&rustls::version::TLS13, "alice"));
    ours.revoke(&list, &[], 2026);
    let expired = gate(subject(), &lines);
    let warns = |gate: &Gate, of: &str| gate.config().warnings().iter().any(|it| it.contains(of));
    assert!(warns(&expired, "tls.client_crl expired"));
    assert_eq!(visit(&expired, &alice()), None);
    theirs.revoke(&list, &[], 2099);
    let missing = gate(subject(), &lines);
    assert_eq!(visit(&missing, &alice()), None);
    ours.revoke(&list, &[], 2099);
    let sound = gate(subject(), &lines);
    assert!(visit(&sound, &alice()).is_some() && !warns(&sound, "tls.client_crl"));
}
