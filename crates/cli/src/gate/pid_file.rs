//! The file that has the process id of the gate in service.

use crate::exit::bad_input;
use std::path::PathBuf;

/// A file with the id of this process. Dropped, it is removed, unless another process that took
/// this one's place has written its own.
pub struct PidFile(PathBuf);

impl PidFile {
    /// Writes the file, over that of the gate before.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(path: PathBuf) -> anyhow::Result<Self> {
        let written = std::fs::write(&path, Self::content());
        written.map_err(|error| {
            let place = path.display();
            bad_input(format!("--pid-file {place}: cannot be written: {error}; name another file"))
        })?;
        Ok(Self(path))
    }

    fn content() -> String {
        format!("{}\n", std::process::id())
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if std::fs::read_to_string(&self.0).is_ok_and(|content| content == Self::content()) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_process_that_took_the_place_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        drop(PidFile::write(path.clone()).unwrap());
        assert!(!path.exists());
        let file = PidFile::write(path.clone()).unwrap();
        std::fs::write(&path, "1\n").unwrap();
        drop(file);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n");
    }
}
