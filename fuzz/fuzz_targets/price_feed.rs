//! Reads bytes as a file of prices: ticks, or a bounded list of mistakes with their lines.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features sites price_feed`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_brokerage::app::read_ticks;

fuzz_target!(|bytes: &[u8]| {
    match read_ticks(bytes) {
        Ok(ticks) => assert!((1..=bytes.len()).contains(&ticks)),
        Err(mistakes) => assert!((1..=21).contains(&mistakes.len())),
    }
});
