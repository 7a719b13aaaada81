//! The reference page of scenario files is what the source declares.

use std::path::Path;

/// `TIDEGATE_BLESS=1 cargo test -p tidegate-sim --test reference` writes the page anew.
#[test]
fn the_reference_page_is_what_the_source_declares() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulation-scenarios.md");
    let page = tidegate_sim::reference();
    if std::env::var_os("TIDEGATE_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let drift = written.lines().zip(page.lines()).find(|(written, page)| written != page);
    assert!(
        written == page,
        "docs/simulation-scenarios.md differs from the source, first in {drift:?}; \
         TIDEGATE_BLESS=1 cargo test -p tidegate-sim --test reference writes it anew"
    );
}
