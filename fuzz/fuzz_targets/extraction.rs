//! Passes a selector (the first line) and a page (the rest) to the search for
//! values that customers extract. It must not panic, and a value must not be
//! longer than the page allows.
//!
//! To run it alone, from the repository's root:
//! `cargo +nightly fuzz run --features load extraction`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_load::css::{Selector, Wanted, find};

fuzz_target!(|bytes: &[u8]| {
    let (line, page) = bytes.split_at(bytes.iter().position(|b| *b == b'\n').unwrap_or(0));
    let Ok(selector) = std::str::from_utf8(line).map(Selector::parse) else { return };
    let selector = match selector {
        Ok(selector) => selector,
        Err(message) => return assert!(!message.is_empty()),
    };
    let text = Wanted { selector: selector.clone(), attribute: None };
    let value = Wanted { selector, attribute: Some("value".to_owned()) };
    let both = find(page, &[&text, &value]);
    // One pass for several selectors finds the same as a pass for each.
    assert_eq!(both[0], find(page, &[&text])[0]);
    assert_eq!(both[1], find(page, &[&value])[0]);
    for found in both.iter().flatten() {
        // A byte that is not UTF-8 becomes three.
        assert!(found.len() <= 3 * page.len());
    }
});
