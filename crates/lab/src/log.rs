//! The log of a process: a file that keeps what it writes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::error::{Fault, Result};

/// Bytes of the end that an error message shows at most.
const SHOWN: u64 = 2000;

/// A file that a process writes its output to.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: Option<PathBuf>,
}

impl Log {
    /// A log at a path; an existing file is replaced.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
        let file = file.of_writing(path)?;
        Ok(Self { file, path: Some(path.to_owned()) })
    }

    /// A log without a name, which the system removes with the last process that has it
    /// open.
    ///
    /// # Errors
    /// No temporary file can be created.
    pub fn unnamed() -> Result<Self> {
        let file = tempfile::tempfile().of_machine("cannot create a temporary file")?;
        Ok(Self { file, path: None })
    }

    /// The log as a standard stream of a process.
    ///
    /// # Errors
    /// This process has too many open files.
    pub fn stdio(&self) -> Result<Stdio> {
        Ok(self.file.try_clone().of_machine("cannot share a log")?.into())
    }

    /// The end of what was written so far, at most 2000 bytes.
    pub fn end(&self) -> String {
        let length = self.file.metadata().map_or(0, |metadata| metadata.len());
        let mut bytes = vec![0; length.min(SHOWN) as usize];
        let read = self.file.read_at(&mut bytes, length.saturating_sub(SHOWN)).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..read]).trim().to_owned()
    }

    /// The last lines in one, with the log's path.
    pub fn last_lines(&self) -> String {
        let end = self.end();
        let lines: Vec<_> = end.lines().collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        match &self.path {
            Some(path) => format!("{last} (from {})", path.display()),
            None => last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_end_of_a_log_is_its_last_bytes() {
        let log = Log::unnamed().unwrap();
        assert_eq!(log.end(), "");
        let mut file = log.file.try_clone().unwrap();
        writeln!(file, "{}\none\ntwo\nthree", "x".repeat(5000)).unwrap();
        assert!(log.end().ends_with("xx\none\ntwo\nthree") && log.end().len() <= 2000);
        assert_eq!(log.last_lines(), "one / two / three");
    }

    #[test]
    fn the_last_lines_name_the_file_they_come_from() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = Log::create(&path).unwrap();
        std::fs::write(&path, "broken\n").unwrap();
        assert_eq!(log.last_lines(), format!("broken (from {})", path.display()));
    }
}
