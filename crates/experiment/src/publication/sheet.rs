//! Tables as CSV.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;

use crate::folder::{LARGEST, SUMMARY};
use crate::summary::Row;

/// Significant digits of a published figure.
const DIGITS: usize = 6;

/// A table that was published.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Names of its columns, sorted.
    pub columns: Vec<String>,
    /// The text of each cell; empty where nothing was measured.
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    /// A table of a study's summary.
    pub fn of(table: &[Row]) -> Self {
        let mut columns: Vec<String> = table.iter().flat_map(|row| row.keys().cloned()).collect();
        columns.sort();
        columns.dedup();
        let cells = |row: &Row| columns.iter().map(|name| text(row.get(name))).collect();
        let rows = table.iter().map(cells).collect();
        Self { columns, rows }
    }

    /// Reads CSV with a row of heads.
    ///
    /// # Errors
    /// It is no CSV, or a row is longer or shorter than its heads.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let record = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
        let columns = record(reader.headers().map_err(|error| error.to_string())?);
        let rows = reader.records().map(|row| row.map(|row| record(&row)));
        let rows = rows.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Ok(Self { columns, rows })
    }

    /// The place of a column.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn column(&self, name: &str) -> Result<usize, String> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| {
            let known: Vec<&str> = self.columns.iter().map(String::as_str).collect();
            let hint = tidegate_config::did_you_mean(name, &known);
            let hint = hint.unwrap_or_else(|| format!("it has {}", self.columns.join(", ")));
            format!("has no column {name}; {hint}")
        })
    }
}

/// Rows as CSV, with a row of heads.
pub fn csv(table: &[Row]) -> String {
    let sheet = Sheet::of(table);
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in std::iter::once(&sheet.columns).chain(&sheet.rows) {
        writer.write_record(row).expect("rows have the length of the heads");
    }
    let bytes = writer.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("it consists of texts")
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) if number.is_f64() => {
            let value = number.as_f64().unwrap_or_default();
            let rounded = format!("{value:.*e}", DIGITS - 1).parse::<f64>().unwrap_or(value);
            rounded.to_string()
        }
        Some(other) => other.to_string(),
    }
}

/// The tables below a folder, each read once.
#[derive(Debug)]
pub struct Sheets {
    root: PathBuf,
    /// A study, and the folder that its tables are in until they are published.
    staged: Option<(String, PathBuf)>,
    known: RefCell<BTreeMap<String, Rc<Sheet>>>,
}

impl Sheets {
    /// Those in `root`, a folder with a folder for each study.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), staged: None, known: RefCell::default() }
    }

    /// The same with a study that is not published yet: its tables are those in `folder`.
    pub(super) fn with(self, study: &str, folder: &Path) -> Self {
        Self { staged: Some((study.to_owned(), folder.to_owned())), ..self }
    }

    /// The folder of a study's tables.
    pub(super) fn folder(&self, study: &str) -> PathBuf {
        match &self.staged {
            Some((staged, folder)) if staged == study => folder.clone(),
            _ => self.root.join(study),
        }
    }

    /// Whether the summary of a study is published.
    pub(super) fn is_published(&self, study: &str) -> bool {
        self.folder(study).join(SUMMARY).exists()
    }

    /// The table `STUDY/TABLE`.
    ///
    /// # Errors
    /// It is named otherwise, was not published, or is damaged.
    pub fn sheet(&self, name: &str) -> Result<Rc<Sheet>, String> {
        let is_name = |part: &str| {
            let letter = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
            !part.is_empty() && part.chars().all(letter)
        };
        let parts = name.split_once('/');
        let Some((study, table)) = parts.filter(|(study, table)| is_name(study) && is_name(table))
        else {
            return Err(format!("{name:?} names no table; write STUDY/TABLE, as overload/points"));
        };
        if let Some(known) = self.known.borrow().get(name) {
            return Ok(Rc::clone(known));
        }
        let path = self.folder(study).join(format!("{table}.csv"));
        let text = tidegate_config::read_text(&path, LARGEST)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let sheet = Sheet::read(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let sheet = Rc::new(sheet);
        self.known.borrow_mut().insert(name.to_owned(), Rc::clone(&sheet));
        Ok(sheet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_is_read_as_it_was_written_with_six_digits() {
        let row = |value: Value| value.as_object().unwrap().clone();
        let rows = [
            row(json!({ "policy": "off, \"or\" none", "per_s": 1234.56789, "rounds": 3 })),
            row(json!({ "policy": "tide", "per_s": null, "share": 0.000123456789 })),
        ];
        let text = csv(&rows);
        assert_eq!(
            text,
            "per_s,policy,rounds,share\n1234.57,\"off, \"\"or\"\" none\",3,\n,tide,,0.000123457\n"
        );
        assert_eq!(Sheet::read(&text).unwrap(), Sheet::of(&rows));
        assert!(Sheet::read("a,b\n1\n").is_err());
    }

    #[test]
    fn a_name_that_leads_out_of_the_folder_is_no_table() {
        let sheets = Sheets::new(Path::new("/"));
        for name in ["../etc/passwd", "etc/../x", "a", "a/", "/a", "a/b/c"] {
            assert!(sheets.sheet(name).unwrap_err().contains("names no table"), "{name}");
        }
    }
}
