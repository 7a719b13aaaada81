//! Places in a configuration: tables and values with their dotted keys, from a
//! file or from a flag. Nothing is checked here but what is there.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::mistake::Problem;
use crate::one_line::one_line;
use crate::reader::Reader;
use crate::suggest::known_key;

/// A table with its dotted name.
#[derive(Clone)]
pub struct Section<'r> {
    /// Where mistakes are collected.
    pub reader: &'r Reader<'r>,
    /// The dotted name; empty at the root.
    pub path: String,
    /// None if the file does not have it; flags may still give its keys.
    table: Option<(&'r DeTable<'r>, Range<usize>)>,
}

impl<'r> Section<'r> {
    /// The whole of a text.
    pub(crate) fn root(reader: &'r Reader<'r>, table: &'r Spanned<DeTable<'r>>) -> Self {
        Self { reader, path: String::new(), table: Some((table.get_ref(), table.span())) }
    }

    /// The value of a key: the flag's, else the file's.
    pub fn get(&self, key: &str) -> Option<Value<'r>> {
        let path = self.join(key);
        if let Some(flag) = self.reader.flag(&path)
            && let Some(text) = flag.value
        {
            let given = Given::Bare { text, flag: flag.name };
            return Some(Value { reader: self.reader, path, given });
        }
        let (table, _) = self.table.as_ref()?;
        let (key, value) = table.get_key_value(key)?;
        let sound = !self.reader.is_broken(key.span().start);
        sound.then_some(Value { reader: self.reader, path, given: Given::Toml(value) })
    }

    /// All entries of the file in the order of the text.
    pub fn entries(&self) -> Vec<(&'r str, Value<'r>)> {
        self.keys()
            .into_iter()
            .map(|(key, _, value)| {
                let path = self.join(key);
                (key, Value { reader: self.reader, path, given: Given::Toml(value) })
            })
            .collect()
    }

    /// The same with the byte at which each key stands.
    pub(crate) fn keys(&self) -> Vec<(&'r str, usize, &'r Spanned<DeValue<'r>>)> {
        let Some((table, _)) = &self.table else { return Vec::new() };
        let mut keys: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                let name: &'r str = key.get_ref();
                (name, key.span().start, value)
            })
            .filter(|(_, at, _)| !self.reader.is_broken(*at))
            .collect();
        keys.sort_by_key(|(_, at, _)| *at);
        keys
    }

    /// The table of a key. One that is missing, or is no table, has no entries;
    /// what is wrong with the latter is reported elsewhere.
    pub fn table_or_empty(&self, key: &str) -> Section<'r> {
        let found = self.get(key).and_then(|value| value.table());
        let (reader, path) = (self.reader, self.join(key));
        found.unwrap_or(Section { reader, path, table: None })
    }

    /// Reports every key that is not among the known ones.
    pub fn only(&self, known: &[&str]) {
        for (key, at, value) in self.keys() {
            if !known.contains(&key) {
                self.unknown(key, at, value, "key", known_key(key, known));
            }
        }
    }

    /// Reports a key that nothing knows.
    pub(crate) fn unknown(
        &self,
        key: &str,
        at: usize,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        remedy: String,
    ) {
        let problem = Problem::new(format!("is not a known {what}"), remedy);
        let (line, shown) = (self.reader.line(at), shown(self.reader, value));
        self.reader.wrong_at(line, &one_line(&self.join(key)), &shown, problem);
    }

    /// Notes that the table as a whole is wrong.
    pub fn wrong(&self, rule: impl Into<String>, remedy: impl Into<String>) {
        self.wrong_here(&self.path, Problem::new(rule, remedy));
    }

    /// Notes that a key is missing: at the table, if the file has it.
    pub(crate) fn missing(&self, key: &str, problem: Problem) {
        self.wrong_here(&self.join(key), problem);
    }

    /// Notes what is wrong with the value of a key, or with its absence. The key may be
    /// dotted, and go through a list of tables: `tls.certificates[0].key`.
    pub fn wrong_key(&self, key: &str, problem: Problem) {
        if let Some((table, key)) = key.split_once('.') {
            return match self.entry(table) {
                Some(entry) => entry.wrong_key(key, problem),
                None => self.table_or_empty(table).wrong_key(key, problem),
            };
        }
        match self.get(key) {
            Some(value) => value.report(problem),
            None => self.reader.wrong_without_line(&self.join(key), problem),
        }
    }

    /// The table at an index of a list: `certificates[0]`.
    fn entry(&self, key: &str) -> Option<Section<'r>> {
        let (list, index) = key.strip_suffix(']')?.split_once('[')?;
        self.get(list)?.items()?.get(index.parse::<usize>().ok()?)?.table()
    }

    fn wrong_here(&self, key: &str, problem: Problem) {
        match &self.table {
            Some((_, at)) if !self.path.is_empty() || !self.reader.has_flags_only() => {
                self.reader.wrong_at(self.reader.line(at.start), key, "", problem);
            }
            _ => self.reader.wrong_without_line(key, problem),
        }
    }

    /// Whether the file has it.
    pub(crate) fn is_there(&self) -> bool {
        self.table.is_some()
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// A value with its dotted key.
#[derive(Clone)]
pub struct Value<'r> {
    /// Where mistakes are collected.
    pub reader: &'r Reader<'r>,
    /// The dotted key.
    pub path: String,
    given: Given<'r>,
}

/// How a value is given.
#[derive(Clone, Copy)]
enum Given<'r> {
    /// In the file.
    Toml(&'r Spanned<DeValue<'r>>),
    /// As text whose type is not stated: by a flag, or as a default.
    Bare { text: &'r str, flag: &'static str },
}

impl<'r> Value<'r> {
    /// A default, as it would be typed on a command line.
    pub(crate) fn preset(section: &Section<'r>, key: &str, text: &'static str) -> Self {
        let given = Given::Bare { text, flag: "default" };
        Self { reader: section.reader, path: section.join(key), given }
    }

    /// Notes that it is wrong.
    pub fn wrong(&self, rule: impl Into<String>, remedy: impl Into<String>) {
        self.report(Problem::new(rule, remedy));
    }

    /// Notes what is wrong with it.
    pub fn report(&self, problem: Problem) {
        match self.given {
            Given::Toml(value) => {
                let line = self.reader.line(value.span().start);
                self.reader.wrong_at(line, &self.path, &shown(self.reader, value), problem);
            }
            Given::Bare { text, flag } => self.reader.wrong_flag(flag, &self.path, text, problem),
        }
    }

    /// The TOML value; none of a flag or a default.
    fn toml(&self) -> Option<&'r DeValue<'r>> {
        match self.given {
            Given::Toml(value) => Some(value.get_ref()),
            Given::Bare { .. } => None,
        }
    }

    /// The text of a flag or a default.
    pub fn bare(&self) -> Option<&'r str> {
        match self.given {
            Given::Toml(_) => None,
            Given::Bare { text, .. } => Some(text),
        }
    }

    /// The text of a string, a flag or a default.
    pub fn text(&self) -> Option<&'r str> {
        self.bare().or_else(|| self.toml()?.as_str())
    }

    /// The decimal digits of a number, or the text of a flag or a default.
    pub fn digits(&self) -> Option<Cow<'r, str>> {
        if let Some(text) = self.bare() {
            return Some(text.into());
        }
        match self.toml()? {
            DeValue::Float(float) => Some(float.as_str().into()),
            DeValue::Integer(integer) if integer.radix() == 10 => Some(integer.as_str().into()),
            DeValue::Integer(integer) => {
                let number = i128::from_str_radix(integer.as_str(), integer.radix()).ok()?;
                Some(number.to_string().into())
            }
            _ => None,
        }
    }

    /// True or false.
    pub fn truth(&self) -> Option<bool> {
        match self.bare() {
            Some(text) => text.parse().ok(),
            None => self.toml()?.as_bool(),
        }
    }

    /// The entries of a list, or of the text of a flag or a default with commas between.
    pub fn items(&self) -> Option<Vec<Value<'r>>> {
        if let Given::Bare { text, flag } = self.given {
            let item = |text: &'r str| Value {
                given: Given::Bare { text: text.trim(), flag },
                ..self.clone()
            };
            return Some(text.split(',').map(item).collect());
        }
        let item = |(index, value)| Value {
            reader: self.reader,
            path: format!("{}[{index}]", self.path),
            given: Given::Toml(value),
        };
        Some(self.toml()?.as_array()?.iter().enumerate().map(item).collect())
    }

    /// The entries of a list of whole numbers.
    pub fn whole_numbers<N: std::str::FromStr>(&self) -> Option<Vec<N>> {
        let whole = |item: Value<'_>| item.digits()?.parse().ok();
        self.items()?.into_iter().map(whole).collect()
    }

    /// The entries of a list of strings, or of the text of a flag or a default with
    /// commas between.
    pub fn texts(&self) -> Option<Vec<&'r str>> {
        self.items()?.iter().map(Value::text).collect()
    }

    /// The table that it is.
    pub fn table(&self) -> Option<Section<'r>> {
        let Given::Toml(value) = self.given else { return None };
        let table = Some((value.get_ref().as_table()?, value.span()));
        Some(Section { reader: self.reader, path: self.path.clone(), table })
    }

    /// A path as it counts: one of the file starts in the file's folder, one of
    /// a flag in the working directory.
    pub fn resolve(&self, path: &str) -> PathBuf {
        match self.given {
            Given::Toml(_) => self.reader.folder().join(path),
            Given::Bare { .. } => Path::new(path).to_owned(),
        }
    }

    /// Whether it is a string.
    pub fn is_str(&self) -> bool {
        self.text().is_some()
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        self.toml().is_some_and(DeValue::is_table)
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        self.toml().is_some_and(DeValue::is_array)
    }

    /// Whether it is true or false.
    pub fn is_boolean(&self) -> bool {
        self.toml().is_some_and(DeValue::is_bool)
    }

    /// Whether it is a whole number.
    pub fn is_integer(&self) -> bool {
        self.toml().is_some_and(DeValue::is_integer)
    }
}

/// A value as written; empty of tables and lists of tables.
fn shown(reader: &Reader<'_>, value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::Table(_) => String::new(),
        DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
            String::new()
        }
        _ => one_line(reader.text(value.span())),
    }
}
