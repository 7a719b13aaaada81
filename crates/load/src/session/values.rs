//! Values of form fields and texts: by the scenario's rules, else what a person
//! would put in.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::form::{Entry, encode_part};
use super::last_used::LastUsed;
use super::request::Identity;
use crate::html::{Field, FieldKind};
use crate::rng::Rng;
use crate::scenario::definition::ScenarioDefinition;
use crate::scenario::field::{FieldRule, TextPart};

/// What texts are filled with.
pub(crate) struct Known<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) last: &'a mut LastUsed,
    pub(crate) definition: &'a ScenarioDefinition,
    pub(crate) rng: &'a mut Rng,
}

/// How a value is written into a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// As it is.
    Nothing,
    /// Within a string of JSON.
    Json,
    /// Within a form.
    Form,
}

impl Escape {
    /// The escape that the media type of a body requires.
    pub(crate) fn of(content_type: &str) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        let kind = kind.to_ascii_lowercase();
        if kind == "application/x-www-form-urlencoded" {
            Self::Form
        } else if kind.ends_with("/json") || kind.ends_with("+json") {
            Self::Json
        } else {
            Self::Nothing
        }
    }

    fn write(self, value: &str, out: &mut String) {
        match self {
            Self::Nothing => out.push_str(value),
            Self::Form => encode_part(value, "+", out),
            Self::Json => {
                let quoted = serde_json::Value::from(value).to_string();
                out.push_str(&quoted[1..quoted.len() - 1]);
            }
        }
    }
}

/// Fills in a text; `None` if a value was never seen.
pub(crate) fn text(parts: &[TextPart], known: &mut Known<'_>, escape: Escape) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            TextPart::Literal(literal) => text.push_str(literal),
            TextPart::Customer => text.push_str(&known.identity.customer.to_string()),
            TextPart::Session => text.push_str(&known.identity.session.to_string()),
            TextPart::Random => {
                text.push_str(&known.rng.random_range(0..1_000_000_000u32).to_string());
            }
            TextPart::Request => text.push_str(&known.identity.request.to_string()),
            TextPart::Run => text.push_str(&base36(known.identity.run)),
            TextPart::Parameter(index) => {
                // Declared ranges go first, as in a path.
                if let Some((first, end)) = known.definition.parameters[*index as usize].uniform {
                    let value = known.rng.random_range(first..=end).to_string();
                    known.last.set(*index, &value);
                }
                let value = known.last.get(*index, &known.definition.feeders)?;
                escape.write(value.text, &mut text);
            }
        }
    }
    Some(text)
}

/// The value of a field by a rule; `given` are the fields before it. `None` if
/// it takes a value that was never seen.
pub(crate) fn value(
    field: &Field,
    rule: &FieldRule,
    given: &[Entry<'_>],
    known: &mut Known<'_>,
) -> Option<String> {
    let rng = &mut *known.rng;
    Some(match rule {
        FieldRule::Text(parts) => return text(parts, known, Escape::Nothing),
        FieldRule::Uniform(first, last) => {
            let number = rng.random_range(*first..=*last) as f64;
            within(number, field.min, field.max)
        }
        FieldRule::AboveMin(first, last) => {
            let by = f64::from(rng.random_range(*first..=*last));
            within(field.min.unwrap_or(0.0) + by, field.min, field.max)
        }
        FieldRule::AboveField(other, first, last) => {
            let by = f64::from(rng.random_range(*first..=*last));
            let base = given.iter().find(|entry| entry.name == *other);
            let base = base.and_then(|entry| entry.value.parse::<f64>().ok()).unwrap_or(0.0);
            within(base + by, field.min, field.max)
        }
        FieldRule::RandomText(first, last) => {
            let length = rng.random_range(*first..=*last);
            random_text(length as usize, rng)
        }
        FieldRule::OneOf(choices) => choices.choose(rng).cloned().unwrap_or_default(),
        // As browsers do in a form that is not multipart.
        FieldRule::File(file) => file.name.clone(),
        FieldRule::Keep => keep(field, rng),
    })
}

/// The rule for a field. A rule for free text does not apply to a choice: the
/// page knows its options best.
pub(crate) fn rule<'r>(rules: &'r [(String, FieldRule)], field: &Field) -> Option<&'r FieldRule> {
    let (_, rule) = rules.iter().find(|(name, _)| *name == field.name)?;
    match (field.kind, rule) {
        (FieldKind::Choice | FieldKind::Submit, FieldRule::OneOf(_) | FieldRule::Text(_)) => {
            Some(rule)
        }
        (FieldKind::Choice | FieldKind::Submit, _) => None,
        // A page without a file input has no place for a file, and the other way round.
        (kind, rule) if (kind == FieldKind::File) != matches!(rule, FieldRule::File(_)) => None,
        _ => Some(rule),
    }
}

/// The default value of a field.
fn keep(field: &Field, rng: &mut Rng) -> String {
    match field.kind {
        FieldKind::Choice | FieldKind::Submit => {
            field.choices.choose(rng).cloned().unwrap_or_default()
        }
        FieldKind::Hidden | FieldKind::Checked => field.value.clone(),
        FieldKind::File => String::new(),
        _ if !field.value.is_empty() => field.value.clone(),
        FieldKind::Number => {
            let min = field.min.unwrap_or(1.0);
            let span = (field.max.unwrap_or(min + 10.0) - min).clamp(0.0, 1e6) as u32;
            within(min + f64::from(rng.random_range(0..=span)), field.min, field.max)
        }
        FieldKind::Email => {
            format!("customer{}@example.test", rng.random_range(0..1_000_000_000u32))
        }
        FieldKind::Text => random_text(8, rng),
    }
}

/// A number within its limits, with two decimals where it has a fraction.
fn within(number: f64, min: Option<f64>, max: Option<f64>) -> String {
    let number = number.min(max.unwrap_or(f64::MAX)).max(min.unwrap_or(f64::MIN));
    if number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{}", number as i64)
    } else {
        format!("{number:.2}")
    }
}

/// Words of lower-case letters, `length` characters in all.
fn random_text(length: usize, rng: &mut Rng) -> String {
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let letter = rng.random_range(0..32u8);
        let inner = !text.is_empty() && text.len() + 1 < length && !text.ends_with(' ');
        text.push(if letter < 26 {
            (b'a' + letter) as char
        } else if inner {
            ' '
        } else {
            'e'
        });
    }
    text
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]);
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().map(|digit| *digit as char).collect()
}
