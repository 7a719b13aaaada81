//! Files written during a run, by the recorder and never by a worker thread. An I/O error
//! ends the file and is reported with the result; the measurement continues.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A file format. Buffers a bounded number of rows.
pub(super) trait Rows: Sized {
    /// What is written at a time.
    type Row<'a>;

    fn begin(file: File) -> io::Result<Self>;

    fn write(&mut self, row: &Self::Row<'_>) -> io::Result<()>;

    /// Writes what is still held.
    fn finish(&mut self) -> io::Result<()>;

    /// Lets go of the file after an error.
    fn abandon(self) {}
}

/// A file of rows, and what went wrong with it.
#[derive(Debug)]
pub(super) struct RowFile<W> {
    path: PathBuf,
    rows: Option<W>,
    written: u64,
    error: Option<String>,
}

impl<W: Rows> RowFile<W> {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let rows = File::create(path)
            .and_then(W::begin)
            .map_err(|source| Error::File { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), rows: Some(rows), written: 0, error: None })
    }

    pub(super) fn write(&mut self, row: &W::Row<'_>) {
        let Some(rows) = &mut self.rows else { return };
        match rows.write(row) {
            Ok(()) => self.written += 1,
            Err(error) => self.fail(&error),
        }
    }

    /// Finishes the file; returns the first error.
    pub(super) fn finish(mut self) -> Option<String> {
        if let Some(rows) = &mut self.rows
            && let Err(error) = rows.finish()
        {
            self.fail(&error);
        }
        self.error
    }

    fn fail(&mut self, error: &io::Error) {
        self.error =
            Some(format!("{}: {error}, after about {} rows", self.path.display(), self.written));
        if let Some(rows) = self.rows.take() {
            rows.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails at the third row, as a disk does that fills up.
    struct Full(u32);

    impl Rows for Full {
        type Row<'a> = ();

        fn begin(_: File) -> io::Result<Self> {
            Ok(Self(0))
        }

        fn write(&mut self, (): &()) -> io::Result<()> {
            self.0 += 1;
            assert!(self.0 <= 3, "nothing is written after an error");
            if self.0 == 3 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }

        fn finish(&mut self) -> io::Result<()> {
            panic!("a file that failed is not finished");
        }
    }

    #[test]
    fn a_full_disk_ends_the_file_and_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = RowFile::<Full>::create(&folder.path().join("x")).unwrap();
        (0..5).for_each(|_| file.write(&()));
        let error = file.finish().unwrap();
        assert!(error.contains("x: no storage space, after about 2 rows"), "{error}");
    }

    #[test]
    fn a_missing_folder_is_bad_input() {
        let error = RowFile::<Full>::create(Path::new("/nowhere/at/all")).err().unwrap();
        assert_eq!(error.exit_code(), 2);
    }
}
