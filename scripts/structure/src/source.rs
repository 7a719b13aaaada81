//! Files of the tree: walking folders and showing paths.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Adds every file below `folder` to `files`, in the order of their names,
/// without the folders that are named in `skipped`.
///
/// # Errors
/// A folder that cannot be read.
pub fn walk(folder: &Path, skipped: &[&str], files: &mut Vec<PathBuf>) -> Result<()> {
    for path in entries(folder)? {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if !skipped.iter().any(|name| path.ends_with(name)) {
                walk(&path, skipped, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The entries of a folder, in the order of their names.
///
/// # Errors
/// A folder that cannot be read.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut entries = std::fs::read_dir(folder)
        .and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
        })
        .with_context(|| folder.display().to_string())?;
    entries.sort();
    Ok(entries)
}

/// A path as messages show it: relative to the root of the workspace.
pub fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[cfg(test)]
pub mod tests {
    use tempfile::TempDir;

    /// A folder with these files, each given by its path and text.
    pub fn tree(files: &[(&str, &str)]) -> TempDir {
        let root = TempDir::new().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }
}
