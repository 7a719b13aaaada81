//! Reads the rules for form fields.

use super::field::{FieldRule, TextPart};
use super::pages::Names;
use tidegate_toml::{Section, Value};

pub(super) fn field_rules(section: &Section<'_>, names: &Names) -> Vec<(String, FieldRule)> {
    let rule =
        |(name, value): (&str, Value<'_>)| Some((name.to_owned(), field_rule(&value, names)?));
    section.entries().into_iter().filter_map(rule).collect()
}

/// A text with the names of parameters that something gives.
pub(super) fn text(value: &Value<'_>, names: &Names) -> Option<Vec<TextPart>> {
    match TextPart::parse(value.string()?, |name| names.given(name)) {
        Ok(parts) => Some(parts),
        Err(rule) => {
            value.wrong(rule, "extract it from a page, or add it to [parameters]");
            None
        }
    }
}

fn field_rule(value: &Value<'_>, names: &Names) -> Option<FieldRule> {
    const REMEDY: &str = "write a text, { uniform = [1, 9] }, { above_min = [1, 10] }, \
                          { above = \"bid\", by = [1, 10] }, { text = [1, 2048] }, \
                          { one_of = [\"a\", \"b\"] } or { keep = true }";
    if value.is_str() {
        return text(value, names).map(FieldRule::Text);
    }
    let section = value.section()?;
    section.only(&["uniform", "above_min", "above", "by", "text", "one_of", "keep"]);
    let small = 0..=1_000_000;
    let short = |(a, b): (i64, i64)| (a as u32, b as u32);
    if let Some(range) = section.get("uniform") {
        return range.pair(-1_000_000_000..=1_000_000_000).map(|(a, b)| FieldRule::Uniform(a, b));
    }
    if let Some(range) = section.get("above_min") {
        return range.pair(small).map(short).map(|(a, b)| FieldRule::AboveMin(a, b));
    }
    if let Some(range) = section.get("text") {
        return range.pair(0..=65_536).map(short).map(|(a, b)| FieldRule::RandomText(a, b));
    }
    if let (Some(other), Some(range)) = (section.get("above"), section.get("by")) {
        let (other, (a, b)) = (other.string()?, range.pair(small).map(short)?);
        return Some(FieldRule::AboveField(other.to_owned(), a, b));
    }
    if let Some(list) = section.get("one_of") {
        let choices: Vec<String> =
            list.list()?.iter().filter_map(|v| v.string().map(str::to_owned)).collect();
        if !choices.is_empty() {
            return Some(FieldRule::OneOf(choices));
        }
    }
    if section.get("keep").and_then(|value| value.boolean()) == Some(true) {
        return Some(FieldRule::Keep);
    }
    section.wrong("is no rule for a field", REMEDY);
    None
}
