//! Passes bytes to the reader of the services' envelopes and of their JSON. What is refused is
//! answered by a fault that is well-formed; what an envelope holds is read as JSON again, once it
//! keeps to the limits, and stays the same.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features sites b2b_requests`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_b2b::fuzzing::{envelope, place, request};

fuzz_target!(|bytes: &[u8]| {
    match envelope(bytes) {
        Ok((service, message)) => {
            let text = message.to_string();
            if let Ok(read) = request(place(service), text.as_bytes()) {
                assert_eq!(read, message, "{service}");
            }
        }
        Err(fault) => {
            assert!(roxmltree::Document::parse(&fault).is_ok(), "{fault}");
        }
    }
    let Some((service, body)) = bytes.split_first() else { return };
    match request(usize::from(*service), body) {
        Ok(message) => {
            let again = request(usize::from(*service), message.to_string().as_bytes());
            assert_eq!(again.as_ref(), Ok(&message));
        }
        Err(problem) => {
            let problem: serde_json::Value = serde_json::from_str(&problem).expect("JSON");
            assert!(problem["error"]["code"].is_string(), "{problem}");
        }
    }
});
