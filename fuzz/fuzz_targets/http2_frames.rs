//! Passes bytes to the gate's reader of HTTP/2 frames, whole, in pieces and byte by byte. It must
//! not panic, must find the same each time, and must let no more resets and control frames pass
//! than its allowances.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate http2_frames`

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::time::Instant;

/// The gate's module, which is private to its crate.
#[allow(dead_code, unused_imports)]
#[path = "../../crates/gate/src/framing/mod.rs"]
mod framing;

use framing::{Excess, FrameLimits, Frames};

const LIMITS: FrameLimits = FrameLimits { resets: 3, control: 20 };
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fuzz_target!(|bytes: &[u8]| {
    let now = Instant::now();
    let whole = read(bytes, bytes.len().max(1), now);
    let piece = usize::from(bytes.last().copied().unwrap_or(0)) + 2;
    assert_eq!(read(bytes, piece, now), whole);
    assert_eq!(read(bytes, 1, now), whole);
    assert_eq!(whole.0, expected(bytes));
});

/// What is found after a preface, and whether a head is incomplete.
fn read(bytes: &[u8], piece: usize, now: Instant) -> (Option<Excess>, bool) {
    let mut frames = Frames::new(LIMITS, now);
    frames.feed(PREFACE, now).expect("no frame");
    let excess = bytes.chunks(piece).find_map(|piece| frames.feed(piece, now).err());
    (excess, excess.is_none() && frames.head_is_incomplete())
}

/// The same by a plain count over whole headers.
fn expected(mut bytes: &[u8]) -> Option<Excess> {
    let (mut resets, mut control) = (LIMITS.resets, LIMITS.control);
    while let [a, b, c, kind, flags, _, _, _, _, rest @ ..] = bytes {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        match kind {
            0 if length > 0 || flags & 1 == 1 => {}
            1 => control = (control + 4).min(LIMITS.control),
            3 if resets == 0 => return Some(Excess::Resets),
            3 => resets -= 1,
            _ if control == 0 => return Some(Excess::ControlFrames),
            _ => control -= 1,
        }
        bytes = rest.get(length..).unwrap_or_default();
    }
    None
}
