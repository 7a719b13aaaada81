//! Tidegate's own binary.

use std::path::{Path, PathBuf};

/// Remedy where it is missing.
pub const BUILD: &str = "build it with cargo build --profile dist, or give --tidegate";

/// Where it should be: as given, or beside this program.
pub fn path(given: Option<&Path>) -> PathBuf {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("tidegate"));
    given.map(Path::to_owned).or_else(beside).unwrap_or_default()
}
