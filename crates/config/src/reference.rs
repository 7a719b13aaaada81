//! The table of a reference page, made from declared keys.

use std::fmt::Write;

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
