//! Keys that are declared once: name, rule, default, meaning and reason.

use crate::rule::Rule;

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key<R> {
    /// Its name in the file.
    pub name: &'static str,
    /// What values it may have.
    pub rule: R,
    /// What holds without it.
    pub preset: Preset,
    /// What it means, as lines of text.
    pub meaning: &'static [&'static str],
    /// Why the default is what it is; empty if none is given.
    pub reason: &'static str,
}

/// What holds where a key is not set. Values are written as on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// This value.
    Is(&'static str),
    /// Something that a sentence says better; nothing is read.
    Else(&'static str),
    /// Nothing: the key is optional.
    Unset,
    /// The key must be set, for instance to this value; no example is shown if it
    /// is empty.
    Required(&'static str),
}

impl<R: Rule> Key<R> {
    /// The key as the reference shows it.
    pub fn row(&self) -> Row {
        let toml = |bare| self.rule.toml(bare);
        Row {
            name: self.name,
            kind: self.rule.kind(),
            range: self.rule.range(),
            default: match self.preset {
                Preset::Is(bare) => Some(toml(bare)),
                _ => None,
            },
            preset: match self.preset {
                Preset::Is(bare) => format!("`{}`", toml(bare)),
                Preset::Else(words) => words.into(),
                Preset::Unset => "not set".into(),
                Preset::Required("") => "must be set".into(),
                Preset::Required(bare) => format!("must be set, as in `{}`", toml(bare)),
            },
            meaning: joined(self.meaning),
            reason: self.reason,
        }
    }
}

/// A key as the reference shows it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name in the file.
    pub name: &'static str,
    /// Its type, in a word or two.
    pub kind: String,
    /// Which values of the type are allowed; empty where all are.
    pub range: String,
    /// What holds without it, in words.
    pub preset: String,
    /// Its default as TOML, if it has one.
    pub default: Option<String>,
    /// What it means.
    pub meaning: String,
    /// Why the default is what it is; empty if none is given.
    pub reason: &'static str,
}

/// A table with its keys, as the reference shows it.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name in the file; empty if it has several.
    pub name: &'static str,
    /// What it is about.
    pub about: String,
    /// Its keys in order.
    pub rows: Vec<Row>,
}

impl Table {
    /// The names of its keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.rows.iter().map(|row| row.name).collect()
    }
}

/// Keys that a declaration makes: see [`keys!`](crate::keys).
pub trait Keys {
    /// The table that they make.
    fn table(&self) -> Table;

    /// Their names.
    fn names(&self) -> Vec<&'static str> {
        self.table().names()
    }
}

/// Lines of a comment as one text.
pub fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// A name in Rust that is a word of the language, as it stands in the file.
#[doc(hidden)]
pub const fn plain(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}
