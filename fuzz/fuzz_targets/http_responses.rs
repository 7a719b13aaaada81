//! Passes bytes to the gate's reader of responses and to hyper's client. Where the reader
//! finds the end of a response, hyper must find it.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate http_responses`

#![no_main]

use libfuzzer_sys::fuzz_target;

/// The gate's module, which is private to its crate.
#[allow(dead_code, unused_imports)]
#[path = "../../crates/gate/src/framing/mod.rs"]
mod framing;
mod hyper_pair;

use framing::Reader;
use hyper::Method;
use hyper_pair::{LIMITS, divide, fetch};

fuzz_target!(|bytes: &[u8]| {
    for method in [Method::GET, Method::HEAD] {
        let to_head = method == Method::HEAD;
        let reader = || {
            let mut reader = Reader::responses(LIMITS);
            reader.expect_response(to_head);
            reader
        };
        let messages = divide(bytes, reader);
        let mut begin = 0;
        for end in &messages.ends {
            // Interim responses belong to the final one.
            if is_interim(&bytes[begin..*end]) {
                begin = *end;
                continue;
            }
            let whole = fetch(&method, &bytes[begin..*end]);
            let shown = bytes[begin..*end].escape_ascii();
            let whole = whole.unwrap_or_else(|| panic!("hyper refuses {shown}"));
            // Were it shorter for hyper, hyper would not need its last byte.
            if !whole.data.is_empty() || whole.trailers > 0 {
                let short = fetch(&method, &bytes[begin..*end - 1]);
                assert!(short.is_none(), "hyper ends before {shown}");
            }
            begin = *end;
        }
    }
});

fn is_interim(message: &[u8]) -> bool {
    message.get(9) == Some(&b'1')
}
