//! Reads the files whose content customers send.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tidegate_config::Value;

use crate::scenario::content::{Content, LARGEST};

/// Most bytes of all files of a scenario.
const LARGEST_SUM: u64 = 256 << 20;

/// The files of a scenario. Each is read once.
pub(super) struct Files {
    folder: PathBuf,
    read: RefCell<Known>,
}

#[derive(Default)]
struct Known {
    contents: HashMap<PathBuf, Content>,
    bytes: u64,
}

impl Files {
    /// `file` is the scenario's: paths start in its folder.
    pub(super) fn beside(file: &str) -> Self {
        let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
        Self { folder, read: RefCell::default() }
    }

    /// The content of the file that a value names.
    pub(super) fn content(&self, value: &Value<'_>) -> Option<Content> {
        let path = self.folder.join(value.string()?);
        let known = &mut *self.read.borrow_mut();
        if let Some(content) = known.contents.get(&path) {
            return Some(content.clone());
        }
        let wrong = |rule: String, remedy: &str| {
            value.wrong(format!("{} {rule}", path.display()), remedy);
            None
        };
        let bytes = match tidegate_config::read_bytes(&path, LARGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                return wrong(error.to_string(), "send a smaller file");
            }
            Err(error) => {
                let remedy = "the path is relative to the scenario's file";
                return wrong(format!("cannot be read: {error}"), remedy);
            }
        };
        known.bytes += bytes.len() as u64;
        if known.bytes > LARGEST_SUM {
            let rule =
                format!("is too much: all files together have more than {} MiB", LARGEST_SUM >> 20);
            return wrong(rule, "send fewer or smaller files");
        }
        let content = Content::from(bytes);
        known.contents.insert(path, content.clone());
        Some(content)
    }
}
