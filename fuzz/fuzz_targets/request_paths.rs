//! Passes text to the gate's reading of paths: below a directory, and for routes. No name leads
//! out of the directory or shows what is hidden; a path for routes has no dot segments.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate request_paths`

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// The gate's module, which is private to its crate.
#[allow(dead_code)]
#[path = "../../crates/gate/src/path.rs"]
mod path;

fuzz_target!(|path: &str| {
    if let Some(name) = path::below_a_directory(path) {
        assert!(!name.contains(&0) && !name.contains(&b'\\'), "{name:?}");
        for component in Path::new(OsStr::from_bytes(&name)).components() {
            let Component::Normal(part) = component else { panic!("{name:?}") };
            let part = part.as_bytes();
            let hidden = part.starts_with(b".") && part != b".well-known";
            let variant = part.starts_with(b"@") && part.contains(&b'=');
            assert!(!hidden && !variant && part.len() < 256, "{name:?}");
        }
    }
    let read = path::for_routes(path);
    if path.starts_with('/') {
        assert!(read.starts_with(b"/"), "{read:?}");
        let mut segments = read[1..].split(|byte| *byte == b'/').rev();
        // The last one is empty where the path ends with `/`.
        segments.next();
        assert!(segments.all(|segment| !matches!(segment, b"" | b"." | b"..")), "{read:?}");
    }
    if let Some(prefix) = path::PathPrefix::new(path) {
        assert_eq!(path::PathPrefix::new(&prefix.to_string()), Some(prefix));
    }
});
