//! Passes bytes to the reading of session cookies: as the field of a request, and as values to the
//! keyring. No cookie of the name is left, the others stay, and only the valid value opens.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate session_cookies`

#![no_main]

use http::HeaderMap;
use http::header::{COOKIE, HeaderValue};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use std::time::Duration;

mod admission;

/// The gate's files: the modules are private to their crate.
#[allow(dead_code)]
#[path = "../../crates/gate/src/ticket_secret.rs"]
mod ticket_secret;

#[allow(dead_code)]
#[path = "../../crates/gate/src/http/cookie_field.rs"]
mod cookie_field;

use admission::session_cookie::{CookieClaims, VALUE_LEN, Value};
use admission::tickets::Keyring;

const NOW: u64 = 1_000_000;
const CLAIMS: CookieClaims = CookieClaims { session: [7; 16], began: NOW - 10, issued: NOW };

static RING: LazyLock<(Keyring, Value)> = LazyLock::new(|| {
    let hour = Duration::from_secs(3600);
    let ring = Keyring::new(hour, hour, NOW).expect("the system has randomness");
    let valid = ring.seal_cookie(&CLAIMS).expect("it seals");
    (ring, valid.as_bytes().try_into().expect("all have one length"))
});

fn take(fields: &[&[u8]]) -> (HeaderMap, cookie_field::Values) {
    let mut headers = HeaderMap::new();
    for field in fields {
        if let Ok(field) = HeaderValue::from_bytes(field) {
            headers.append(COOKIE, field);
        }
    }
    let values = cookie_field::take(&mut headers, "tidegate");
    (headers, values)
}

fuzz_target!(|bytes: &[u8]| {
    let (ring, valid) = &*RING;
    let (mut left, values) = take(&[bytes]);
    for value in values.list() {
        assert!(ring.open_cookie(value, NOW).is_err());
    }
    let before: Vec<_> = left.get_all(COOKIE).iter().cloned().collect();
    let again: cookie_field::Values = cookie_field::take(&mut left, "tidegate");
    assert!(!again.any, "nothing of the name is left");
    assert!(left.get_all(COOKIE).iter().eq(&before), "the others stay");

    // The customer's own is found behind one other, whatever that is.
    let own = [&b"tidegate="[..], valid].concat();
    let (_, both) = take(&[&own, bytes]);
    let opened = both.list().find_map(|value| ring.open_cookie(value, NOW).ok());
    assert_eq!(opened, Some(CLAIMS));

    // Changes: pairs of position and byte.
    let mut changed = *valid;
    for pair in bytes.chunks_exact(2) {
        changed[usize::from(pair[0]) % VALUE_LEN] = pair[1];
    }
    assert_eq!(ring.open_cookie(&changed, NOW).is_ok(), changed == *valid);
});
