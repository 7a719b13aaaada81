//! What a protected link refuses.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;

use tidegate_sitekit::link::authority::{Authority, Issued};
use tidegate_sitekit::link::{ClientSide, Error, Files, Kind, ServerSide};

use crate::relay::{Relay, Way};
use crate::world::{Keys, block_on, client, echo, fails, serve, serve_at, server, spec};

#[test]
fn both_ends_must_be_configured_alike_and_the_error_says_so() {
    let keys = Keys::new();
    for (of_server, of_client, kinds, expected) in [
        ("tls", "none", &[Kind::NoAnswer, Kind::Unusable][..], ""),
        ("none", "tls", &[Kind::Unreachable][..], "is the link `tls` on both sides?"),
        ("sealed", "none", &[Kind::Refused][..], "its log names the reason"),
        ("none", "sealed", &[Kind::Unusable][..], "the link configured otherwise?"),
        ("sealed", "tls", &[Kind::Unreachable][..], "is the link `tls` on both sides?"),
        ("tls", "sealed", &[Kind::NoAnswer, Kind::Unusable][..], ""),
    ] {
        let server = server(of_server, &keys.files());
        let error = fails(&client(of_client, &keys.files(), &[server.address()]));
        assert!(kinds.contains(&error.kind), "{of_server} {of_client}: {error:?}");
        assert!(error.to_string().contains(expected), "{of_server} {of_client}: {error}");
        server.shutdown();
    }
}

#[test]
fn a_certificate_must_be_of_the_ca_and_name_the_tier() {
    let (keys, others) = (Keys::new(), Keys::new());
    // One that the same CA made for another tier, in place of the right one.
    let swap = |keys: &Keys, tier: &str| {
        let folder = keys.folder.path().join("ca");
        for end in [".pem", "-key.pem"] {
            std::fs::rename(
                folder.join(format!("other{end}")),
                folder.join(format!("{tier}{end}")),
            )
            .unwrap();
        }
    };
    let serving = server("tls", &keys.files());
    let stranger = fails(&client("tls", &others.files(), &[serving.address()]));
    assert_eq!(stranger.kind, Kind::Unreachable, "{stranger}");
    assert!(stranger.to_string().contains("invalid peer certificate"), "{stranger}");

    let good = client("tls", &keys.files(), &[serving.address()]);
    block_on(echo(&good, "{}")).unwrap();
    let impostor = Keys::new();
    // The impostor has the CA of the server, and a certificate of it for another tier.
    let from = keys.folder.path().join("ca");
    for file in ["ca.pem", "other.pem", "other-key.pem"] {
        std::fs::copy(from.join(file), impostor.folder.path().join("ca").join(file)).unwrap();
    }
    swap(&impostor, "front");
    let error = fails(&client("tls", &impostor.files(), &[serving.address()]));
    assert_eq!(error.kind, Kind::Refused, "{error}");
    assert!(error.to_string().contains("refuses this tier's certificate"), "{error}");
    serving.shutdown();

    swap(&keys, "back");
    let impostor = server("tls", &keys.files());
    let error = fails(&client("tls", &keys.files(), &[impostor.address()]));
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    assert!(error.to_string().contains("back.tier.internal"), "{error}");
    impostor.shutdown();
}

/// A folder of certificates whose authority is at hand.
struct Issuing {
    folder: tempfile::TempDir,
    ca: Authority,
    now: i64,
}

const DAY: i64 = 86_400;

impl Issuing {
    fn new() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let now = i64::try_from(since.as_secs()).unwrap();
        let (folder, ca) = (tempfile::tempdir().unwrap(), Authority::new(now).unwrap());
        std::fs::write(folder.path().join("ca.pem"), ca.certificate()).unwrap();
        Self { folder, ca, now }
    }

    fn files(&self) -> Files {
        Files { certificates: Some(self.folder.path().into()), keys: None }
    }

    fn issue(&self, tier: &str, until: i64) -> Issued {
        let issued = self.ca.issue(tier, self.now - 2 * DAY, until).unwrap();
        std::fs::write(self.folder.path().join(format!("{tier}.pem")), &issued.certificate)
            .unwrap();
        let key = self.folder.path().join(format!("{tier}-key.pem"));
        std::fs::write(&key, &issued.key).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        issued
    }

    fn revoke(&self, revoked: &[&Issued]) {
        let list = self.ca.revoke(revoked, self.now).unwrap();
        std::fs::write(self.folder.path().join("crl.pem"), list).unwrap();
    }

    fn call(&self) -> Result<String, Error> {
        let serving = server("tls", &self.files());
        let answer = block_on(echo(&client("tls", &self.files(), &[serving.address()]), "\"x\""));
        serving.shutdown();
        answer
    }
}

#[test]
fn an_expired_certificate_is_refused_at_both_ends() {
    let issuing = Issuing::new();
    issuing.issue("back", issuing.now + DAY);
    issuing.issue("front", issuing.now - DAY);
    let error = issuing.call().unwrap_err();
    assert_eq!(error.kind, Kind::Refused, "{error}");

    issuing.issue("front", issuing.now + DAY);
    issuing.issue("back", issuing.now - DAY);
    let error = issuing.call().unwrap_err();
    assert_eq!(error.kind, Kind::Unreachable);
    assert!(error.to_string().contains("expired"), "{error}");
    assert!(error.to_string().contains("--make-ca"), "{error}");
}

#[test]
fn a_revoked_certificate_is_refused_at_both_ends_and_others_are_not() {
    let issuing = Issuing::new();
    let back = issuing.issue("back", issuing.now + DAY);
    let front = issuing.issue("front", issuing.now + DAY);
    issuing.revoke(&[]);
    assert_eq!(issuing.call().unwrap(), "\"x\"");

    issuing.revoke(&[&front]);
    let error = issuing.call().unwrap_err();
    assert_eq!(error.kind, Kind::Refused, "{error}");
    assert!(error.to_string().contains("refuses this tier's certificate"), "{error}");
    issuing.issue("front", issuing.now + DAY);
    assert_eq!(issuing.call().unwrap(), "\"x\"", "a new one is accepted");

    issuing.revoke(&[&front, &back]);
    let error = issuing.call().unwrap_err();
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    assert!(error.to_string().contains("Revoked"), "{error}");
}

#[test]
fn a_list_of_revoked_certificates_that_cannot_be_read_is_named() {
    let issuing = Issuing::new();
    issuing.issue("front", issuing.now + DAY);
    for text in ["", "no list"] {
        std::fs::write(issuing.folder.path().join("crl.pem"), text).unwrap();
        let error = ClientSide::new(spec("tls"), &issuing.files(), "front", "back").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("crl.pem: holds no list"), "{error}");
        assert!(error.contains("delete the file"), "{error}");
    }
}

#[test]
fn a_key_of_the_same_name_but_another_secret_is_refused() {
    let (keys, others) = (Keys::new(), Keys::new());
    let server = server("sealed", &keys.files());
    let error = fails(&client("sealed", &others.files(), &[server.address()]));
    assert_eq!(error.kind, Kind::Refused, "{error}");
    assert!(error.to_string().contains("refuses the message; its log names the reason"));
    server.shutdown();
}

#[test]
fn a_sealed_message_that_is_altered_relayed_or_replayed_is_refused() {
    let keys = Keys::new();
    let side = ServerSide::new(spec("sealed"), &keys.files(), "back", "front").unwrap();
    let server = serve(&side);
    let address = server.address();
    let relay = Relay::to(address);
    let client = client("sealed,per-request", &keys.files(), &[relay.address]);
    let relayed = fails(&client);
    assert_eq!(relayed.kind, Kind::Refused, "it was sent to another address: {relayed}");
    server.shutdown();

    let server = serve_at(address, &side.known_as(&[relay.address.to_string()]));
    relay.set(Way::Alter);
    assert_eq!(fails(&client).kind, Kind::Refused);
    relay.set(Way::Pass);
    let before = relay.sent().len();
    block_on(echo(&client, "{}")).unwrap();
    let recorded = relay.sent().split_off(before);
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&recorded).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nrefused\n"), "nobody is told why: {answer}");
    }
    server.shutdown();
}

#[test]
fn an_altered_answer_is_not_believed() {
    let keys = Keys::new();
    let server = server("sealed", &keys.files());
    let recorded = {
        // What an answer to another request looks like.
        let client = client("sealed", &keys.files(), &[server.address()]);
        block_on(echo(&client, "{}")).unwrap();
        b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.tidegate.sealed\r\n\
          content-length: 60\r\n\r\n"
            .iter()
            .copied()
            .chain([1, 3, b'o', b'n', b'e'])
            .chain([7; 55])
            .collect::<Vec<u8>>()
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(&recorded);
    });
    let error = fails(&client("sealed", &keys.files(), &[address]));
    assert_eq!(error.kind, Kind::Unusable, "{error}");
    assert!(error.to_string().contains("its answer does not open"), "{error}");
    server.shutdown();
}

#[test]
fn an_answer_that_is_too_long_or_of_no_tier_is_refused() {
    let keys = Keys::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for answer in [
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99000000\r\n\r\n{",
        ] {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
            if answer.contains("json") {
                while stream.write_all(&[b' '; 65536]).is_ok() {}
            }
        }
    });
    let client = client("none,per-request", &keys.files(), &[address]);
    let error = fails(&client);
    assert_eq!(error.kind, Kind::Unusable, "{error}");
    assert!(error.to_string().contains("text/html"), "{error}");
    let error = fails(&client);
    assert!(error.to_string().contains("longer than 4 MiB"), "{error}");
}
