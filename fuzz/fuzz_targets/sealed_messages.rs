//! Passes bytes to both ends of a link with sealed messages: as they are, and as changes to a
//! valid message. Only the valid message opens, once.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features sites sealed_messages`

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tidegate_sitekit::link::fuzzing::Ends;

static ENDS: LazyLock<Ends> = LazyLock::new(|| Ends::new().expect("there is randomness"));

fuzz_target!(|bytes: &[u8]| {
    assert!(ENDS.open(bytes).is_err());
    assert!(ENDS.open_answer(bytes).is_none());
    let valid = ENDS.seal(bytes);
    assert!(ENDS.open_answer(&valid).is_none(), "a request is no answer");
    // Changes: position and mask, then a length.
    let mut changed = valid.clone();
    for change in bytes.chunks_exact(3).take(32) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % changed.len();
        changed[at] ^= change[2];
    }
    if bytes.len() % 3 == 2 {
        let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        changed.resize(length.min(valid.len() + 16), 0);
    }
    if changed != valid {
        assert!(ENDS.open(&changed).is_err());
    }
    match ENDS.open(&valid) {
        Ok(body) => {
            assert_eq!(body, bytes);
            assert!(ENDS.open(&valid).is_err(), "it opens once");
        }
        // A run that is faster than the memory of messages is wide.
        Err(why) => assert!(why.contains("too many messages"), "{why}"),
    }
});
