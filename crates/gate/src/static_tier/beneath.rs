//! A directory out of which no name leads.

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How often a name is resolved anew where the kernel saw a folder move meanwhile.
const ATTEMPTS: usize = 4;

/// How files are opened. A pipe does not keep anybody waiting.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// An open directory.
#[derive(Debug)]
pub struct Beneath(OwnedFd);

impl Beneath {
    /// Opens a directory, through symbolic links.
    ///
    /// # Errors
    /// It is not there, not a directory, or may not be read.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(directory, flags, Mode::empty())?))
    }

    /// Opens the regular file of this name below the directory; `None` where there is none, and
    /// where the name leads out of it: by `..`, or by a symbolic link. The kernel resolves the
    /// name so that nobody can move a link into its way meanwhile.
    ///
    /// # Errors
    /// It is there and cannot be opened.
    pub fn file(&self, name: &[u8]) -> io::Result<Option<File>> {
        match self.resolve(OsStr::from_bytes(name)) {
            Ok(opened) => {
                let file = File::from(opened);
                Ok(file.metadata()?.is_file().then_some(file))
            }
            Err(error) if is_absence(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether there is a folder of this name below the directory.
    ///
    /// # Errors
    /// It cannot be looked for.
    pub fn has_folder(&self, name: &[u8]) -> io::Result<bool> {
        let name = name.strip_suffix(b"/").unwrap_or(name);
        match self.resolve(OsStr::from_bytes(name)) {
            Ok(opened) => Ok(File::from(opened).metadata()?.is_dir()),
            Err(error) if is_absence(error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn resolve(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..ATTEMPTS {
            match openat2(&self.0, name, READ, Mode::empty(), within) {
                Err(Errno::AGAIN) => {}
                Err(Errno::NOSYS | Errno::PERM) => return self.step_by_step(name),
                opened => return opened,
            }
        }
        Err(Errno::AGAIN)
    }

    /// The same without `openat2` (Linux before 5.6, or a sandbox without it): no symbolic link
    /// is followed.
    fn step_by_step(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let mut segments = name.as_bytes().split(|byte| *byte == b'/').peekable();
        let mut folder: Option<OwnedFd> = None;
        while let Some(segment) = segments.next() {
            if matches!(segment, b"" | b"." | b"..") {
                return Err(Errno::NOENT);
            }
            let at = folder.as_ref().unwrap_or(&self.0);
            let segment = OsStr::from_bytes(segment);
            if segments.peek().is_none() {
                return openat(at, segment, READ | OFlags::NOFOLLOW, Mode::empty());
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = Some(openat(at, segment, flags, Mode::empty())?);
        }
        Err(Errno::NOENT)
    }
}

/// Whether an error says that the directory has no file of this name.
fn is_absence(error: Errno) -> bool {
    let absence = [
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::ISDIR,
        Errno::NAMETOOLONG,
        // The name leads out of the directory, or through too many links.
        Errno::XDEV,
        Errno::LOOP,
        // A socket, or a device without its driver.
        Errno::NXIO,
        Errno::NODEV,
    ];
    absence.contains(&error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    /// What both ways of resolving read: of a kernel with `openat2`, and step by step.
    fn read(directory: &Path, name: &str) -> [Option<String>; 2] {
        let beneath = Beneath::open(directory).unwrap();
        let text = |mut file: File| {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            text
        };
        let step = beneath.step_by_step(OsStr::new(name)).ok().map(File::from);
        let step = step.filter(|file| file.metadata().unwrap().is_file());
        [beneath.file(name.as_bytes()).unwrap().map(text), step.map(text)]
    }

    #[test]
    fn no_name_and_no_link_leads_out_of_the_directory() {
        let outer = tempfile::tempdir().unwrap();
        std::fs::write(outer.path().join("secret"), "secret").unwrap();
        let root = outer.path().join("tier");
        std::fs::create_dir_all(root.join("in")).unwrap();
        std::fs::write(root.join("in/page"), "page").unwrap();
        symlink("in/page", root.join("inner")).unwrap();
        symlink("in", root.join("folder")).unwrap();
        symlink("../secret", root.join("up")).unwrap();
        symlink(outer.path().join("secret"), root.join("absolute")).unwrap();
        symlink("/proc/self/root/etc/passwd", root.join("magic")).unwrap();
        symlink("..", root.join("out")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let page = Some("page".to_owned());
        assert_eq!(read(&root, "in/page"), [page.clone(), page.clone()]);
        assert_eq!(read(&root, "inner"), [page.clone(), None], "a link within");
        assert_eq!(read(&root, "folder/page"), [page, None]);
        for name in
            ["up", "absolute", "magic", "out/secret", "loop", "../secret", "in/../../secret"]
        {
            assert_eq!(read(&root, name), [None, None], "{name}");
        }
        for name in ["in", "", ".", "in/", "in/page/", "none", "in/page/x", &"x".repeat(300)] {
            assert_eq!(read(&root, name), [None, None], "{name}");
        }
    }

    #[test]
    fn a_pipe_is_no_file_and_keeps_nobody_waiting() {
        let root = tempfile::tempdir().unwrap();
        let name = std::ffi::CString::new(root.path().join("pipe").as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a string that ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(read(root.path(), "pipe"), [None, None]);
    }
}
