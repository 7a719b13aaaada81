//! Reads a TOML tree and keeps every mistake with its line, instead of
//! stopping at the first.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::mistakes::{Mistake, Mistakes};

/// One file and the mistakes found in it so far.
pub struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    mistakes: RefCell<Vec<Mistake>>,
}

impl<'a> Reader<'a> {
    /// A reader of this text; `file` is what mistakes name as their place.
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, mistakes: RefCell::default() }
    }

    /// Notes a mistake at a place in the text.
    pub fn wrong(
        &self,
        at: &Range<usize>,
        key: &str,
        rule: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let before = self.text.as_bytes().get(..at.start).unwrap_or_default();
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        self.wrong_in(self.file, line, key, rule, remedy);
    }

    /// Notes a mistake in another file, such as a table.
    pub fn wrong_in(
        &self,
        file: &str,
        line: usize,
        key: &str,
        rule: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.mistakes.borrow_mut().push(Mistake {
            file: file.to_owned(),
            line,
            key: key.to_owned(),
            rule: rule.into(),
            remedy: remedy.into(),
        });
    }

    /// All mistakes in the order of files and lines.
    pub fn into_mistakes(self) -> Mistakes {
        let mut mistakes = self.mistakes.into_inner();
        mistakes.sort_by_key(|mistake| (mistake.file != self.file, mistake.line));
        mistakes.dedup();
        Mistakes(mistakes)
    }

    /// Whether no mistake was found so far.
    pub fn is_clean(&self) -> bool {
        self.mistakes.borrow().is_empty()
    }
}

/// A table with its dotted name.
#[derive(Clone)]
pub struct Section<'r> {
    /// Who keeps the mistakes.
    pub reader: &'r Reader<'r>,
    /// The dotted name; empty at the root.
    pub path: String,
    /// Where it stands in the text, in bytes.
    pub at: Range<usize>,
    table: &'r DeTable<'r>,
}

impl<'r> Section<'r> {
    /// The whole of a text.
    pub fn root(reader: &'r Reader<'r>, table: &'r Spanned<DeTable<'r>>) -> Self {
        Self { reader, path: String::new(), at: table.span(), table: table.get_ref() }
    }

    /// The value of a key, if it is there.
    pub fn get(&self, key: &str) -> Option<Value<'r>> {
        let value = self.table.get(key)?;
        Some(Value { reader: self.reader, path: self.join(key), value })
    }

    /// All entries in the order of the text.
    pub fn entries(&self) -> Vec<(&'r str, Value<'r>)> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
            .into_iter()
            .map(|(key, value)| {
                let key: &'r str = key.get_ref();
                (key, Value { reader: self.reader, path: self.join(key), value })
            })
            .collect()
    }

    /// Reports every key that is not among the known ones.
    pub fn only(&self, known: &[&str]) {
        for (key, _) in self.table.iter() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let remedy = nearest(name, known, "known keys:");
            self.reader.wrong(&key.span(), &self.join(name), "is not a known key", remedy);
        }
    }

    /// Notes that something is wrong with it as a whole.
    pub fn wrong(&self, rule: impl Into<String>, remedy: impl Into<String>) {
        let key = if self.path.is_empty() { "scenario" } else { &self.path };
        self.reader.wrong(&self.at, key, rule, remedy);
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// A value with its dotted name.
pub struct Value<'r> {
    /// Who keeps the mistakes.
    pub reader: &'r Reader<'r>,
    /// The dotted name.
    pub path: String,
    value: &'r Spanned<DeValue<'r>>,
}

impl<'r> Value<'r> {
    /// Notes that something is wrong with it.
    pub fn wrong(&self, rule: impl Into<String>, remedy: impl Into<String>) {
        self.reader.wrong(&self.value.span(), &self.path, rule, remedy);
    }

    /// Reports a value of the wrong type.
    fn must_be(&self, what: &str, example: &str) {
        let found = self.value.get_ref().type_str();
        let article = if found.starts_with(['a', 'i']) { "an" } else { "a" };
        self.wrong(format!("is {article} {found}, must be {what}"), format!("write {example}"));
    }

    /// Whether it is a string.
    pub fn is_str(&self) -> bool {
        self.value.get_ref().is_str()
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// Whether it is true or false.
    pub fn is_boolean(&self) -> bool {
        self.value.get_ref().is_bool()
    }

    /// Whether it is a whole number.
    pub fn is_integer(&self) -> bool {
        self.value.get_ref().is_integer()
    }

    /// A string; anything else is a mistake.
    pub fn string(&self) -> Option<&'r str> {
        let found = self.value.get_ref().as_str();
        if found.is_none() {
            self.must_be("a string", "it in quotes");
        }
        found
    }

    /// The place of a string in a list of words; anything else is a mistake.
    pub fn choice(&self, words: &[&str]) -> Option<usize> {
        let found = self.string()?;
        let place = words.iter().position(|word| *word == found);
        if place.is_none() {
            self.wrong(
                format!("= \"{found}\" is not known"),
                nearest(found, words, "must be one of"),
            );
        }
        place
    }

    /// True or false; anything else is a mistake.
    pub fn boolean(&self) -> Option<bool> {
        let found = self.value.get_ref().as_bool();
        if found.is_none() {
            self.must_be("true or false", "true or false");
        }
        found
    }

    /// A number, whole or not, within a range.
    pub fn number(&self, range: std::ops::RangeInclusive<f64>) -> Option<f64> {
        let value = self.value.get_ref();
        let text = match (value.as_float(), value.as_integer()) {
            (Some(float), _) => float.as_str(),
            (_, Some(integer)) if integer.radix() == 10 => integer.as_str(),
            _ => {
                self.must_be("a number", "a number such as 0.5");
                return None;
            }
        };
        let parsed = text.replace('_', "").parse::<f64>().ok();
        match parsed {
            Some(number) if range.contains(&number) => Some(number),
            _ => {
                self.wrong(
                    format!("= {text} must be {} to {}", range.start(), range.end()),
                    "choose a value in this range",
                );
                None
            }
        }
    }

    /// A whole number within a range.
    pub fn integer(&self, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let Some(integer) = self.value.get_ref().as_integer() else {
            self.must_be("a whole number", "a number such as 10");
            return None;
        };
        let digits = integer.as_str().replace('_', "");
        let parsed = i64::from_str_radix(&digits, integer.radix()).ok();
        match parsed {
            Some(number) if range.contains(&number) => Some(number),
            _ => {
                self.wrong(
                    format!("= {} must be {} to {}", integer.as_str(), range.start(), range.end()),
                    "choose a value in this range",
                );
                None
            }
        }
    }

    /// A duration such as "7s", "250ms", "2min".
    pub fn duration(&self, range: std::ops::RangeInclusive<Duration>) -> Option<Duration> {
        let text = match self.value.get_ref().as_str() {
            Some(text) => text,
            None => {
                self.must_be("a duration in quotes", "\"7s\" or \"250ms\"");
                return None;
            }
        };
        match parse_duration(text) {
            Some(duration) if range.contains(&duration) => Some(duration),
            Some(_) => {
                self.wrong(
                    format!("= \"{text}\" must be {:?} to {:?}", range.start(), range.end()),
                    "choose a value in this range",
                );
                None
            }
            None => {
                self.wrong(format!("= \"{text}\" is not a duration"), "write \"7s\" or \"250ms\"");
                None
            }
        }
    }

    /// A table; anything else is a mistake.
    pub fn section(&self) -> Option<Section<'r>> {
        let Some(table) = self.value.get_ref().as_table() else {
            self.must_be("a table", "{ key = value }");
            return None;
        };
        let (reader, path, at) = (self.reader, self.path.clone(), self.value.span());
        Some(Section { reader, path, at, table })
    }

    /// A list; anything else is a mistake.
    pub fn list(&self) -> Option<Vec<Value<'r>>> {
        let Some(array) = self.value.get_ref().as_array() else {
            self.must_be("a list", "[ ... ]");
            return None;
        };
        let entry = |(index, value)| Value {
            reader: self.reader,
            path: format!("{}[{index}]", self.path),
            value,
        };
        Some(array.iter().enumerate().map(entry).collect())
    }

    /// A list of exactly two whole numbers, the first not above the second.
    pub fn pair(&self, range: std::ops::RangeInclusive<i64>) -> Option<(i64, i64)> {
        let list = self.list()?;
        if let [first, second] = list.as_slice() {
            let (first, second) = (first.integer(range.clone())?, second.integer(range)?);
            if first <= second {
                return Some((first, second));
            }
        }
        self.wrong("must be two numbers, the smaller one first", "write [1, 10]");
        None
    }
}

/// Parses `7s`, `1.5s`, `250ms`, `2min`, `1h`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic() || c == 'µ')?;
    let number: f64 = text[..unit_at].trim().parse().ok()?;
    let unit = match &text[unit_at..] {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * unit).ok()
}

/// The word that may have been meant, or all of them.
fn nearest(given: &str, words: &[&str], otherwise: &str) -> String {
    did_you_mean(given, words).unwrap_or_else(|| format!("{otherwise} {}", words.join(", ")))
}

/// The question whether the nearest of the words was meant, if one is near.
pub fn did_you_mean(given: &str, words: &[&str]) -> Option<String> {
    let near = words.iter().min_by_key(|word| distance(given, word))?;
    (distance(given, near) <= 1 + given.len() / 3).then(|| format!("did you mean {near}?"))
}

/// Edits between two short names (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(parse_duration("7s"), Some(Duration::from_secs(7)));
        assert_eq!(parse_duration("1.5 min"), Some(Duration::from_secs(90)));
        assert_eq!(parse_duration("250ms"), Some(Duration::from_millis(250)));
        for bad in ["7", "s", "-1s", "7 days", "", "1e999s"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("patience", "patiense"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}
