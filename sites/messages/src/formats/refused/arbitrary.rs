//! Any bytes in place of a message, or inside of an encryption and a signature that are
//! right, are refused, and nothing panics.

use std::sync::LazyLock;

use bytes::Bytes;
use http::HeaderValue;
use proptest::prelude::*;

use super::{Ends, PROTECTED, SCENE, request};
use crate::{Format, Layer, Wire};

static ENDS: LazyLock<[Ends; PROTECTED.len()]> = LazyLock::new(|| PROTECTED.map(Ends::new));
static HTTP: LazyLock<Ends> = LazyLock::new(|| Ends::new(Format::HttpSignatures));

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        any::<String>(),
        "[{}\\[\\]\":,.a-z0-9=A-Z_-]{0,200}",
        "(\\{\"(alg|enc|id|sender|crit)\":\"?[a-zA-Z0-9]{0,9}\"?[,}]){0,5}",
        "(<[!?/]?(Message|Signature|Sender|DOCTYPE|xenc:EncryptedData)?[ />&;\"a-z=\\[]{0,9}){0,9}",
    ];
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        text.prop_map(String::into_bytes),
        // Heads of arrays, maps and tags of CBOR.
        proptest::collection::vec(0x80u8..=0xd9, 0..300),
    ]
}

proptest! {
    #[test]
    fn bytes_without_keys_are_refused(bytes in bytes()) {
        for ends in &*ENDS {
            prop_assert!(ends.forged(bytes.clone()).is_err());
        }
    }

    #[test]
    fn bytes_inside_of_an_encryption_are_refused(bytes in bytes()) {
        for ends in ENDS.iter().filter(|ends| ends.client.format().is_confidential()) {
            let wire = ends.client.forge(Layer::Signed, &bytes, &SCENE).unwrap();
            prop_assert!(ends.receive(&wire).is_err());
        }
    }

    #[test]
    fn bytes_inside_of_a_signature_are_refused(bytes in bytes()) {
        for ends in &*ENDS {
            // In XML it is the payload, which may be right; the time is not.
            if let Some(wire) = ends.client.forge(Layer::Content, &bytes, &SCENE) {
                prop_assert!(ends.receive(&wire).is_err());
            }
        }
    }

    #[test]
    fn any_header_of_a_signature_is_refused(text in "[ -~]{0,120}", which in 0usize..3) {
        let mut headers = HTTP.send(&request()).headers;
        let name = ["content-digest", "signature-input", "signature"][which];
        headers.insert(name, HeaderValue::from_str(&text).unwrap());
        let body = Bytes::from(request().to_json().unwrap());
        let altered = Wire { headers, body };
        prop_assert!(HTTP.receive(&altered).is_err());
    }
}
