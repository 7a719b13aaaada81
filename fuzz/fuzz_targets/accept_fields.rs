//! Passes bytes to the reading of `Accept` and `Accept-Language`: no input may panic, and the same
//! members with spaces around them mean the same.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate accept_fields`

#![no_main]

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_LANGUAGE, HeaderValue};
use libfuzzer_sys::fuzz_target;

/// The gate's file: the module is private to its crate.
#[allow(dead_code)]
#[path = "../../crates/gate/src/http/accept.rs"]
mod accept;

use accept::{Form, Language};

fn read(bytes: &[u8]) -> Option<(Form, Language)> {
    let value = HeaderValue::from_bytes(bytes).ok()?;
    let headers = HeaderMap::from_iter([(ACCEPT, value.clone()), (ACCEPT_LANGUAGE, value)]);
    Some((Form::of(&headers), Language::of(&headers)))
}

fuzz_target!(|bytes: &[u8]| {
    let spaced = bytes.split(|byte| *byte == b',').collect::<Vec<_>>().join(&b" , "[..]);
    assert_eq!(read(bytes), read(&spaced));
});
