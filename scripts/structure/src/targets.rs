//! The targets of the workspace: the root file of every library, program,
//! test, example and benchmark, at the places where cargo looks by itself.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::source;

/// The folders of the crates in `crates/` and `sites/`.
///
/// # Errors
/// A folder that cannot be read.
pub fn crates(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in ["crates", "sites"].map(|name| root.join(name)) {
        if folder.is_dir() {
            found.extend(source::entries(&folder)?);
        }
    }
    found.retain(|folder| folder.join("Cargo.toml").is_file());
    Ok(found)
}

/// The root file of every target of every crate of the workspace and of this program.
///
/// # Errors
/// A folder that cannot be read.
pub fn all(root: &Path) -> Result<Vec<PathBuf>> {
    let mut targets = Vec::new();
    let mut folders = crates(root)?;
    folders.push(root.join("scripts/structure"));
    for folder in folders {
        let source = folder.join("src");
        targets.extend(
            ["lib.rs", "main.rs"]
                .iter()
                .map(|name| source.join(name))
                .filter(|file| file.is_file()),
        );
        for kind in ["src/bin", "tests", "examples", "benches"] {
            let kind = folder.join(kind);
            if !kind.is_dir() {
                continue;
            }
            for entry in source::entries(&kind)? {
                if entry.extension().is_some_and(|extension| extension == "rs") {
                    targets.push(entry);
                } else if entry.join("main.rs").is_file() {
                    targets.push(entry.join("main.rs"));
                }
            }
        }
    }
    Ok(targets)
}
