//! Passes bytes to the reader of traces: as they are, and behind a valid header. What it reads is
//! analysed.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features trace traces`

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use tidegate_trace::{Process, Trace, analysis};

const HEADER: &[u8] =
    br#"{"role":"gate","pid":1,"host":"h","boot":"b","machine":{"cpu":"","cpus":1,
"kernel":"","system":""},"processors":1.0,"started_ns":0,"started_unix_ns":0,"cpu_every":1,
"sample_ms":100,"pressure":true}"#;

fuzz_target!(|bytes: &[u8]| {
    let file = Path::new("fuzzed");
    analyse(Process::from_bytes(bytes, file).ok());
    let mut whole = b"TDGTRACE".to_vec();
    whole.extend_from_slice(&tidegate_trace::VERSION.to_le_bytes());
    whole.extend_from_slice(&(HEADER.len() as u32).to_le_bytes());
    whole.extend_from_slice(HEADER);
    whole.extend_from_slice(bytes);
    analyse(Some(Process::from_bytes(&whole, file).expect("the header is valid")));
});

fn analyse(process: Option<Process>) {
    let Some(process) = process else { return };
    analysis::phase_means(&process, None);
    let trace = Trace::of(vec![process]).expect("one machine");
    let analysis = analysis::analyse(&trace);
    assert!(analysis.notes.iter().all(|note| !note.is_empty()));
}
