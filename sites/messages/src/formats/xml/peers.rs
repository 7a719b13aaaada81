//! Other implementations read what this one writes: xmlsec1 verifies the signature, and
//! Apache Santuario, on Java, opens the message that is kept in `tests/xml`
//! (`services/messages/src/test`).

use std::path::{Path, PathBuf};
use std::process::Command;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

use super::Xml;
use crate::{Channel, Format, Keys, Message, Operation, Party, Scene};

const SCENE: Scene = Scene::Request { method: "POST", authority: "127.0.0.1", path: "/messages" };
/// When the kept message was issued.
const ISSUED_MS: u64 = 1_800_000_000_000;
const PAYLOAD: &str = "kept for other implementations: <&\">";

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/xml").join(name)
}

#[test]
fn xmlsec1_verifies_our_signature_and_no_other_content() {
    let (client, server) = Keys::generate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (key, file) = (folder.path().join("client.pem"), folder.path().join("message.xml"));
    std::fs::write(&key, pem(&server.peer_verifying())).unwrap();
    let message = Message::request(Operation::Echo, PAYLOAD.into(), 5).unwrap();
    let document = Xml::new(&client).unwrap().sign(&message).unwrap();
    let verifies = |document: &str| {
        std::fs::write(&file, document).unwrap();
        let output = Command::new("xmlsec1")
            .args(["--verify", "--id-attr:Id", "urn:tidegate:messages:Message", "--pubkey-pem"])
            .args([&key, &file])
            .output()
            .expect("xmlsec1 is installed by `scripts/bootstrap test`");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (verified, text) = verifies(&document);
    assert!(verified, "{text}");
    let (verified, text) = verifies(&document.replace("kept", "lept"));
    assert!(!verified, "{text}");
}

fn pem(spki: &[u8]) -> String {
    use base64::Engine;
    let base64 = base64::engine::general_purpose::STANDARD.encode(spki);
    format!("-----BEGIN PUBLIC KEY-----\n{base64}\n-----END PUBLIC KEY-----\n")
}

#[test]
fn the_message_that_java_opens_is_one_of_today() {
    let keys = Keys::read(&kept("server.json"), Party::Server).unwrap();
    let server = Channel::new(Format::Xml, keys).unwrap();
    let body = std::fs::read(kept("message.xml")).unwrap();
    let media_type = HeaderValue::from_static(Format::Xml.media_type());
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, media_type)]);
    let message = server.receive(&headers, &body, &SCENE, ISSUED_MS).expect(
        "write it anew: cargo test -p tidegate-messages --lib write_the_kept_message -- --ignored",
    );
    assert_eq!(message.payload, PAYLOAD);
}

#[test]
#[ignore = "writes the message and the keys that the test above and the one on Java read"]
fn write_the_kept_message() {
    let (client, server) = Keys::generate().unwrap();
    server.write(&kept("server.json")).unwrap();
    let message = Message::request(Operation::Echo, PAYLOAD.into(), ISSUED_MS).unwrap();
    let client = Channel::new(Format::Xml, client).unwrap();
    std::fs::write(kept("message.xml"), client.protect(&message, &SCENE).unwrap().body).unwrap();
}
