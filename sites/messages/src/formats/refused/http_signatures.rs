//! HTTP messages whose signature does not cover what was received.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Ends, NOW, SCENE, answer_to, gzip, request};
use crate::formats::http_signatures::base;
use crate::{Format, Message, Refused, Scene, Wire};

fn ends() -> Ends {
    Ends::new(Format::HttpSignatures)
}

fn changed(wire: &Wire, name: &str, change: impl Fn(&str) -> String) -> Wire {
    let name: HeaderName = name.parse().unwrap();
    let before = wire.headers[&name].to_str().unwrap();
    let after = change(before);
    assert_ne!(before, after);
    let mut headers = wire.headers.clone();
    headers.insert(name, after.parse().unwrap());
    Wire { headers, body: wire.body.clone() }
}

#[test]
fn a_request_moved_to_another_place_is_refused() {
    let ends = ends();
    let sent = ends.send(&request());
    let at = |method, authority, path| {
        let scene = Scene::Request { method, authority, path };
        ends.server.receive(&sent.headers, &sent.body, &scene, NOW)
    };
    assert_eq!(at("PUT", "127.0.0.1:8080", "/messages"), Err(Refused::Signature));
    assert_eq!(at("POST", "127.0.0.1:8081", "/messages"), Err(Refused::Signature));
    assert_eq!(at("POST", "127.0.0.1:8080", "/other"), Err(Refused::Signature));
    assert_eq!(at("POST", "127.0.0.1:8080", "/messages?x=1"), Err(Refused::Coverage));
    assert!(at("POST", "127.0.0.1:8080", "/messages").is_ok());
}

#[test]
fn altered_headers_are_refused() {
    let ends = ends();
    let sent = ends.send(&request());
    let input = |from: &str, to: &str| {
        ends.receive(&changed(&sent, "signature-input", |text| text.replace(from, to)))
    };
    assert_eq!(input("ecdsa-p256-sha256", "hmac-sha256"), Err(Refused::Algorithm));
    assert_eq!(input("ecdsa-p256-sha256", "none"), Err(Refused::Algorithm));
    assert_eq!(input("keyid=\"client\"", "keyid=\"server\""), Err(Refused::Sender));
    assert_eq!(input("\"@path\" ", ""), Err(Refused::Coverage));
    assert_eq!(input(" \"content-digest\"", ""), Err(Refused::Coverage));
    assert_eq!(input("tidegate-messages", "other"), Err(Refused::Coverage));
    assert_eq!(input("created=17", "created=18"), Err(Refused::Signature));
    assert_eq!(input("nonce=\"", "nonce=\"0"), Err(Refused::Signature));
    assert_eq!(input("sig=", "sig= "), Err(Refused::Malformed));
    assert_eq!(input("sig=", "other=(),sig="), Err(Refused::Coverage));
    let signature = |text: &str| {
        let text = text.to_owned();
        ends.receive(&changed(&sent, "signature", |_| text.clone()))
    };
    assert_eq!(signature("sig=:AAAA:"), Err(Refused::Signature));
    assert_eq!(signature("other=:AAAA:"), Err(Refused::Signature));
    assert_eq!(signature("sig=1"), Err(Refused::Malformed));
    assert_eq!(signature("sig=:AAAA:, sig2=:AAAA:"), Err(Refused::Malformed));
}

#[test]
fn a_message_without_or_with_repeated_fields_is_refused() {
    let ends = ends();
    let sent = ends.send(&request());
    for (name, expected) in [
        ("content-digest", Refused::Coverage),
        ("signature-input", Refused::Coverage),
        ("signature", Refused::Signature),
    ] {
        let mut headers = sent.headers.clone();
        let value = headers.remove(name).unwrap();
        let without = Wire { headers: headers.clone(), body: sent.body.clone() };
        assert_eq!(ends.receive(&without), Err(expected), "{name}");
        for _ in 0..2 {
            headers.append(HeaderName::from_static(name), value.clone());
        }
        let twice = Wire { headers, body: sent.body.clone() };
        assert_eq!(ends.receive(&twice), Err(Refused::RepeatedHeader), "{name}");
    }
}

#[test]
fn another_body_with_its_own_digest_is_refused() {
    let ends = ends();
    let (sent, other) = (ends.send(&request()), ends.send(&request()));
    let body = other.body.clone();
    let swapped = Wire { headers: sent.headers.clone(), body: body.clone() };
    assert_eq!(ends.receive(&swapped), Err(Refused::Digest));
    let mut headers = sent.headers.clone();
    headers.insert("content-digest", other.headers["content-digest"].clone());
    assert_eq!(ends.receive(&Wire { headers, body }), Err(Refused::Signature));
}

/// A request signed by the client's key with any parameters.
fn forged(ends: &Ends, message: &Message, parameters: &str, digest: &str) -> Wire {
    let Scene::Request { method, authority, path } = SCENE else { unreachable!() };
    let components = [
        (r#""@method""#, method.to_owned()),
        (r#""@authority""#, authority.to_owned()),
        (r#""@path""#, path.to_owned()),
        (r#""content-type""#, "application/json".to_owned()),
        (r#""content-digest""#, digest.to_owned()),
    ];
    let signature = ends.forger.sign(base(&components, parameters).as_bytes()).unwrap();
    let value = |text: String| HeaderValue::from_str(&text).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("content-type", value("application/json".into()));
    headers.insert("content-digest", value(digest.into()));
    headers.insert("signature-input", value(format!("sig={parameters}")));
    headers.insert("signature", value(format!("sig=:{}:", STANDARD.encode(signature))));
    Wire { headers, body: Bytes::from(message.to_json().unwrap()) }
}

fn parameters(message: &Message) -> String {
    format!(
        concat!(
            r#"("@method" "@authority" "@path" "content-type" "content-digest");created={};"#,
            r#"nonce="{}";keyid="client";alg="ecdsa-p256-sha256";tag="tidegate-messages""#
        ),
        message.issued_ms / 1000,
        message.id
    )
}

fn digest(message: &Message) -> String {
    digest_of(&message.to_json().unwrap())
}

fn digest_of(body: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, body);
    format!("sha-256=:{}:", STANDARD.encode(digest))
}

#[test]
fn a_signed_time_or_nonce_that_is_not_the_message_s_is_refused() {
    let ends = ends();
    let (message, other) = (request(), request());
    let good = forged(&ends, &message, &parameters(&message), &digest(&message));
    assert!(ends.receive(&good).is_ok(), "right otherwise");
    let nonce = forged(&ends, &message, &parameters(&other), &digest(&message));
    assert_eq!(ends.receive(&nonce), Err(Refused::Malformed));
    let later = Message { issued_ms: NOW + 1000, ..message.clone() };
    let time = forged(&ends, &message, &parameters(&later), &digest(&message));
    assert_eq!(ends.receive(&time), Err(Refused::Malformed));
    let weak = format!("md5=:AAAA:, {}", digest(&message));
    let digests = forged(&ends, &message, &parameters(&message), &weak);
    assert_eq!(ends.receive(&digests), Err(Refused::Digest));
}

#[test]
fn a_compressed_body_is_refused_though_its_digest_is_signed() {
    let ends = ends();
    let message = request();
    let body = Bytes::from(gzip(&message.to_json().unwrap()));
    let sent = forged(&ends, &message, &parameters(&message), &digest_of(&body));
    // The signature holds, and what it covers is not decompressed.
    assert_eq!(ends.receive(&Wire { body, ..sent }), Err(Refused::Malformed));
}

#[test]
fn an_answer_with_another_status_or_request_is_refused() {
    let ends = ends();
    let message = request();
    let sent = ends.send(&message);
    let answer = ends.answer(&sent);
    let receive = |scene: &Scene| {
        ends.client.receive_answer(&answer.headers, &answer.body, scene, message.id, NOW)
    };
    assert!(receive(&answer_to(&sent)).is_ok());
    let status = Scene::Answer { status: 201, request: &sent.headers };
    assert_eq!(receive(&status), Err(Refused::Signature));
    let again = ends.send(&message);
    assert_eq!(receive(&answer_to(&again)), Err(Refused::Signature), "signed anew");
    let nothing = HeaderMap::new();
    let unsigned = Scene::Answer { status: 200, request: &nothing };
    assert_eq!(receive(&unsigned), Err(Refused::Unbound));
}
