//! The reference page of plan files is what the source declares.

use std::path::Path;

use tidegate_config::check_page;

/// `TIDEGATE_BLESS=1 cargo test --workspace --test plan` writes the page anew.
#[test]
fn the_reference_page_is_what_the_source_declares() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan-reference.md");
    check_page(&path, &tidegate_plan::reference()).unwrap();
}
