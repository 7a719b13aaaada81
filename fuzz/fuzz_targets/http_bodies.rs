//! Passes bytes as the body of a chunked request, or as its trailers, to the gate's reader
//! and to hyper's server. Where the reader finds the end, hyper must find it, with as many
//! trailers as the bytes have lines.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate http_bodies`

#![no_main]

use libfuzzer_sys::fuzz_target;

/// The gate's module, which is private to its crate.
#[allow(dead_code, unused_imports)]
#[path = "../../crates/gate/src/framing/mod.rs"]
mod framing;
mod hyper_pair;

use framing::Reader;
use hyper_pair::{LIMITS, divide, serve};

const HEAD: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
const BODY: &[u8] = b"3;x=y\r\na\nb\r\n0\r\n";

fuzz_target!(|bytes: &[u8]| {
    for begin in [HEAD.to_vec(), [HEAD, BODY].concat()] {
        let all = [&begin, bytes].concat();
        let messages = divide(&all, || Reader::requests(LIMITS));
        let Some(end) = messages.ends.first() else {
            // Not complete, or broken: hyper must not take an incomplete one for whole.
            assert!(messages.broken || serve(&all).0.is_empty());
            continue;
        };
        let (requests, refused) = serve(&all[..*end]);
        let shown = || all[..*end].escape_ascii().to_string();
        assert!(!refused && requests.len() == 1, "{:?} of {}", requests, shown());
        let body = &requests[0].1;
        if begin.len() > HEAD.len() {
            assert_eq!(body.data, b"a\nb");
            let lines = all[begin.len()..*end].split(|byte| *byte == b'\n').count();
            assert_eq!(body.trailers, lines - 2, "{}", shown());
        }
    }
});
