//! Passes bytes to the reading of waiting tokens: as they are, after the name of their key, and as
//! changes to a valid token. Only the valid token may open.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate waiting_tokens`

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use std::time::Duration;

mod admission;

/// The gate's files: the modules are private to their crate.
#[allow(dead_code)]
#[path = "../../crates/gate/src/ticket_secret.rs"]
mod ticket_secret;

use admission::tickets::Keyring;
use tidegate_control::waiting_room::WaitingToken;

const NOW: u64 = 1_000_000;
const TOKEN: WaitingToken =
    WaitingToken { id: [7; 16], arrived_ms: NOW * 1000, seen_ms: NOW * 1000 + 5 };

static RING: LazyLock<(Keyring, String)> = LazyLock::new(|| {
    let hour = Duration::from_secs(3600);
    let ring = Keyring::new(hour, hour, NOW).expect("the system has randomness");
    let valid = ring.seal_waiting(&TOKEN, NOW).expect("it seals");
    (ring, valid)
});

fuzz_target!(|bytes: &[u8]| {
    let (ring, valid) = &*RING;
    assert!(bytes == valid.as_bytes() || ring.open_waiting(bytes).is_err());

    // The name of a key is public: every token begins with it.
    let named = [&valid.as_bytes()[..10], bytes].concat();
    assert!(named == valid.as_bytes() || ring.open_waiting(&named).is_err());

    // Changes: pairs of position and byte.
    let mut changed = valid.clone().into_bytes();
    for pair in bytes.chunks_exact(2) {
        let at = usize::from(pair[0]) % changed.len();
        changed[at] = pair[1];
    }
    assert_eq!(ring.open_waiting(&changed).is_ok(), changed == valid.as_bytes());
});
