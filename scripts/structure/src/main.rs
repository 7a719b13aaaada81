//! `structure [--within-folders] [ROOT]`: checks the structure of the workspace
//! at ROOT (default: the current folder) and prints every fault with its remedy.
//!
//! - Crates depend downwards only ([`layers`]).
//! - No modules of different folders import each other in a circle ([`circles`]);
//!   with `--within-folders` also none of the same folder.
//! - Concepts that stand once have no second place ([`once`]).
//! - No source file is longer than 500 lines, tables of data excepted ([`length`]).
//!
//! Exit codes: 0 no fault, 1 faults, 2 wrong arguments, 3 the tree cannot be read.

mod circles;
mod layers;
mod length;
mod module;
mod names;
mod once;
mod source;
mod targets;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use circles::Scope;

fn main() -> ExitCode {
    let mut scope = Scope::BetweenFolders;
    let mut root = PathBuf::from(".");
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--within-folders" => scope = Scope::WithinFolders,
            flag if flag.starts_with('-') => {
                eprintln!(
                    "structure: unknown option {flag}; usage: structure [--within-folders] [ROOT]"
                );
                return ExitCode::from(2);
            }
            path => root = PathBuf::from(path),
        }
    }
    match faults(&root, scope) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => {
            for fault in &faults {
                eprintln!("structure: {fault}\n");
            }
            eprintln!("structure: faults found: {}", faults.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("structure: {error:#}");
            ExitCode::from(3)
        }
    }
}

/// Every fault of the workspace at `root`, each a message of one or more lines.
///
/// # Errors
/// A file or folder that cannot be read or parsed.
fn faults(root: &Path, scope: Scope) -> Result<Vec<String>> {
    let mut faults = layers::faults(root)?;
    for target in targets::all(root)? {
        faults.extend(circles::faults(root, &target, scope)?);
    }
    faults.extend(length::faults(root, length::TABLES)?);
    faults.extend(once::faults(root, once::CONCEPTS)?);
    Ok(faults)
}
