//! Passes bytes to the load generator's reader of streams of events. It must not panic, must come to
//! an end, and must find the same events whole and in pieces.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features load event_streams`

#![no_main]

use libfuzzer_sys::fuzz_target;

/// The load generator's module, which is private to its crate.
#[allow(dead_code)]
#[path = "../../crates/load/src/client/event_stream.rs"]
mod event_stream;

use event_stream::{data_of, split_event};

fuzz_target!(|bytes: &[u8]| {
    let whole = events(bytes, bytes.len().max(1));
    let piece = usize::from(bytes.last().copied().unwrap_or(0)) + 2;
    // A pair of line ends that is cut may be one of two kinds.
    if !bytes.contains(&b'\r') {
        assert_eq!(events(bytes, piece), whole);
        assert_eq!(events(bytes, 1), whole);
    }
    for data in whole.into_iter().flatten() {
        assert!(data.len() <= bytes.len());
    }
});

fn events(bytes: &[u8], piece: usize) -> Vec<Option<Vec<u8>>> {
    let (mut text, mut found) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(piece) {
        text.extend_from_slice(piece);
        while let Some(event) = split_event(&mut text) {
            found.push(data_of(&event));
        }
    }
    found
}
