//! Reads the files whose content customers send.

use super::Refuse;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tidegate_config::Value;

use crate::scenario::content::{Content, LARGEST};

/// The place of a file that a scenario names: paths start in the folder of the scenario's file.
pub(super) fn beside(scenario: &str, name: &str) -> PathBuf {
    Path::new(scenario).parent().unwrap_or(Path::new("")).join(name)
}

/// Most bytes of all files of a scenario.
const LARGEST_SUM: u64 = 256 << 20;

/// The files of a scenario. Each is read once.
pub(super) struct Files {
    /// The scenario's own file.
    scenario: String,
    read: RefCell<Known>,
}

#[derive(Default)]
struct Known {
    contents: HashMap<PathBuf, Content>,
    bytes: u64,
}

impl Files {
    /// `file` is the scenario's.
    pub(super) fn beside(file: &str) -> Self {
        Self { scenario: file.to_owned(), read: RefCell::default() }
    }

    /// The content of the file that a value names.
    pub(super) fn content(&self, value: &Value<'_>) -> Option<Content> {
        let path = beside(&self.scenario, value.string()?);
        let known = &mut *self.read.borrow_mut();
        if let Some(content) = known.contents.get(&path) {
            return Some(content.clone());
        }
        let wrong =
            |rule: String, remedy: &str| value.refuse(format!("{} {rule}", path.display()), remedy);
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
