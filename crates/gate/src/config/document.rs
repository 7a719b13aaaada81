//! A TOML text as a flat list of settings, each with its line and its value as
//! written. Nothing is checked here but the syntax.
//!
//! Deviation: serde's derive with `deny_unknown_fields` stops at the first
//! mistake of a text; an operator wants all of them at once.

use super::mistake::Mistake;
use super::rule::Raw;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One `key = value` of a section.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Section, or empty for a key above the first section.
    pub section: String,
    /// Key, or empty for the section's header itself where that is not a table.
    pub key: String,
    /// Value.
    pub raw: Raw,
    /// Value as written, shortened to one readable line.
    pub shown: String,
    /// Line of the key, from 1.
    pub line: usize,
}

/// A text taken apart.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// What is set, in the order of the text.
    pub entries: Vec<Entry>,
    /// Sections by name with the line where each begins.
    pub sections: Vec<(String, usize)>,
    /// Where the text is no TOML, with the line.
    pub mistakes: Vec<(usize, Mistake)>,
}

impl Document {
    /// Takes a text apart; `name` goes before line numbers.
    pub fn parse(text: &str, name: &str) -> Self {
        let lines = Lines::new(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut document = Self::default();
        for error in &errors {
            let line = error.span().map_or(1, |span| lines.at(span.start));
            document.mistakes.push((
                line,
                Mistake {
                    place: format!("{name}:{line}"),
                    key: String::new(),
                    value: String::new(),
                    rule: format!("is no TOML: {}", one_line(error.message())),
                    remedy: "a line is [section] or key = value, text in double quotes".into(),
                },
            ));
        }
        // One slip makes several errors of its line; the first says it best.
        document.mistakes.sort_by_key(|(line, _)| *line);
        document.mistakes.dedup_by_key(|(line, _)| *line);
        for (key, value) in table.get_ref() {
            let line = lines.at(key.span().start);
            let section = one_line(key.get_ref());
            match value.get_ref() {
                DeValue::Table(settings) => {
                    document.sections.push((section.clone(), line));
                    for (key, value) in settings {
                        document.entries.push(entry(text, &lines, &section, key, value));
                    }
                }
                _ => document
                    .entries
                    .push(Entry { section: String::new(), ..entry(text, &lines, "", key, value) }),
            }
        }
        // A text that breaks off makes follow-on errors of what was recovered.
        let broken: Vec<usize> = document.mistakes.iter().map(|(line, _)| *line).collect();
        document.entries.retain(|entry| !broken.contains(&entry.line));
        document.entries.sort_by_key(|entry| entry.line);
        document
    }
}

fn entry(
    text: &str,
    lines: &Lines,
    section: &str,
    key: &Spanned<toml::de::DeString<'_>>,
    value: &Spanned<DeValue<'_>>,
) -> Entry {
    let written = match value.get_ref() {
        DeValue::Table(_) => "{ … }",
        _ => text.get(value.span()).unwrap_or_default(),
    };
    Entry {
        section: section.to_owned(),
        key: one_line(key.get_ref()),
        raw: raw(value.get_ref()),
        shown: one_line(written),
        line: lines.at(key.span().start),
    }
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Raw::Number(number.as_str().into()),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) => Raw::Number(value.to_string()),
            Err(_) => Raw::Other,
        },
        DeValue::Float(number) => Raw::Number(number.as_str().into()),
        DeValue::Boolean(value) => Raw::Bool(*value),
        DeValue::Array(items) => Raw::List(items.iter().map(|item| raw(item.get_ref())).collect()),
        DeValue::Datetime(_) | DeValue::Table(_) => Raw::Other,
    }
}

/// Longest piece of the operator's text that is repeated in a message.
const SHOWN: usize = 60;

/// A text on one line: runs of blanks become one, control characters are
/// escaped, and what is longer than 60 characters is cut.
pub fn one_line(text: &str) -> String {
    line_of(text, SHOWN)
}

/// The same, cut at another length.
pub fn line_of(text: &str, most: usize) -> String {
    let mut line = String::new();
    for (index, word) in text.split_whitespace().enumerate() {
        if index > 0 {
            line.push(' ');
        }
        for c in word.chars() {
            if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
        }
        if line.len() > 4 * most {
            break;
        }
    }
    if line.chars().count() > most {
        line = line.chars().take(most - 1).collect();
        line.push('…');
    }
    line
}

/// Line numbers of byte offsets.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    /// Line of an offset, from 1.
    fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_the_line_of_its_key() {
        let text =
            "# gate\n[listen]\naddress = \"x\"\n\ncores = [\n  0,\n  1,\n]\nbacklog = 0x10\n";
        let document = Document::parse(text, "t");
        let found: Vec<_> =
            document.entries.iter().map(|e| (e.key.as_str(), e.line, e.shown.as_str())).collect();
        let expected = [("address", 3, "\"x\""), ("cores", 5, "[ 0, 1, ]"), ("backlog", 9, "0x10")];
        assert_eq!(found, expected);
        assert_eq!(document.entries[2].raw, Raw::Number("16".into()));
        assert_eq!(document.sections, [("listen".to_owned(), 2)]);
    }

    #[test]
    fn several_syntax_errors_are_all_reported_with_their_lines() {
        let document = Document::parse("[listen]\naddress = \nkey = 'x\ny = = 2\n", "t");
        let lines: Vec<_> = document.mistakes.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 3, 4]);
    }

    #[test]
    fn what_is_repeated_is_short_and_printable() {
        assert_eq!(one_line("a\n\tb\u{1b}[31m"), "a b\\u{1b}[31m");
        assert_eq!(one_line(&"x".repeat(1000)).chars().count(), SHOWN);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]a-z\"'=.#{}, \n\\\\0-9x_-]{0,200}") {
            Document::parse(&text, "t");
        }
    }
}
