//! Passes bytes to the reader of access logs, in both formats. It must not panic, times must be finite,
//! and requests of operations are never more than lines.
//!
//! To run it alone, from the repository's root:
//! `cargo +nightly fuzz run --features load access_log`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_load::access_log::{AccessLog, Format, Reading};
use tidegate_load::observed::{Observing, observe};

fuzz_target!(|bytes: &[u8]| {
    for format in [None, Some(Format::Combined), Some(Format::Json)] {
        let session = Some("10:sid".parse().expect("it is a field"));
        let reading = Reading { format, session, ..Reading::default() };
        let log = || {
            let bytes = Box::new(std::io::Cursor::new(bytes.to_vec()));
            AccessLog::of_bytes("fuzz", bytes, reading.clone())
        };
        if let Ok(mut log) = log() {
            while let Ok(Some(entry)) = log.next_entry() {
                assert!(entry.time.is_finite());
                assert!(entry.request.is_none_or(|it| it.target.starts_with('/')));
            }
        }
        if let Ok(observed) = log().and_then(|log| observe(log, &Observing::default())) {
            let requests: u64 = observed.operations.iter().map(|it| it.requests).sum();
            assert!(observed.sessions <= requests && requests <= observed.counts.lines);
            assert!(observed.length_s.value.is_finite() && observed.length_s.value >= 0.0);
        }
    }
});
