//! The files that a core has found, and those that are not there: bounded in bytes, the least
//! recently used first out.

use crate::static_tier::file::{Memory, StaticFile};
use lru::LruCache;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Largest file, in all its forms, that is read into memory, in bytes. Others are streamed.
pub const LARGEST: usize = 256 << 10;
/// The part of the memory that a file may have at most.
const PART: usize = 16;
/// The part of the memory for names of files that are not there: a customer can invent any
/// number of them.
const MISSING_PART: usize = 16;
/// After so long a check that has no result counts as given up: its customer has left.
const GIVEN_UP: Duration = Duration::from_secs(1);
/// What an entry takes beside its name and content, in bytes; about.
const ENTRY: usize = 600;

/// The files that a core knows.
#[derive(Debug)]
pub struct FileCache {
    found: RefCell<LruCache<Box<[u8]>, Entry>>,
    missing: RefCell<LruCache<Box<[u8]>, Entry>>,
    /// Memory of the contents, in use or not.
    memory: Memory,
    /// Memory of the entries of each kind, in bytes.
    entries: [Cell<usize>; 2],
    most: usize,
}

/// What the disk has of a name.
#[derive(Clone, Debug)]
pub enum OnDisk {
    /// A file.
    File(Rc<StaticFile>),
    /// None.
    Nothing,
    /// Not even a folder of the variant.
    NoVariant,
}

impl OnDisk {
    /// The file.
    pub fn file(&self) -> Option<&Rc<StaticFile>> {
        match self {
            Self::File(file) => Some(file),
            Self::Nothing | Self::NoVariant => None,
        }
    }
}

/// What is known of a name.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was found.
    pub found: OnDisk,
    /// When the disk was asked last.
    pub checked: Instant,
    /// Since when it is being asked, if it is.
    pub checking: Option<Instant>,
}

impl FileCache {
    /// An empty cache of so many bytes.
    pub fn new(most: usize) -> Self {
        Self {
            found: RefCell::new(LruCache::unbounded()),
            missing: RefCell::new(LruCache::unbounded()),
            memory: Memory::default(),
            entries: Default::default(),
            most,
        }
    }

    /// Most memory, in bytes.
    pub fn most(&self) -> usize {
        self.most
    }

    /// The memory of contents.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Largest file that is kept, in bytes.
    pub fn largest(&self) -> usize {
        LARGEST.min(self.most / PART)
    }

    /// What is known of a name, and whether the caller has to check it: it is older than the
    /// interval, and nobody else does so.
    pub fn get(&self, name: &[u8], now: Instant, interval: Duration) -> Option<(Entry, bool)> {
        for kind in [&self.found, &self.missing] {
            if let Some(entry) = kind.borrow_mut().get_mut(name) {
                let age = now.saturating_duration_since(entry.checked);
                let is_checked = entry.checking.is_some_and(|since| now <= since + GIVEN_UP);
                let due = age > interval && !is_checked;
                if due {
                    entry.checking = Some(now);
                }
                return Some((entry.clone(), due));
            }
        }
        None
    }

    /// Frees room for one file more.
    pub fn make_room(&self) {
        while self.used() + self.largest() > self.most && self.drop_oldest(0) {}
    }

    /// The disk was asked and gave this.
    pub fn put(&self, name: Box<[u8]>, found: OnDisk, now: Instant) {
        self.forget(&name);
        if found.file().is_some_and(|file| !file.is_in_memory()) || self.most == 0 {
            return;
        }
        let (kind, at) = match found {
            OnDisk::File(_) => (&self.found, 0),
            OnDisk::Nothing | OnDisk::NoVariant => (&self.missing, 1),
        };
        self.entries[at].set(self.entries[at].get() + size_of_entry(&name));
        kind.borrow_mut().push(name, Entry { found, checked: now, checking: None });
        while self.entries[1].get() > self.most / MISSING_PART && self.drop_oldest(1) {}
        while self.used() > self.most && self.drop_oldest(0) {}
    }

    /// The disk was asked, and nothing has changed.
    pub fn confirm(&self, name: &[u8], now: Instant) {
        for kind in [&self.found, &self.missing] {
            if let Some(entry) = kind.borrow_mut().peek_mut(name) {
                (entry.checked, entry.checking) = (now, None);
            }
        }
    }

    fn used(&self) -> usize {
        self.memory.used() + self.entries[0].get() + self.entries[1].get()
    }

    fn forget(&self, name: &[u8]) {
        for (kind, entries) in [&self.found, &self.missing].into_iter().zip(&self.entries) {
            if kind.borrow_mut().pop(name).is_some() {
                entries.set(entries.get() - size_of_entry(name));
            }
        }
    }

    fn drop_oldest(&self, at: usize) -> bool {
        let kind = [&self.found, &self.missing][at];
        let Some((name, _)) = kind.borrow_mut().pop_lru() else { return false };
        self.entries[at].set(self.entries[at].get() - size_of_entry(&name));
        true
    }
}

fn size_of_entry(name: &[u8]) -> usize {
    name.len() + ENTRY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::static_tier::file::{Content, Form};
    use http::HeaderValue;

    fn file(cache: &FileCache, size: usize) -> Rc<StaticFile> {
        let content = Content::Memory(cache.memory().counted(vec![0; size]));
        let etag = HeaderValue::from_static("\"\"");
        Rc::new(StaticFile {
            content_type: etag.clone(),
            modified: 0,
            last_modified: etag.clone(),
            forms: [None, None, Some(Form { length: size as u64, etag, content })],
            stamps: [None; 3],
        })
    }

    fn knows(cache: &FileCache, name: &str, now: Instant) -> bool {
        cache.get(name.as_bytes(), now, Duration::MAX).is_some()
    }

    #[test]
    fn the_least_recently_used_file_goes_first_and_bytes_are_bounded() {
        let (cache, now) = (FileCache::new(100_000), Instant::now());
        for number in 0..50 {
            cache.make_room();
            assert!(cache.used() + cache.largest() <= 100_000);
            assert!(number < 3 || knows(&cache, "0", now), "it is used all the time");
            cache.put(
                number.to_string().into_bytes().into(),
                OnDisk::File(file(&cache, 5000)),
                now,
            );
        }
        assert!(cache.used() <= 100_000 && knows(&cache, "49", now) && !knows(&cache, "20", now));
        assert!(cache.memory().used() >= 70_000, "most of it is used");
    }

    #[test]
    fn invented_names_do_not_drive_files_out() {
        let (cache, now) = (FileCache::new(1_000_000), Instant::now());
        cache.put((*b"page").into(), OnDisk::File(file(&cache, 5000)), now);
        for number in 0..10_000 {
            cache.put(format!("none/{number}").into_bytes().into(), OnDisk::Nothing, now);
        }
        assert!(knows(&cache, "page", now) && knows(&cache, "none/9999", now));
        assert!(!knows(&cache, "none/0", now) && cache.used() < 100_000);
    }

    #[test]
    fn a_content_that_is_being_sent_counts_until_it_is_sent() {
        let (cache, now) = (FileCache::new(100_000), Instant::now());
        let mut sent = Vec::new();
        for number in 0..10 {
            let file = file(&cache, 20_000);
            if let Some(Form { content: Content::Memory(bytes), .. }) = &file.forms[2] {
                sent.push(bytes.clone());
            }
            cache.put(vec![number].into(), OnDisk::File(file), now);
        }
        cache.make_room();
        assert_eq!(cache.entries[0].get(), 0, "there is room for none");
        assert_eq!(cache.memory().used(), 200_000);
        sent.clear();
        assert_eq!(cache.memory().used(), 0);
    }

    #[test]
    fn one_of_many_requests_checks_an_old_entry() {
        let (cache, then) = (FileCache::new(100_000), Instant::now());
        let second = Duration::from_secs(1);
        cache.put((*b"a").into(), OnDisk::File(file(&cache, 5)), then);
        let due = |now| cache.get(b"a", now, second).unwrap().1;
        assert!(!due(then + second));
        assert!(due(then + 2 * second) && !due(then + 2 * second));
        cache.confirm(b"a", then + 2 * second);
        assert!(!due(then + 3 * second) && due(then + 4 * second));
        assert!(due(then + 6 * second), "whoever checked it has not come back");
    }

    #[test]
    fn a_cache_without_memory_keeps_nothing() {
        let (cache, now) = (FileCache::new(0), Instant::now());
        cache.put((*b"a").into(), OnDisk::Nothing, now);
        assert!(!knows(&cache, "a", now) && cache.used() == 0);
    }
}
