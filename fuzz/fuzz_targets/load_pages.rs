//! Passes text to the gate's reader of node_exporter pages. It must not panic, and times that it
//! reads are finite and not negative.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate load_pages`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_gate::telemetry::usage::load::CpuTimes;

fuzz_target!(|text: &str| {
    if let Ok(times) = CpuTimes::read(text) {
        assert!(times.cpus > 0 && times.used_s >= 0.0 && times.idle_s >= 0.0);
    }
});
