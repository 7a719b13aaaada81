//! What is kept between runs, beside the folder of the pages: answers, the record of the last
//! run, and the journal of one that has not ended.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::{Error, Result, of_file};
use crate::key::Key;
use crate::options::{Options, Vary};
use crate::outcome::{Body, Entry, Outcome};

/// Format of the record; one of another format is not read.
const VERSION: u32 = 1;
/// A run that was interrupted longer ago begins anew.
const JOURNAL_LASTS: Duration = Duration::from_hours(24);

/// What a run rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// What was rendered.
    pub run: Run,
    /// The cookie that pages vary by.
    pub vary: Option<Vary>,
    /// What became of the pages.
    pub entries: Vec<Entry>,
    /// The files, without their compressed variants.
    pub files: Vec<String>,
}

/// What answers mean: one run goes on with those of another where this is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The site.
    pub site: String,
    /// The cookie that pages vary by.
    cookie: Option<String>,
    /// The header field that names files.
    name_header: String,
    /// The patterns of pages that are for every visitor.
    public: Vec<String>,
    /// Links have the site's URLs.
    keep_urls: bool,
}

impl Run {
    /// A run with these options.
    pub fn of(options: &Options, site: &Url) -> Self {
        Self {
            site: site.to_string(),
            cookie: options.vary.as_ref().map(|it| it.cookie.clone()),
            name_header: options.name_header.clone(),
            public: options.public.iter().map(ToString::to_string).collect(),
            keep_urls: options.keep_urls,
        }
    }
}

/// The folder beside the pages.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// What the last run rendered.
    pub last: Record,
    /// Pages of the last run by key and variant.
    before: HashMap<(Key, Option<String>), Body>,
    /// What an interrupted run has done.
    resumed: HashMap<(Key, Option<String>), Entry>,
    journal: Option<File>,
    /// Held while the store is open.
    _lock: File,
}

impl Store {
    /// Opens the store of a folder of pages: `OUT.render`.
    ///
    /// # Errors
    /// Another run is at work, or a file cannot be read or written.
    pub fn open(out: &Path) -> Result<Self> {
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(".render");
        let folder = out.with_file_name(name);
        let bodies = folder.join("bodies");
        fs::create_dir_all(&bodies).map_err(of_file("make the folder", &bodies))?;
        let lock = folder.join("lock");
        let file = File::create(&lock).map_err(of_file("write", &lock))?;
        if file.try_lock().is_err() {
            return Err(Error::Operator(format!(
                "{}: another run is at work there; wait for its end",
                folder.display()
            )));
        }
        let last = read_record(&folder.join("record.json"))?.unwrap_or_default();
        let before = last.entries.iter().filter_map(|entry| match &entry.outcome {
            Outcome::Body(body) => Some(((entry.key.clone(), entry.variant.clone()), body.clone())),
            _ => None,
        });
        let before = before.collect();
        Ok(Self { folder, before, last, resumed: HashMap::new(), journal: None, _lock: file })
    }

    /// Begins a run, or goes on with one of the same site that was interrupted.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn begin(&mut self, run: &Run) -> Result<()> {
        if self.last.run != *run {
            self.before.clear();
        }
        let path = self.journal_path();
        let is_recent = fs::metadata(&path)
            .and_then(|it| it.modified())
            .is_ok_and(|it| it.elapsed().is_ok_and(|it| it < JOURNAL_LASTS));
        let text = fs::read(&path).unwrap_or_default();
        // A line that was cut off is not valid UTF-8 or JSON.
        let mut lines = text.split(|byte| *byte == b'\n');
        let first: Option<Run> = lines.next().and_then(|it| serde_json::from_slice(it).ok());
        if is_recent && first.as_ref() == Some(run) {
            let entries = lines.filter_map(|it| serde_json::from_slice::<Entry>(it).ok());
            self.resumed = entries.map(|it| ((it.key.clone(), it.variant.clone()), it)).collect();
        }
        let unfinished = self.folder.join("journal.tmp");
        let failed = |source| of_file("write", &path)(source);
        let mut file = File::create(&unfinished).map_err(failed)?;
        let mut text = json(run);
        for entry in self.resumed.values() {
            text += &json(entry);
        }
        file.write_all(text.as_bytes())
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(failed)?;
        drop(file);
        let file = OpenOptions::new().append(true).open(&path).map_err(failed)?;
        self.journal = Some(file);
        Ok(())
    }

    /// Number of answers that an interrupted run left.
    pub fn resumed(&self) -> usize {
        self.resumed.len()
    }

    /// What an interrupted run did with a page, if its bytes are there.
    pub fn take_resumed(&mut self, key: &Key, variant: Option<&str>) -> Option<Entry> {
        let entry = self.resumed.remove(&(key.clone(), variant.map(str::to_owned)))?;
        match &entry.outcome {
            Outcome::Body(body) if body.kept || !self.body_path(&body.hash).exists() => None,
            // It may be over, or another limit may hold.
            Outcome::Skipped(_) => None,
            _ => Some(entry),
        }
    }

    /// The page of the last run, if its bytes are there.
    pub fn before(&self, key: &Key, variant: Option<&str>) -> Option<&Body> {
        let body = self.before.get(&(key.clone(), variant.map(str::to_owned)))?;
        self.body_path(&body.hash).exists().then_some(body)
    }

    /// Notes what became of a page.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn note(&mut self, entry: &Entry) -> Result<()> {
        let path = self.journal_path();
        match &mut self.journal {
            Some(journal) => {
                journal.write_all(json(entry).as_bytes()).map_err(of_file("write", &path))
            }
            None => Ok(()),
        }
    }

    /// Keeps the bytes of a page under their hash.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn keep(&self, hash: &str, bytes: &[u8]) -> Result<()> {
        let path = self.body_path(hash);
        if path.exists() {
            return Ok(());
        }
        write_whole(&path, bytes)
    }

    /// The bytes of a page.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn body(&self, body: &Body) -> Result<Vec<u8>> {
        let path = self.body_path(&body.hash);
        fs::read(&path).map_err(of_file("read", &path))
    }

    /// The folder in which the next pages are put together.
    pub fn next(&self) -> PathBuf {
        self.folder.join("next")
    }

    /// Files that a run wrote, or was about to when it was interrupted.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn known_files(&self) -> Result<HashSet<String>> {
        let next = read_record(&self.next_record())?.unwrap_or_default();
        Ok(self.last.files.iter().cloned().chain(next.files).collect())
    }

    /// Writes the record of the run, before its pages are shown.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn prepare(
        &self,
        run: Run,
        vary: Option<&Vary>,
        entries: Vec<Entry>,
        files: &BTreeMap<String, ()>,
    ) -> Result<()> {
        let record = Record {
            version: VERSION,
            run,
            vary: vary.cloned(),
            entries,
            files: files.keys().cloned().collect(),
        };
        write_whole(&self.next_record(), json(&record).as_bytes())
    }

    /// Ends the run: its record is the last one, and answers that it does not need are removed.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn finish(self) -> Result<()> {
        let path = self.folder.join("record.json");
        fs::rename(self.next_record(), &path).map_err(of_file("write", &path))?;
        let journal = self.journal_path();
        fs::remove_file(&journal).map_err(of_file("remove", &journal))?;
        let record = read_record(&path)?.unwrap_or_default();
        let needed: HashSet<&str> = record
            .entries
            .iter()
            .filter_map(|entry| match &entry.outcome {
                Outcome::Body(body) => Some(body.hash.as_str()),
                _ => None,
            })
            .collect();
        let bodies = self.folder.join("bodies");
        for file in fs::read_dir(&bodies).map_err(of_file("read", &bodies))?.flatten() {
            if !needed.contains(file.file_name().to_string_lossy().as_ref()) {
                fs::remove_file(file.path()).map_err(of_file("remove", &file.path()))?;
            }
        }
        Ok(())
    }

    fn body_path(&self, hash: &str) -> PathBuf {
        self.folder.join("bodies").join(hash)
    }

    fn journal_path(&self) -> PathBuf {
        self.folder.join("journal")
    }

    fn next_record(&self) -> PathBuf {
        self.folder.join("record.next.json")
    }
}

/// Writes a file so that it is whole or absent.
///
/// # Errors
/// It cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = path.with_extension("tmp");
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, path))
        .map_err(of_file("write", path))
}

fn read_record(path: &Path) -> Result<Option<Record>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(of_file("read", path)(error)),
    };
    match serde_json::from_slice::<Record>(&text) {
        Ok(record) if record.version == VERSION => Ok(Some(record)),
        _ => Err(Error::Operator(format!(
            "{}: is no record of this version; remove {} and the folder of the pages, and render anew",
            path.display(),
            path.parent().unwrap_or(path).display()
        ))),
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it has text keys alone") + "\n"
}
