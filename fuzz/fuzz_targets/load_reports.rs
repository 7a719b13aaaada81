//! Passes values to the gate's reader of ORCA load reports: text, JSON and Protocol Buffers. It
//! must not panic, and utilizations that it reads are in range.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate load_reports`

#![no_main]

use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use tidegate_gate::telemetry::usage::load::orca;

fuzz_target!(|bytes: &[u8]| {
    let in_range = |found: Option<f64>| assert!(found.is_none_or(|it| it > 0.0 && it <= 100.0));
    let Ok(value) = HeaderValue::from_bytes(bytes) else { return };
    in_range(orca::read(&value));
    for format in ["TEXT ", "JSON ", "BIN "] {
        let bytes = [format.as_bytes(), bytes].concat();
        in_range(orca::read(&HeaderValue::from_bytes(&bytes).unwrap()));
    }
    let mut head = HeaderMap::new();
    head.insert("endpoint-load-metrics-bin", value);
    in_range(orca::take(&mut head));
    assert!(head.is_empty());
});
