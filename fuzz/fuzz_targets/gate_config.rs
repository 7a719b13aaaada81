//! Feeds text to the reader of configuration files: it never panics, and
//! every mistake is a single line.
//!
//! `scripts/fuzz` seeds it with the example file. By hand, from the
//! repository's root:
//! `mkdir -p fuzz/corpus/gate_config && cp tidegate.example.toml fuzz/corpus/gate_config/`
//! `cargo +nightly fuzz run --features gate gate_config`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_gate::config::{Config, Mistakes};

fuzz_target!(|text: &str| {
    match Config::from_toml(text, "fuzz.toml") {
        Ok(config) => drop(config.warnings()),
        Err(Mistakes(mistakes)) => {
            assert!(!mistakes.is_empty());
            for mistake in mistakes {
                let line = mistake.to_string();
                assert_eq!(line.lines().count(), 1, "{line:?}");
                assert!(!line.contains(char::is_control), "{line:?}");
                assert!(line.len() < 2_000, "{line:?}");
            }
        }
    }
});
