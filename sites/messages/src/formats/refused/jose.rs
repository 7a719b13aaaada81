//! JOSE messages that only somebody who knows the keys' public parts, or the other party
//! itself, could send.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use super::{Ends, NOW, request};
use crate::formats::jwe;
use crate::{Format, Refused};

/// A signed message of any header and claims, signed by the client's key.
fn signed(ends: &Ends, header: &str, claims: &[u8]) -> String {
    let text = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims));
    let signature = ends.forger.sign(text.as_bytes()).unwrap();
    format!("{text}.{}", BASE64.encode(signature))
}

fn encrypted(ends: &Ends, signed: &str) -> String {
    jwe::encrypt(signed.as_bytes(), &ends.forger.peer_encrypting()).unwrap()
}

const HEADER: &str = r#"{"alg":"ES256","typ":"JWT","kid":"client"}"#;

#[test]
fn signed_headers_are_accepted_in_one_form_only() {
    let ends = Ends::new(Format::Jose);
    let claims = || request().to_json().unwrap();
    let text = encrypted(&ends, &signed(&ends, HEADER, &claims()));
    assert!(ends.forged(text).is_ok(), "what the forger writes is right otherwise");
    for (header, expected) in [
        (r#"{"alg":"none","typ":"JWT","kid":"client"}"#, Refused::Algorithm),
        (r#"{"alg":"ES384","typ":"JWT","kid":"client"}"#, Refused::Algorithm),
        (r#"{"alg":"es256","typ":"JWT","kid":"client"}"#, Refused::Algorithm),
        (r#"{"alg":"ES256","typ":"JWT","kid":"server"}"#, Refused::Sender),
        (r#"{"alg":"ES256","typ":"at+jwt","kid":"client"}"#, Refused::Malformed),
        (r#"{"alg":"ES256","typ":"JWT","kid":"client","crit":["exp"]}"#, Refused::Critical),
        (r#"{"alg":"ES256","typ":"JWT","kid":"client","crit":[]}"#, Refused::Critical),
        (r#"{"alg":"ES256","alg":"none","typ":"JWT","kid":"client"}"#, Refused::Malformed),
        (r#"{"alg":"ES256","typ":"JWT","kid":"client","jwk":{}}"#, Refused::Malformed),
        (r#"{"alg":"ES256","typ":"JWT","kid":"client","jku":"https://x"}"#, Refused::Malformed),
        (r#"{"alg":"ES256","typ":"JWT","kid":"client","b64":false}"#, Refused::Malformed),
    ] {
        let text = encrypted(&ends, &signed(&ends, header, &claims()));
        assert_eq!(ends.forged(text), Err(expected), "{header}");
    }
}

#[test]
fn a_message_without_a_signature_is_refused() {
    let ends = Ends::new(Format::Jose);
    let claims = request().to_json().unwrap();
    let none = r#"{"alg":"none","typ":"JWT","kid":"client"}"#;
    for (header, expected) in [(none, Refused::Algorithm), (HEADER, Refused::Signature)] {
        let text = format!("{}.{}.", BASE64.encode(header), BASE64.encode(&claims));
        assert_eq!(ends.forged(encrypted(&ends, &text)), Err(expected), "{header}");
    }
    let plain = encrypted(&ends, std::str::from_utf8(&claims).unwrap());
    assert_eq!(ends.forged(plain), Err(Refused::Malformed));
}

#[test]
fn a_public_key_is_no_secret_of_an_hmac() {
    let ends = Ends::new(Format::Jose);
    // Anybody knows the key that the client's messages are verified with.
    let (_, server) = (&ends.client, &ends.forger);
    let header = r#"{"alg":"HS256","typ":"JWT","kid":"client"}"#;
    let claims = request().to_json().unwrap();
    let text = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims));
    let secret = hmac::Key::new(hmac::HMAC_SHA256, &server.peer_verifying());
    let tag = hmac::sign(&secret, text.as_bytes());
    let text = format!("{text}.{}", BASE64.encode(tag));
    assert_eq!(ends.forged(encrypted(&ends, &text)), Err(Refused::Algorithm));
}

#[test]
fn claims_with_repeated_unknown_or_missing_names_are_refused() {
    let ends = Ends::new(Format::Jose);
    let good = String::from_utf8(request().to_json().unwrap()).unwrap();
    for bad in [
        good.replacen('{', r#"{"sender":"client","#, 1),
        good.replacen('{', r#"{"exp":1,"#, 1),
        good.replace(&format!(r#""issued_ms":{NOW},"#), ""),
        good.replace("five!", r"\u0000"),
        "[".repeat(100_000),
    ] {
        let text = encrypted(&ends, &signed(&ends, HEADER, bad.as_bytes()));
        assert_eq!(ends.forged(text), Err(Refused::Malformed), "{}", &bad[..60]);
    }
}

/// The encrypted message with another protected header.
fn with_header(text: &str, change: impl Fn(String) -> String) -> String {
    let (header, rest) = text.split_once('.').unwrap();
    let header = String::from_utf8(BASE64.decode(header).unwrap()).unwrap();
    format!("{}.{rest}", BASE64.encode(change(header)))
}

#[test]
fn encrypted_headers_are_accepted_in_one_form_only() {
    let ends = Ends::new(Format::Jose);
    let claims = request().to_json().unwrap();
    let text = encrypted(&ends, &signed(&ends, HEADER, &claims));
    for (from, to, expected) in [
        (r#""ECDH-ES""#, r#""dir""#, Refused::Algorithm),
        (r#""ECDH-ES""#, r#""RSA1_5""#, Refused::Algorithm),
        (r#""ECDH-ES""#, r#""PBES2-HS256+A128KW""#, Refused::Algorithm),
        (r#""A256GCM""#, r#""A128GCM""#, Refused::Algorithm),
        (r#""A256GCM""#, r#""A128CBC-HS256""#, Refused::Algorithm),
        (r#""P-256""#, r#""P-521""#, Refused::Algorithm),
        (r#""cty":"JWT""#, r#""cty":"json""#, Refused::Malformed),
        (r#""cty""#, r#""zip":"DEF","cty""#, Refused::Compressed),
        (r#""cty""#, r#""crit":["exp"],"cty""#, Refused::Critical),
        (r#""cty""#, r#""enc":"A256GCM","cty""#, Refused::Malformed),
        (r#""cty""#, r#""apu":"QQ","cty""#, Refused::Malformed),
        (r#""cty""#, r#""p2c":2147483647,"cty""#, Refused::Malformed),
    ] {
        let text = with_header(&text, |header| {
            assert!(header.contains(from), "{header}");
            header.replace(from, to)
        });
        assert_eq!(ends.forged(text), Err(expected), "{to}");
    }
}

#[test]
fn a_compressed_message_is_refused_however_small_it_is() {
    let ends = Ends::new(Format::Jose);
    // A deflated gigabyte needs a megabyte; it is refused by its header.
    let text = encrypted(&ends, &"A".repeat(1 << 20));
    let text = with_header(&text, |header| header.replacen('{', r#"{"zip":"DEF","#, 1));
    assert_eq!(ends.forged(text), Err(Refused::Compressed));
}

#[test]
fn a_key_that_is_no_point_of_the_curve_is_refused() {
    let ends = Ends::new(Format::Jose);
    let text = encrypted(&ends, "x");
    for coordinate in [[0u8; 32], [1; 32], [255; 32]] {
        let text = with_header(&text, |header| {
            let at = header.find(r#""y":""#).unwrap() + 5;
            let mut header = header;
            header.replace_range(at..at + 43, &BASE64.encode(coordinate));
            header
        });
        assert_eq!(ends.forged(text), Err(Refused::Decryption));
    }
}

#[test]
fn a_message_with_too_many_or_few_parts_is_refused() {
    let ends = Ends::new(Format::Jose);
    let text = encrypted(&ends, "x");
    let key = text.replacen("..", ".AAAA.", 1);
    for bad in [format!("{text}."), format!(".{text}"), text.replacen("..", ".", 1), key] {
        assert_eq!(ends.forged(bad), Err(Refused::Malformed));
    }
    for bad in ["", ".", "....", "\0\0\0\0", "e30....", "{}"] {
        assert_eq!(ends.forged(bad), Err(Refused::Malformed), "{bad:?}");
    }
}
