//! Rules of tables and lists.

use crate::mistake::Problem;
use crate::rule::Rule;
use crate::tree::{Section, Value};

/// A table; its keys have declarations of their own.
#[derive(Clone, Copy, Debug)]
pub struct Subtable;

impl Rule for Subtable {
    type Read<'r> = Section<'r>;

    fn read<'r>(&self, value: &Value<'r>) -> Result<Section<'r>, Problem> {
        value.table().ok_or_else(|| Problem::new("must be a table", "write { key = value }"))
    }

    fn kind(&self) -> String {
        "table".into()
    }

    fn range(&self) -> String {
        "see below".into()
    }
}

/// A list whose entries follow the other rule. Each entry that breaks it is a mistake
/// of its own, at its line; the others are read.
#[derive(Clone, Copy, Debug)]
pub struct List<R>(pub R);

impl<R: Rule> Rule for List<R> {
    type Read<'r> = Vec<R::Read<'r>>;

    fn read<'r>(&self, value: &Value<'r>) -> Result<Self::Read<'r>, Problem> {
        let problem = || Problem::new(format!("must be a {}", self.kind()), "write [ ... ]");
        let items = value.items().ok_or_else(problem)?;
        Ok(items.iter().filter_map(|item| item.read(&self.0)).collect())
    }

    fn kind(&self) -> String {
        format!("list of {}s", self.0.kind())
    }

    fn range(&self) -> String {
        self.0.range()
    }

    fn toml(&self, bare: &str) -> String {
        let items: Vec<_> = bare.split(',').map(|item| self.0.toml(item.trim())).collect();
        format!("[{}]", items.join(", "))
    }
}

/// A value of the other rule, or a list of such values, at least one.
#[derive(Clone, Copy, Debug)]
pub struct OneOrMore<R>(pub R);

impl<R: Rule> Rule for OneOrMore<R> {
    type Read<'r> = Vec<R::Read<'r>>;

    fn read<'r>(&self, value: &Value<'r>) -> Result<Self::Read<'r>, Problem> {
        match value.items() {
            Some(items) if items.is_empty() => {
                let rule = "must not be an empty list";
                Err(Problem::new(rule, "name one at least, or leave the key out"))
            }
            Some(items) if items.len() > 1 || value.is_list() => List(&self.0).read(value),
            _ => self.0.read(value).map(|one| vec![one]),
        }
    }

    fn kind(&self) -> String {
        format!("{} or list of them", self.0.kind())
    }

    fn range(&self) -> String {
        self.0.range()
    }

    fn toml(&self, bare: &str) -> String {
        self.0.toml(bare)
    }
}

/// A value of the other rule, or a table that says more.
#[derive(Clone, Copy, Debug)]
pub struct OrTable<R>(pub R);

/// What [`OrTable`] reads.
#[derive(Clone)]
pub enum PlainOrTable<'r, T> {
    /// A value of the other rule.
    Plain(T),
    /// A table.
    Table(Section<'r>),
}

impl<R: Rule> Rule for OrTable<R> {
    type Read<'r> = PlainOrTable<'r, R::Read<'r>>;

    fn read<'r>(&self, value: &Value<'r>) -> Result<Self::Read<'r>, Problem> {
        match value.table() {
            Some(table) => Ok(PlainOrTable::Table(table)),
            None => self.0.read(value).map(PlainOrTable::Plain),
        }
    }

    fn kind(&self) -> String {
        format!("{} or table", self.0.kind())
    }

    fn range(&self) -> String {
        format!("{}; tables see below", self.0.range())
    }

    fn toml(&self, bare: &str) -> String {
        self.0.toml(bare)
    }
}
