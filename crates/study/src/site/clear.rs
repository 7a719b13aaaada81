//! The folder of a result before a new one.

use std::path::PathBuf;

use tidegate_experiment::{Error, Folder, Result};

/// Removes the results and the numbered raw data of an earlier study, so that they are not taken
/// for those of this one, which may have fewer. `raw` are the folders of raw data; they are made.
///
/// # Errors
/// [`Error::Operator`]: a file cannot be removed.
pub(crate) fn clear(folder: &Folder, raw: &[&str], results: &[&str]) -> Result<()> {
    let wrong = |error: std::io::Error| {
        Error::Operator(format!("--out {}: {error}; name another folder", folder.path().display()))
    };
    let is_raw = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let numbered = name.get(..3).is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit()));
        numbered && (name.ends_with(".requests.parquet") || name.ends_with(".json"))
    };
    let mut all: Vec<PathBuf> = results.iter().map(|name| folder.file(name)).collect();
    for raw in raw.iter().map(|name| folder.file(name)) {
        std::fs::create_dir_all(&raw).map_err(wrong)?;
        let earlier = std::fs::read_dir(&raw).map_err(wrong)?.flatten().map(|entry| entry.path());
        all.extend(earlier.filter(is_raw));
    }
    for path in all {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(wrong(error)),
            _ => {}
        }
    }
    Ok(())
}
