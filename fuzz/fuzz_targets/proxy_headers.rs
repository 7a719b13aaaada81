//! Passes bytes to the reader of the PROXY protocol's headers, as they are and after each
//! signature. What is complete stays complete with more bytes, and what is refused stays refused.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate proxy_headers`

#![no_main]

use libfuzzer_sys::fuzz_target;

/// The gate's module, which is private to its crate.
#[allow(dead_code)]
#[path = "../../crates/gate/src/listen/proxy_header.rs"]
mod proxy_header;

fn check(bytes: &[u8]) {
    let whole = proxy_header::read(bytes);
    for length in 0..bytes.len().min(600) {
        match proxy_header::read(&bytes[..length]) {
            Ok(None) => {}
            decided => assert_eq!(decided, whole, "after {length} bytes"),
        }
    }
    if let Ok(Some(header)) = whole {
        assert!(header.length <= bytes.len() && header.length <= proxy_header::LONGEST);
        assert_eq!(proxy_header::read(&bytes[..header.length]), whole);
        assert_eq!(proxy_header::read(&bytes[..header.length - 1]), Ok(None));
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check(&[b"PROXY TCP4 ", bytes].concat());
    check(&[b"PROXY TCP6 ", bytes].concat());
    check(&[b"\r\n\r\n\0\r\nQUIT\n", bytes].concat());
    check(&[b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0", bytes].concat());
});
