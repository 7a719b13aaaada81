//! Reads the rules for form fields.

use super::Refuse;
use std::path::Path;

use tidegate_config::Preset::{Else, Is, Unset};
use tidegate_config::{Boolean, Other, Pair, Section, Text, Value, keys};

use super::files::Files;
use super::names::Names;
use crate::scenario::content::FilePart;
use crate::scenario::field::{FieldRule, TextPart};

/// Most that is added to another number.
const SMALL: i64 = 1_000_000;

keys! {
    /// A rule for the value of a form field: one of these keys.
    pub(super) static FIELD: FieldKeys {
        /// A random whole number of this range.
        uniform: Pair(-1_000_000_000, 1_000_000_000) = Unset;
        /// The input's `min` (0 if it has none) plus a random whole number, at most its `max`.
        above_min: Pair(0, SMALL) = Unset;
        /// The value of this other field, which must come before it, plus `by`, at most the input's
        /// `max`.
        above: Text("a field's name") = Unset;
        /// Range of what `above` adds.
        by: Pair(0, SMALL) = Unset;
        /// Random words; the range is their total length in characters.
        text: Pair(0, 65_536) = Unset;
        /// One of these, at random.
        one_of: Other("list of texts", "") = Unset;
        /// The value that the page has.
        keep: Boolean = Unset;
        /// The content of this file: for a file input of a form, or a field that is sent as
        /// `multipart/form-data`.
        file: Text("path from the scenario's folder; at most 16 MiB") = Unset;
        /// Name of the file in the form.
        name: Text("") = Else("that of the file");
        /// Media type of the file in the form.
        content_type: Text("a media type") = Is("application/octet-stream");
    }
}

pub(super) fn field_rules(
    section: &Section<'_>,
    names: &Names,
    files: &Files,
) -> Vec<(String, FieldRule)> {
    let rule = |(name, value): (&str, Value<'_>)| {
        Some((name.to_owned(), field_rule(&value, names, files)?))
    };
    section.entries().into_iter().filter_map(rule).collect()
}

/// A text with the names of parameters that something gives.
pub(super) fn text(value: &Value<'_>, names: &Names) -> Option<Vec<TextPart>> {
    match TextPart::parse(value.string()?, |name| names.given(name)) {
        Ok(parts) => Some(parts),
        Err(rule) => {
            if names.are_all_known() {
                let remedy = "extract it from a page, add it to [parameters], or to [feeders] a \
                              file with this column";
                value.wrong(rule, remedy);
            }
            None
        }
    }
}

fn field_rule(value: &Value<'_>, names: &Names, files: &Files) -> Option<FieldRule> {
    const REMEDY: &str = "write a text, { uniform = [1, 9] }, { above_min = [1, 10] }, \
                          { above = \"bid\", by = [1, 10] }, { text = [1, 2048] }, \
                          { one_of = [\"a\", \"b\"] }, { file = \"cat.png\" } or { keep = true }";
    if value.is_str() {
        return text(value, names).map(FieldRule::Text);
    }
    let section = value.section()?;
    section.known(&FIELD);
    let short = |(a, b): (i64, i64)| (a as u32, b as u32);
    let has = |key: &str| section.get(key).is_some();
    if has(FIELD.file.name) {
        return file(&section, files).map(FieldRule::File);
    }
    for key in [FIELD.name.name, FIELD.content_type.name] {
        if let Some(value) = section.get(key) {
            return value.refuse("goes with file", "add file = \"cat.png\", or remove it");
        }
    }
    if has(FIELD.uniform.name) {
        return section.given(&FIELD.uniform).map(|(a, b)| FieldRule::Uniform(a, b));
    }
    if has(FIELD.above_min.name) {
        return section.given(&FIELD.above_min).map(short).map(|(a, b)| FieldRule::AboveMin(a, b));
    }
    if has(FIELD.text.name) {
        return section.given(&FIELD.text).map(short).map(|(a, b)| FieldRule::RandomText(a, b));
    }
    if has(FIELD.above.name) && has(FIELD.by.name) {
        let (other, (a, b)) = (section.given(&FIELD.above)?, section.given(&FIELD.by).map(short)?);
        return Some(FieldRule::AboveField(other.to_owned(), a, b));
    }
    if let Some(list) = section.given(&FIELD.one_of) {
        let choices: Vec<String> =
            list.list()?.iter().filter_map(|v| v.string().map(str::to_owned)).collect();
        if !choices.is_empty() {
            return Some(FieldRule::OneOf(choices));
        }
    }
    if section.given(&FIELD.keep) == Some(true) {
        return Some(FieldRule::Keep);
    }
    section.refuse("is not a rule for a field", REMEDY)
}

/// A file that a form sends.
fn file(section: &Section<'_>, files: &Files) -> Option<FilePart> {
    let value = section.get(FIELD.file.name)?;
    let content = files.content(&value);
    let own =
        || Path::new(value.string()?).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = match section.get(FIELD.name.name) {
        None => own(),
        Some(value) => value.string().map(str::to_owned),
    };
    let content_type = match section.get(FIELD.content_type.name) {
        None => Some(OCTETS.to_owned()),
        Some(value) => media_type(&value),
    };
    Some(FilePart { name: name?, content_type: content_type?, content: content? })
}

/// The media type of bytes of which no more is known.
pub(super) const OCTETS: &str = "application/octet-stream";

pub(super) fn media_type(value: &Value<'_>) -> Option<String> {
    let text = value.string()?;
    let is_sound = text.contains('/') && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if !is_sound {
        value.wrong("is not a media type", "write \"application/json\"");
    }
    is_sound.then(|| text.to_owned())
}
