//! Passes bytes to the gate's reader of WebSocket frames, whole, in pieces and byte by byte. It must
//! not panic, and must find the same ends of frames each time as a plain reader of whole frames.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate websocket_frames`

#![no_main]

use libfuzzer_sys::fuzz_target;

/// The gate's module, which is private to its crate.
#[allow(dead_code)]
#[path = "../../crates/gate/src/tunnel/frames.rs"]
mod frames;

use frames::Frames;

fuzz_target!(|bytes: &[u8]| {
    let piece = usize::from(bytes.last().copied().unwrap_or(0)) + 2;
    let (between, closes, ends) = expected(bytes);
    for piece in [bytes.len().max(1), piece, 1] {
        let mut frames = Frames::default();
        bytes.chunks(piece).for_each(|piece| frames.feed(piece));
        assert_eq!((frames.is_between(), frames.closes()), (between, closes));
    }
    let (mut frames, mut at) = (Frames::default(), 0);
    for end in ends {
        at += frames.feed_frame(&bytes[at..]);
        assert_eq!(at, end);
    }
});

/// Whether the last byte ends a frame, whether a frame that closes has begun, and where whole
/// frames end.
fn expected(bytes: &[u8]) -> (bool, bool, Vec<usize>) {
    let (mut at, mut closes, mut ends) = (0, false, Vec::new());
    while at < bytes.len() {
        closes |= bytes[at] & 0x0f == 8;
        let Some(second) = bytes.get(at + 1) else { return (false, closes, ends) };
        let extended = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let Some(length) = bytes.get(at + 2..at + 2 + extended) else {
            return (false, closes, ends);
        };
        let length = match extended {
            0 => u64::from(second & 0x7f),
            _ => length.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
        };
        let mask = if second & 0x80 != 0 { 4 } else { 0 };
        let rest = (bytes.len() - at - 2 - extended) as u64;
        let whole = length.saturating_add(mask);
        if whole > rest {
            return (false, closes, ends);
        }
        at += 2 + extended + whole as usize;
        ends.push(at);
    }
    (true, closes, ends)
}
