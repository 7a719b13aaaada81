//! Passes bytes to the gate's reader of requests and to hyper's server. Each request that
//! the reader accepts, hyper must read as exactly one request that ends where the reader
//! says.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate http_requests`

#![no_main]

use libfuzzer_sys::fuzz_target;

/// The gate's module, which is private to its crate.
#[allow(dead_code, unused_imports)]
#[path = "../../crates/gate/src/framing/mod.rs"]
mod framing;
mod hyper_pair;

use framing::Reader;
use hyper_pair::{LIMITS, divide, serve};

fuzz_target!(|bytes: &[u8]| {
    let messages = divide(bytes, || Reader::requests(LIMITS));
    let mut begin = 0;
    for end in messages.ends {
        let message = &bytes[begin..end];
        let (requests, refused) = serve(message);
        assert!(!refused, "hyper refuses {:?}", message.escape_ascii().to_string());
        assert_eq!(requests.len(), 1, "{:?}", message.escape_ascii().to_string());
        begin = end;
    }
    // A request that is not complete for the reader is not complete for hyper.
    if !messages.broken {
        assert!(serve(&bytes[begin..]).0.is_empty());
    }
});
