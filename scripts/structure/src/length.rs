//! No source file is longer than [`LIMIT`] lines, tables of data excepted.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::source;

/// Most lines of a source file, tests included.
const LIMIT: usize = 500;

/// Where source files are looked for.
const FOLDERS: &[&str] = &["crates", "sites", "scripts", "fuzz", ".ci"];

/// What is a source file by its extension; a file that begins with `#!` is one too.
const EXTENSIONS: &[&str] = &["rs", "sh", "py", "js", "ts", "css"];

/// Folders that hold generated files.
const GENERATED: &[&str] = &["target", "corpus", "artifacts", "coverage", "out"];

/// Files that may be longer, with the reason: tables of data, which nobody reads
/// from top to bottom. An entry that is no longer needed is a fault.
pub const TABLES: &[(&str, &str)] = &[(
    "crates/gate/src/config/fields.rs",
    "the declarations of all keys of the gate's configuration",
)];

/// The files that are too long, and the entries of `tables` that are not needed.
///
/// # Errors
/// A file or folder that cannot be read.
pub fn faults(root: &Path, tables: &[(&str, &str)]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in FOLDERS.iter().map(|folder| root.join(folder)).filter(|folder| folder.is_dir()) {
        source::walk(&folder, GENERATED, &mut files)?;
    }
    let mut faults = Vec::new();
    let mut long_tables = Vec::new();
    for file in files {
        let Some(lines) = lines_of_source(&file)? else { continue };
        if lines <= LIMIT {
            continue;
        }
        let name = source::shown(root, &file);
        if tables.iter().any(|(table, _)| *table == name) {
            long_tables.push(name);
            continue;
        }
        faults.push(format!(
            "{name} has {lines} lines; the limit is {LIMIT}\n  remedy: split it into files of one concept each; \
             a table of data goes into TABLES in scripts/structure/src/length.rs, with the reason"
        ));
    }
    for (table, reason) in tables {
        if !long_tables.iter().any(|name| name == table) {
            faults.push(format!(
                "{table} ({reason}) is exempt from the limit of {LIMIT} lines and has no need of it\n  \
                 remedy: remove it from TABLES in scripts/structure/src/length.rs"
            ));
        }
    }
    Ok(faults)
}

/// The number of lines, or `None` for a file that is not source.
fn lines_of_source(file: &PathBuf) -> Result<Option<usize>> {
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    let by_name = EXTENSIONS.contains(&extension.as_ref());
    if !by_name && !extension.is_empty() {
        return Ok(None);
    }
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    if !by_name && !bytes.starts_with(b"#!") {
        return Ok(None);
    }
    Ok(Some(bytes.iter().filter(|byte| **byte == b'\n').count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::tree;

    #[test]
    fn a_file_at_the_limit_is_allowed_and_one_line_more_is_a_fault() {
        let at_limit = "\n".repeat(LIMIT);
        let above = "\n".repeat(LIMIT + 1);
        let tree = tree(&[
            ("crates/a/src/lib.rs", &at_limit),
            ("crates/a/src/long.rs", &above),
            ("crates/a/src/data.csv", &above),
            ("crates/a/target/long.rs", &above),
        ]);
        let faults = faults(tree.path(), &[]).unwrap();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(
            faults[0].starts_with("crates/a/src/long.rs has 501 lines; the limit is 500"),
            "{}",
            faults[0]
        );
    }

    #[test]
    fn a_script_without_an_extension_is_a_source_file() {
        let script = format!("#!/bin/sh\n{}", "\n".repeat(LIMIT));
        let tree = tree(&[("scripts/long", &script)]);
        assert_eq!(faults(tree.path(), &[]).unwrap().len(), 1);
    }

    #[test]
    fn a_table_is_exempt_for_as_long_as_it_needs_to_be() {
        let tree = tree(&[
            ("crates/a/src/words.rs", &"\n".repeat(LIMIT + 1)),
            ("crates/a/src/lib.rs", "\n"),
        ]);
        let words = ("crates/a/src/words.rs", "a list of words");
        assert_eq!(faults(tree.path(), &[words]).unwrap(), Vec::<String>::new());
        let faults = faults(tree.path(), &[words, ("crates/a/src/lib.rs", "short")]).unwrap();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("crates/a/src/lib.rs (short) is exempt"), "{}", faults[0]);
    }
}
