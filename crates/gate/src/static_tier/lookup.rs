//! Searches a directory for the file that a request asks for. It waits for the disk.

use crate::config::file_stamp::FileStamp;
use crate::static_tier::beneath::Beneath;
use crate::static_tier::coding::Coding;
use crate::static_tier::file::{Content, Form, Memory, Stamps, StaticFile};
use crate::telemetry::clock::unix_now;
use aws_lc_rs::digest::{SHA256, digest};
use http::HeaderValue;
use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// By how many seconds a compressed form may be older than its file: tools write one after the
/// other, in either order. One that is older still is of a former content.
const LAG_S: i64 = 5;

/// What is searched for.
#[derive(Clone, Debug)]
pub struct Search {
    /// The directory.
    pub directory: Arc<Path>,
    /// The folder of the variant in it, with a `/` at the end; empty for none.
    pub variant: String,
    /// The name, as [`below_a_directory`](crate::path::below_a_directory) reads it.
    pub name: Vec<u8>,
    /// The file as it was found before.
    pub known: Option<Stamps>,
    /// Memory for files.
    pub memory: Memory,
    /// Most memory for all files, and for this one, in bytes.
    pub most: usize,
    /// Most bytes of this file, in all forms, that are read into memory.
    pub largest: usize,
}

/// What was found.
#[derive(Debug)]
pub enum Found {
    /// No file.
    Nothing,
    /// No folder of the variant.
    NoVariant,
    /// The file that was known.
    Same,
    /// Another one.
    File(Box<StaticFile>),
}

impl Search {
    /// Searches.
    ///
    /// # Errors
    /// A file is there and cannot be read. The error names the directory, not the file: customers
    /// could make any number of different errors otherwise.
    pub fn run(&self) -> io::Result<Found> {
        self.search().map_err(|error| {
            let directory = self.directory.display();
            io::Error::new(error.kind(), format!("below {directory}: {error}"))
        })
    }

    fn search(&self) -> io::Result<Found> {
        let root = match Beneath::open(&self.directory) {
            Ok(root) => root,
            // Whoever replaces a directory may have taken it away for a moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(error),
        };
        for name in self.candidates() {
            if let Some(file) = root.file(&name)? {
                return self.found(&root, &name, file);
            }
        }
        match self.variant.is_empty() || root.has_folder(self.variant.as_bytes())? {
            true => Ok(Found::Nothing),
            false => Ok(Found::NoVariant),
        }
    }

    /// The names of files that the name may mean, the first one that exists counts.
    fn candidates(&self) -> impl Iterator<Item = Vec<u8>> {
        let whole = !self.name.is_empty() && !self.name.ends_with(b"/");
        let index: &[u8] = if whole { b"/index.html" } else { b"index.html" };
        let endings = [whole.then_some(&b""[..]), whole.then_some(&b".html"[..]), Some(index)];
        let begin = [self.variant.as_bytes(), &self.name].concat();
        endings.into_iter().flatten().map(move |ending| [&begin[..], ending].concat())
    }

    fn found(&self, root: &Beneath, name: &[u8], file: File) -> io::Result<Found> {
        let meta = file.metadata()?;
        let mut files = [const { None }; Coding::ALL.len()];
        for coding in [Coding::Brotli, Coding::Gzip] {
            let sibling = [name, coding.ending().as_bytes()].concat();
            // One that cannot be read is no reason to do without the file.
            let Ok(Some(sibling)) = root.file(&sibling) else { continue };
            let of = sibling.metadata()?;
            if of.mtime() + LAG_S >= meta.mtime() {
                files[coding as usize] = Some((sibling, of));
            }
        }
        files[Coding::Identity as usize] = Some((file, meta.clone()));
        let stamps =
            files.each_ref().map(|file| file.as_ref().map(|(_, meta)| FileStamp::from(meta)));
        if self.known == Some(stamps) {
            return Ok(Found::Same);
        }
        let sizes = files.iter().flatten().map(|(_, meta)| meta.len());
        let size = sizes.fold(0, u64::saturating_add);
        let fits = usize::try_from(size)
            .is_ok_and(|size| size <= self.largest && self.memory.used() + size <= self.most);
        let mut is_text = false;
        let mut forms = [const { None }; Coding::ALL.len()];
        for (coding, file) in Coding::ALL.into_iter().zip(files) {
            let Some((file, meta)) = file else { continue };
            let form = if fits {
                let bytes = whole(file, &meta)?;
                is_text |= coding == Coding::Identity && std::str::from_utf8(&bytes).is_ok();
                let etag = quoted(digest(&SHA256, &bytes).as_ref());
                Form {
                    length: meta.len(),
                    etag,
                    content: Content::Memory(self.memory.counted(bytes)),
                }
            } else {
                let (etag, content) = (by_time(&meta, coding), Content::Disk(Arc::new(file)));
                Form { length: meta.len(), etag, content }
            };
            forms[coding as usize] = Some(form);
        }
        let modified = u64::try_from(meta.mtime()).unwrap_or(0).min(unix_now());
        let last_modified = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(modified));
        Ok(Found::File(Box::new(StaticFile {
            content_type: content_type(name, is_text),
            modified,
            last_modified: value(&last_modified),
            forms,
            stamps,
        })))
    }
}

/// The whole content of a file.
fn whole(file: File, meta: &Metadata) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
    file.take(meta.len() + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != meta.len() {
        return Err(io::Error::other("it changed while it was read; replace files by renaming"));
    }
    Ok(bytes)
}

/// The validator of a content with this hash. The same content has the same one on every
/// machine, however it came there.
fn quoted(hash: &[u8]) -> HeaderValue {
    let mut etag = String::from("\"");
    for byte in &hash[..16] {
        let _ = write!(etag, "{byte:02x}");
    }
    etag.push('"');
    value(&etag)
}

/// The validator of a file that is too large to be read at once.
fn by_time(meta: &Metadata, coding: Coding) -> HeaderValue {
    let (seconds, ns, size) = (meta.mtime(), meta.mtime_nsec(), meta.len());
    value(&format!("\"{seconds:x}.{ns:x}-{size:x}{}\"", coding.ending()))
}

/// The `Content-Type` of a file, by its name's ending; with its charset where it is text in UTF-8.
fn content_type(name: &[u8], is_utf8: bool) -> HeaderValue {
    let path = Path::new(std::ffi::OsStr::from_bytes(name));
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    match is_utf8 && kind.type_() == mime_guess::mime::TEXT {
        true => value(&format!("{kind}; charset=utf-8")),
        false => value(kind.as_ref()),
    }
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("printable ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn search(root: &TempDir, name: &str) -> Search {
        Search {
            directory: root.path().into(),
            variant: String::new(),
            name: name.into(),
            known: None,
            memory: Memory::default(),
            most: 1 << 20,
            largest: 1 << 16,
        }
    }

    fn file(search: &Search) -> Option<StaticFile> {
        match search.run().unwrap() {
            Found::File(file) => Some(*file),
            _ => None,
        }
    }

    fn text(search: &Search) -> Option<String> {
        let file = file(search)?;
        match &file.form(Coding::Identity).unwrap().content {
            Content::Memory(bytes) => Some(String::from_utf8(bytes.to_vec()).unwrap()),
            Content::Disk(_) => Some("on disk".into()),
        }
    }

    #[test]
    fn a_variant_without_a_folder_is_told_from_one_without_the_file() {
        let root = tempfile::tempdir().unwrap();
        write(&root, &["a.html", "@zone=2/b.html"]);
        let of =
            |variant: &str| Search { variant: variant.into(), ..search(&root, "a") }.run().unwrap();
        assert!(matches!(of("@zone=2/"), Found::Nothing));
        assert!(matches!(of("@zone=3/"), Found::NoVariant));
    }

    fn write(root: &TempDir, files: &[&str]) {
        for name in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("<{name}>")).unwrap();
        }
    }

    #[test]
    fn a_path_means_a_file_a_page_or_an_index_in_this_order() {
        let root = tempfile::tempdir().unwrap();
        write(&root, &["index.html", "a", "a.html", "b.html", "b/index.html", "c/index.html"]);
        for (name, found) in [
            ("", Some("<index.html>")),
            ("index.html", Some("<index.html>")),
            ("a", Some("<a>")),
            ("b", Some("<b.html>")),
            ("b/", Some("<b/index.html>")),
            ("c", Some("<c/index.html>")),
            ("c/", Some("<c/index.html>")),
            ("a/", None),
            ("d", None),
        ] {
            assert_eq!(text(&search(&root, name)).as_deref(), found, "{name}");
        }
    }

    #[test]
    fn a_compressed_form_of_a_former_content_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        write(&root, &["a.css.br", "a.css.gz", "a.css"]);
        let age = |name: &str, seconds: u64| {
            let file = File::options().write(true).open(root.path().join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000 - seconds)).unwrap();
        };
        age("a.css", 0);
        age("a.css.br", 4);
        age("a.css.gz", 6);
        let found = file(&search(&root, "a.css")).unwrap();
        assert!(found.form(Coding::Brotli).is_some() && found.form(Coding::Gzip).is_none());
        assert_eq!(found.content_type, "text/css; charset=utf-8");
        assert_eq!(found.last_modified, "Mon, 12 Jan 1970 13:46:40 GMT");
        let etags = found.forms.each_ref().map(|form| form.as_ref().map(|form| &form.etag));
        assert_ne!(etags[0], etags[2]);
    }

    #[test]
    fn what_is_known_is_not_read_again() {
        let root = tempfile::tempdir().unwrap();
        write(&root, &["a.html"]);
        let first = file(&search(&root, "a")).unwrap();
        let again = Search { known: Some(first.stamps), ..search(&root, "a") };
        assert!(matches!(again.run().unwrap(), Found::Same));
        std::fs::write(root.path().join("new"), "<new>").unwrap();
        std::fs::rename(root.path().join("new"), root.path().join("a.html")).unwrap();
        assert_eq!(text(&again).as_deref(), Some("<new>"));
    }

    #[test]
    fn a_file_for_which_there_is_no_memory_stays_on_the_disk() {
        let root = tempfile::tempdir().unwrap();
        write(&root, &["a.html", "b.html"]);
        let small = Search { most: 10, ..search(&root, "a") };
        let held = file(&small).unwrap();
        assert_eq!(small.memory.used(), "<a.html>".len());
        let second = Search { name: b"b".into(), ..small.clone() };
        assert_eq!(text(&second).as_deref(), Some("on disk"));
        drop(held);
        assert_eq!(text(&second).as_deref(), Some("<b.html>"));
        assert_eq!(text(&Search { largest: 3, ..small }).as_deref(), Some("on disk"));
    }

    #[test]
    fn text_that_is_not_utf8_has_no_charset() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a.html"), b"caf\xe9").unwrap();
        std::fs::write(root.path().join("b.bin-unknown"), b"x").unwrap();
        assert_eq!(file(&search(&root, "a")).unwrap().content_type, "text/html");
        let unknown = file(&search(&root, "b.bin-unknown")).unwrap();
        assert_eq!(unknown.content_type, "application/octet-stream");
    }

    #[test]
    fn the_same_content_has_the_same_validator_wherever_it_is() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(&one, &["a.html"]);
        write(&two, &["a.html"]);
        let etag = |root| file(&search(root, "a")).unwrap().forms[2].as_ref().unwrap().etag.clone();
        assert_eq!(etag(&one), etag(&two));
    }
}
