//! Keys that a table may have, declared once: the reader takes names, types and
//! ranges from the declaration, and the reference page is made from it.

use std::time::Duration;

use crate::reader::{Section, Value};

/// A key of a table: its name, what values it takes, and what it means.
#[derive(Debug)]
pub struct Key<R> {
    /// Its name in the file.
    pub name: &'static str,
    /// What values it takes.
    pub rule: R,
    /// What holds without it.
    pub preset: Preset,
    /// What it means, as lines of text.
    pub meaning: &'static [&'static str],
}

/// What holds where a key is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// This value, as TOML.
    Is(&'static str),
    /// Something that a sentence says better.
    Else(&'static str),
    /// Nothing in particular.
    Unset,
    /// The key must be there.
    Required,
}

/// What values a key takes.
pub trait Rule {
    /// What is read.
    type Read<'r>;
    /// Reads a value; what is wrong with it is told.
    fn read<'r>(&self, value: Value<'r>) -> Option<Self::Read<'r>>;
    /// Its type, in a word or two.
    fn kind(&self) -> String;
    /// Which values of the type are allowed; empty where all are.
    fn range(&self) -> String;
}

/// A table whose keys are declared.
pub trait Table {
    /// What it is about, as lines of text.
    fn about(&self) -> &'static [&'static str];
    /// Its keys in order.
    fn rows(&self) -> Vec<Row>;
    /// The names of its keys.
    fn names(&self) -> Vec<&'static str> {
        self.rows().into_iter().map(|row| row.name).collect()
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
    /// What holds without it.
    pub preset: Preset,
    /// What it means.
    pub meaning: String,
}

impl<R: Rule> Key<R> {
    /// The key as the reference shows it.
    pub fn row(&self) -> Row {
        Row {
            name: self.name,
            kind: self.rule.kind(),
            range: self.rule.range(),
            preset: self.preset,
            meaning: joined(self.meaning),
        }
    }
}

impl<'r> Section<'r> {
    /// Reports every key that the table does not declare.
    pub fn known(&self, table: &impl Table) {
        self.only(&table.names());
    }

    /// The value of a declared key, if it is there and right.
    pub fn read<R: Rule>(&self, key: &Key<R>) -> Option<R::Read<'r>> {
        key.rule.read(self.get(key.name)?)
    }

    /// The same, but `default` if it is not there: `None` says that it is wrong.
    pub fn read_or<R: Rule>(&self, key: &Key<R>, default: R::Read<'r>) -> Option<R::Read<'r>> {
        match self.get(key.name) {
            Some(value) => key.rule.read(value),
            None => Some(default),
        }
    }

    /// The same, `Some(None)` if it is not there.
    pub fn read_some<R: Rule>(&self, key: &Key<R>) -> Option<Option<R::Read<'r>>> {
        match self.get(key.name) {
            Some(value) => key.rule.read(value).map(Some),
            None => Some(None),
        }
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

/// A text; in brackets what it has to be.
#[derive(Debug)]
pub struct Text(pub &'static str);

/// One of these words; what is read is its place among them.
#[derive(Debug)]
pub struct Words(pub &'static [&'static str]);

/// True or false.
#[derive(Debug)]
pub struct Flag;

/// A number, both ends included.
#[derive(Debug)]
pub struct Number(pub f64, pub f64);

/// A whole number, both ends included.
#[derive(Debug)]
pub struct Whole(pub i64, pub i64);

/// Two whole numbers, the smaller one first, both within this range.
#[derive(Debug)]
pub struct Pair(pub i64, pub i64);

/// A duration, both ends included.
#[derive(Debug)]
pub struct Time(pub Duration, pub Duration);

/// Something with a reader of its own: its type, and what is allowed.
#[derive(Debug)]
pub struct Other(pub &'static str, pub &'static str);

impl Rule for Text {
    type Read<'r> = &'r str;
    fn read<'r>(&self, value: Value<'r>) -> Option<&'r str> {
        value.string()
    }
    fn kind(&self) -> String {
        "text".into()
    }
    fn range(&self) -> String {
        self.0.into()
    }
}

impl Rule for Words {
    type Read<'r> = usize;
    fn read<'r>(&self, value: Value<'r>) -> Option<usize> {
        value.choice(self.0)
    }
    fn kind(&self) -> String {
        "word".into()
    }
    fn range(&self) -> String {
        self.0.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
    }
}

impl Rule for Flag {
    type Read<'r> = bool;
    fn read<'r>(&self, value: Value<'r>) -> Option<bool> {
        value.boolean()
    }
    fn kind(&self) -> String {
        "true or false".into()
    }
    fn range(&self) -> String {
        String::new()
    }
}

impl Rule for Number {
    type Read<'r> = f64;
    fn read<'r>(&self, value: Value<'r>) -> Option<f64> {
        value.number(self.0..=self.1)
    }
    fn kind(&self) -> String {
        "number".into()
    }
    fn range(&self) -> String {
        match (self.0 <= f64::MIN, self.1 >= f64::MAX) {
            (true, true) => String::new(),
            (true, false) => format!("to {}", self.1),
            (false, true) => format!("from {}", self.0),
            (false, false) => format!("{} to {}", self.0, self.1),
        }
    }
}

impl Rule for Whole {
    type Read<'r> = i64;
    fn read<'r>(&self, value: Value<'r>) -> Option<i64> {
        value.integer(self.0..=self.1)
    }
    fn kind(&self) -> String {
        "whole number".into()
    }
    fn range(&self) -> String {
        whole(self.0, self.1)
    }
}

impl Rule for Pair {
    type Read<'r> = (i64, i64);
    fn read<'r>(&self, value: Value<'r>) -> Option<(i64, i64)> {
        value.pair(self.0..=self.1)
    }
    fn kind(&self) -> String {
        "two whole numbers".into()
    }
    fn range(&self) -> String {
        format!("{}; the smaller one first", whole(self.0, self.1))
    }
}

impl Rule for Time {
    type Read<'r> = Duration;
    fn read<'r>(&self, value: Value<'r>) -> Option<Duration> {
        value.duration(self.0..=self.1)
    }
    fn kind(&self) -> String {
        "duration".into()
    }
    fn range(&self) -> String {
        format!("{} to {}", short(self.0), short(self.1))
    }
}

impl Rule for Other {
    type Read<'r> = Value<'r>;
    fn read<'r>(&self, value: Value<'r>) -> Option<Value<'r>> {
        Some(value)
    }
    fn kind(&self) -> String {
        self.0.into()
    }
    fn range(&self) -> String {
        self.1.into()
    }
}

fn whole(least: i64, most: i64) -> String {
    match most {
        i64::MAX => format!("from {least}"),
        _ => format!("{least} to {most}"),
    }
}

/// `24h` rather than 86400 seconds.
fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.is_zero() => "0s".into(),
        0 => format!("{time:?}"),
        _ if time.subsec_nanos() == 0 && seconds.is_multiple_of(3600) => {
            format!("{}h", seconds / 3600)
        }
        _ => format!("{time:?}"),
    }
}

/// Declares tables:
///
/// ```
/// use tidegate_config::{Preset::Is, Whole, keys};
/// keys! {
///     /// Who comes.
///     static CROWD: Crowd {
///         /// How many.
///         people: Whole(1, 100) = Is("10");
///     }
/// }
/// assert_eq!(CROWD.people.name, "people");
/// ```
#[macro_export]
macro_rules! keys {
    ($(
        $(#[doc = $about:literal])+
        $vis:vis static $TABLE:ident: $Keys:ident {
            $(
                $(#[doc = $meaning:literal])+
                $key:ident: $Rule:ident $(($($limit:expr),+))? = $preset:expr;
            )+
        }
    )+) => {$(
        $(#[doc = $about])+
        $vis static $TABLE: $Keys = $Keys {
            $($key: $crate::Key {
                name: $crate::plain(stringify!($key)),
                rule: $Rule $(($($limit),+))?,
                preset: $preset,
                meaning: &[$($meaning),+],
            },)+
        };

        $(#[doc = $about])+
        #[derive(Debug)]
        $vis struct $Keys {
            $($(#[doc = $meaning])+ $vis $key: $crate::Key<$Rule>,)+
        }

        impl $crate::Table for $Keys {
            fn about(&self) -> &'static [&'static str] {
                &[$($about),+]
            }
            fn rows(&self) -> Vec<$crate::Row> {
                vec![$(self.$key.row()),+]
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::*;
    use Preset::{Is, Required, Unset};

    crate::keys! {
        /// Who comes,
        /// and when.
        static CROWD: Crowd {
            /// How many.
            people: Whole(1, 100) = Is("10");
            /// How long
            /// they stay.
            r#for: Time(Duration::from_millis(1), Duration::from_secs(7200)) = Required;
            /// How they come.
            by: Words(&["train", "car"]) = Unset;
        }
    }

    #[test]
    fn a_declared_key_is_read_by_its_rule_and_shown_with_it() {
        let read = |text: &str| {
            crate::read(text, "crowd.toml", |root| {
                root.known(&CROWD);
                let by = root.read_some(&CROWD.by);
                Some((root.read_or(&CROWD.people, 10)?, root.read(&CROWD.r#for), by?))
            })
            .map_err(|mistakes| mistakes.to_string())
        };
        let second = Some(Duration::from_secs(1));
        assert_eq!(read("for = \"1s\"\nby = \"car\""), Ok((10, second, Some(1))));
        assert_eq!(
            read("people = 0\nfro = \"1s\"\nby = 1").unwrap_err(),
            "crowd.toml:1: people: = 0 must be 1 to 100; choose a value in this range\n\
             crowd.toml:2: fro: is not a known key; did you mean for?\n\
             crowd.toml:3: by: is an integer, must be a string; write it in quotes"
        );
        let rows = CROWD.rows();
        assert_eq!(CROWD.names(), ["people", "for", "by"]);
        assert_eq!(rows[1].meaning, "How long they stay.");
        let ranges: Vec<_> = rows.iter().map(|row| row.range.as_str()).collect();
        assert_eq!(ranges, ["1 to 100", "1ms to 2h", "`\"train\"`, `\"car\"`"]);
    }
}
