//! Reads bytes as what a program of the Common Gateway Interface has written. What is read has
//! a type, a status and a header of bounded size.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features sites cgi_output`

#![no_main]

use http::header::CONTENT_TYPE;
use libfuzzer_sys::fuzz_target;
use tidegate_brokerage::web::read_output;

fuzz_target!(|bytes: &[u8]| {
    match read_output(bytes.to_vec()) {
        Ok(response) => {
            assert!(response.headers().contains_key(CONTENT_TYPE));
            assert!(!response.headers().contains_key("transfer-encoding"));
            assert!(!response.headers().contains_key("content-length"));
        }
        Err(why) => assert!(!why.is_empty()),
    }
});
