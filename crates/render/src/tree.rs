//! The folder of the pages: put together beside the old one, and exchanged with it as a whole.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use brotli::enc::BrotliEncoderParams;
use rustix::fs::{CWD, RenameFlags, renameat_with, syncfs};

use crate::error::{Error, Result, of_file};
use crate::media;

/// Shorter files are not compressed: they fit into a packet.
const WORTH_COMPRESSING: usize = 512;
/// Longer files are compressed with less effort, which is a tenth of the time, in bytes.
const THOROUGH: usize = 256 * 1024;
/// Extensions of the compressed variants.
pub const CODINGS: [&str; 2] = ["br", "gz"];

/// The next pages.
#[derive(Debug)]
pub struct Tree {
    out: PathBuf,
    next: PathBuf,
    /// The files, without their compressed variants.
    pub files: BTreeMap<String, ()>,
    /// How many of them are new.
    pub new: u64,
    /// How many have other content than before.
    pub changed: u64,
    /// How many are as before.
    pub unchanged: u64,
    /// Their size without compression, in bytes.
    pub bytes: u64,
}

impl Tree {
    /// Begins with an empty folder.
    ///
    /// # Errors
    /// It cannot be made, or `out` holds files that no run wrote.
    pub fn begin(out: &Path, next: PathBuf, known: &HashSet<String>) -> Result<Self> {
        if let Some(foreign) = foreign(out, known)? {
            return Err(Error::Operator(format!(
                "{} is in --out {} and was not rendered; the folder is replaced as a whole: name another, or move the file away",
                foreign.display(),
                out.display()
            )));
        }
        match fs::remove_dir_all(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(of_file("remove", &next)(error));
            }
            _ => {}
        }
        fs::create_dir_all(&next).map_err(of_file("make the folder", &next))?;
        let files = BTreeMap::new();
        Ok(Self { out: out.to_owned(), next, files, new: 0, changed: 0, unchanged: 0, bytes: 0 })
    }

    /// Makes a folder, which may stay empty.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn folder(&self, name: &str) -> Result<()> {
        let path = self.next.join(name);
        fs::create_dir_all(&path).map_err(of_file("make the folder", &path))
    }

    /// Puts a file in its place, with its compressed variants. One that is as before is the same
    /// file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put(&mut self, file: &str, bytes: &[u8]) -> Result<()> {
        let path = self.next.join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(of_file("make the folder", folder))?;
        }
        self.bytes += bytes.len() as u64;
        self.files.insert(file.to_owned(), ());
        let old = self.out.join(file);
        let same = match fs::read(&old) {
            Ok(before) if before == bytes => fs::hard_link(&old, &path).is_ok(),
            Ok(_) => {
                self.changed += 1;
                false
            }
            Err(_) => {
                self.new += 1;
                false
            }
        };
        if same {
            self.unchanged += 1;
        } else {
            fs::write(&path, bytes).map_err(of_file("write", &path))?;
        }
        if bytes.len() < WORTH_COMPRESSING || !media::compresses(file) {
            return Ok(());
        }
        for coding in CODINGS {
            let variant = sibling(&path, coding);
            if same && fs::hard_link(sibling(&old, coding), &variant).is_ok() {
                continue;
            }
            let packed = compressed(bytes, coding).map_err(of_file("write", &variant))?;
            if packed.len() < bytes.len() {
                fs::write(&variant, packed).map_err(of_file("write", &variant))?;
            }
        }
        Ok(())
    }

    /// Exchanges the folders, and removes the old one. Returns how many files are gone.
    ///
    /// # Errors
    /// The folders cannot be exchanged: the old one stays.
    pub fn show(self, known: &HashSet<String>) -> Result<u64> {
        let removed = known.iter().filter(|it| !self.files.contains_key(*it));
        let removed = removed.filter(|it| self.out.join(it).exists()).count() as u64;
        // What is renamed is on the disk before its name is.
        File::open(&self.next)
            .and_then(|folder| Ok(syncfs(folder)?))
            .map_err(of_file("write", &self.next))?;
        if !self.out.exists() {
            fs::rename(&self.next, &self.out).map_err(of_file("replace", &self.out))?;
            return Ok(removed);
        }
        let exchanged = renameat_with(CWD, &self.next, CWD, &self.out, RenameFlags::EXCHANGE);
        let old = match exchanged {
            Ok(()) => self.next.clone(),
            // A file system that cannot: without pages for a moment.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                let old = self.next.with_extension("old");
                fs::rename(&self.out, &old)
                    .and_then(|()| fs::rename(&self.next, &self.out))
                    .map_err(of_file("replace", &self.out))?;
                old
            }
            Err(error) => return Err(of_file("replace", &self.out)(error.into())),
        };
        fs::remove_dir_all(&old).map_err(of_file("remove", &old))?;
        Ok(removed)
    }
}

fn sibling(path: &Path, coding: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(coding);
    path.with_file_name(name)
}

fn compressed(bytes: &[u8], coding: &str) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    if coding == "br" {
        let parameters = BrotliEncoderParams {
            quality: if bytes.len() <= THOROUGH { 11 } else { 9 },
            lgwin: 22,
            size_hint: bytes.len(),
            ..Default::default()
        };
        brotli::BrotliCompress(&mut &bytes[..], &mut packed, &parameters)?;
    } else {
        let mut encoder = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::best());
        encoder.write_all(bytes)?;
        encoder.finish()?;
    }
    Ok(packed)
}

/// A file of the folder that no run wrote.
fn foreign(out: &Path, known: &HashSet<String>) -> Result<Option<PathBuf>> {
    let mut folders = vec![out.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(of_file("read", &folder)(error)),
        };
        for entry in entries {
            let path = entry.map_err(of_file("read", &folder))?.path();
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
            if is_folder {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(out).unwrap_or(&path).to_string_lossy().into_owned();
            let plain = CODINGS.iter().find_map(|it| name.strip_suffix(it)?.strip_suffix('.'));
            if !known.contains(&name) && !plain.is_some_and(|it| known.contains(it)) {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}
