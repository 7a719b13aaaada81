//! Passes bytes to the import of browsers' recordings. It must not panic, and what it makes must be
//! a valid scenario: the importer checks that itself and says so where it is none.
//!
//! To run it alone, from the repository's root:
//! `cargo +nightly fuzz run --features load har_import`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_load::import::Import;

fuzz_target!(|bytes: &[u8]| {
    match Import::default().from_bytes(bytes) {
        Ok(imported) => assert!(imported.steps > 0),
        Err(message) => assert!(!message.contains("makes no valid scenario"), "{message}"),
    }
});
