//! The files that are read while something is made of them: noted, so that they can be sent to
//! another machine, or taken from those that came from there and from nowhere else.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::Path;

use crate::bounded::all_of;

/// Contents by the path that a file is read by.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Most bytes of all noted files together.
pub const LARGEST_FILES: u64 = 16 << 20;

/// Where the readers of this thread find files.
enum Source {
    Machine,
    Noted(Files),
    Given(Files),
}

thread_local! {
    static SOURCE: RefCell<Source> = const { RefCell::new(Source::Machine) };
}

/// Puts the source of before back, also when the work panics.
struct Restored(Option<Source>);

impl Restored {
    fn with(source: Source) -> Self {
        Self(Some(SOURCE.replace(source)))
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        SOURCE.set(self.0.take().unwrap_or(Source::Machine));
    }
}

/// Does the work and returns the files that it opened on this thread through this crate. One that
/// would make them more than [`LARGEST_FILES`] is an error of its reader.
pub fn noting_files<T>(work: impl FnOnce() -> T) -> (T, Files) {
    let _before = Restored::with(Source::Noted(Files::new()));
    let done = work();
    match SOURCE.replace(Source::Machine) {
        Source::Noted(files) => (done, files),
        Source::Machine | Source::Given(_) => (done, Files::new()),
    }
}

/// Does the work with these files in place of the machine's: on this thread no other can be opened
/// through this crate.
pub fn with_files<T>(files: Files, work: impl FnOnce() -> T) -> T {
    let _before = Restored::with(Source::Given(files));
    work()
}

/// Opens a file.
///
/// # Errors
/// It cannot be read, or is not among those that were given.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let key = || path.to_string_lossy().into_owned();
    SOURCE.with_borrow_mut(|source| match source {
        Source::Machine => Ok(Box::new(File::open(path)?) as Box<dyn Read>),
        Source::Given(files) => match files.get(&key()) {
            Some(bytes) => Ok(Box::new(Cursor::new(bytes.clone())) as Box<dyn Read>),
            None => Err(io::Error::new(ErrorKind::NotFound, "did not come with the test")),
        },
        Source::Noted(files) => {
            let key = key();
            let others = files.iter().filter(|(name, _)| **name != key);
            let room =
                LARGEST_FILES.saturating_sub(others.map(|(_, it)| it.len() as u64).sum::<u64>());
            let bytes = all_of(File::open(path)?, room).map_err(|error| match error.kind() {
                ErrorKind::FileTooLarge => {
                    let most = LARGEST_FILES >> 20;
                    let rule =
                        format!("has, with the other files of the test, more than {most} MiB");
                    io::Error::new(ErrorKind::FileTooLarge, rule)
                }
                _ => error,
            })?;
            files.insert(key, bytes.clone());
            Ok(Box::new(Cursor::new(bytes)) as Box<dyn Read>)
        }
    })
}

/// Whether there is such a file or folder.
pub fn exists(path: &Path) -> bool {
    SOURCE.with_borrow(|source| match source {
        Source::Given(files) => files.contains_key(path.to_string_lossy().as_ref()),
        Source::Machine | Source::Noted(_) => path.exists(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_bytes;

    #[test]
    fn noted_files_are_all_that_there_is_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        [&a, &b].iter().for_each(|path| std::fs::write(path, "x").unwrap());
        let (read, files) = noting_files(|| read_bytes(&a, 1024).unwrap());
        assert_eq!((read.as_slice(), files.len()), (&b"x"[..], 1));
        std::fs::write(&a, "changed").unwrap();
        with_files(files, || {
            assert_eq!(read_bytes(&a, 1024).unwrap(), b"x");
            assert_eq!((exists(&a), exists(&b)), (true, false));
            let error = read_bytes(&b, 1024).unwrap_err();
            assert_eq!(error.to_string(), "did not come with the test");
        });
        assert_eq!(read_bytes(&a, 1024).unwrap(), b"changed");
    }

    #[test]
    fn files_that_are_too_large_together_are_not_noted() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::write(&a, vec![0; 10 << 20]).unwrap();
        std::fs::write(&b, vec![0; 7 << 20]).unwrap();
        let ((first, second), files) = noting_files(|| {
            let read = |path| read_bytes(path, 64 << 20);
            (read(&a).and_then(|_| read(&a)).map(drop), read(&b))
        });
        assert!(first.is_ok() && files.len() == 1);
        assert!(second.unwrap_err().to_string().ends_with("more than 16 MiB"));
    }
}
