//! Reads bytes as a feeder file, as CSV and as JSON Lines. Neither must panic; a file gives
//! rows of as many values as it has names, or mistakes with lines that it has.
//!
//! To run it alone, from the repository's root:
//! `cargo +nightly fuzz run --features load feeders`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_load::feeder::read::{from_csv, from_json_lines};

fuzz_target!(|bytes: &[u8]| {
    let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
    for read in [from_csv(bytes), from_json_lines(bytes)] {
        match read {
            Ok(rows) => {
                assert!(!rows.is_empty() && !rows.names().is_empty());
                let last = rows.value(rows.len() - 1, rows.names().len() - 1);
                assert!(last.len() <= bytes.len());
            }
            Err(wrong) => {
                assert!(!wrong.is_empty());
                assert!(wrong.iter().all(|wrong| wrong.line <= lines));
                assert!(wrong.iter().all(|wrong| !wrong.problem.rule.is_empty()));
            }
        }
    }
});
