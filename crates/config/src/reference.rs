//! The table of a reference page, made from declared keys.

use std::fmt::Write;
use std::path::Path;

use crate::key::Table;

/// Writes the keys of a table as a table in Markdown: type, range, default and
/// meaning, and the reasons if any is given.
pub fn write_keys(page: &mut String, table: &Table) {
    let reasons = table.rows.iter().any(|row| !row.reason.is_empty());
    let mut heads = vec!["key", "type", "range", "default", "meaning"];
    heads.extend(reasons.then_some("why this default"));
    let _ = writeln!(page, "| {} |\n|{}", heads.join(" | "), " --- |".repeat(heads.len()));
    for row in &table.rows {
        let reason = sentence(row.reason);
        let mut cells = vec![&row.kind, &row.range, &row.preset, &row.meaning];
        cells.extend(reasons.then_some(&reason));
        let cells: Vec<_> = cells.into_iter().map(|text| cell(text)).collect();
        let _ = writeln!(page, "| `{}` | {} |", row.name, cells.join(" | "));
    }
}

/// Compares a page in the repository with what the source declares. With `TIDEGATE_BLESS=1` in the
/// environment the page is written first. For the test of a crate that has a reference page.
///
/// # Errors
/// The page cannot be written, or it differs: the first line that does, and how to renew it.
pub fn check_page(path: &Path, page: &str) -> Result<(), String> {
    if std::env::var_os("TIDEGATE_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, page).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    if written == page {
        return Ok(());
    }
    let drift = written.lines().zip(page.lines()).find(|(written, page)| written != page);
    Err(format!(
        "{} differs from the source, first in {drift:?}; TIDEGATE_BLESS=1 before the command of \
         this test writes it anew",
        path.display()
    ))
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

/// Text that does not end its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
