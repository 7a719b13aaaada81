//! Passes bytes to the ticket keyring: as they are, after the name of its key,
//! and as changes to a valid ticket. Only the valid ticket may open.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate tickets`

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use std::time::Duration;

/// The gate's files: the modules are private to their crate.
#[allow(dead_code)]
#[path = "../../crates/gate/src/ticket_secret.rs"]
mod ticket_secret;

mod admission;

use admission::tickets::{Claims, Holder, Keyring, Terms};

const NOW: u64 = 1_000_000;

fn claims() -> Claims {
    Claims {
        session: *b"0123456789abcdef",
        holder: Holder::Session,
        began: NOW - 10,
        issued: NOW,
        uses: 3,
        terms: Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false },
        server_name: tidegate_hello::negotiate::server_name_hash(Some("shop.example")),
        client_auth: 0,
    }
}

static RING: LazyLock<(Keyring, Vec<u8>)> = LazyLock::new(|| {
    let hour = Duration::from_secs(3600);
    let ring = Keyring::new(hour, hour, NOW).expect("the system has randomness");
    let ticket = ring.seal(&claims(), b"the state of the TLS library").expect("it seals");
    (ring, ticket)
});

fuzz_target!(|bytes: &[u8]| {
    let (ring, valid) = &*RING;
    assert!(ring.open(bytes, NOW).is_err());

    // The name of a key is public: every ticket begins with it.
    let named = [&valid[..8], bytes].concat();
    assert!(named == *valid || ring.open(&named, NOW).is_err());

    // Changes: pairs of position and mask, then a length.
    let mut changed = valid.clone();
    for pair in bytes.chunks_exact(2) {
        let at = usize::from(pair[0]) % changed.len();
        changed[at] ^= pair[1];
    }
    if bytes.len() % 2 == 1 {
        let length = usize::from(bytes[bytes.len() - 1]);
        changed.resize(length.min(valid.len() + 16), 0);
    }
    match ring.open(&changed, NOW) {
        Ok(opened) => {
            assert_eq!(changed, *valid);
            assert_eq!(opened.claims, claims());
        }
        Err(_) => assert_ne!(changed, *valid),
    }
});
