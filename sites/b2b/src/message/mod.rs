//! What requests and answers consist of, declared once: the types of the services, their JSON,
//! their XML, and the descriptions of both follow from it.

pub mod json;
#[cfg(test)]
mod tests;
pub mod xml;

use serde::Serialize;
use serde_json::{Map, Value};
use tidegate_sitekit::Problem;

/// Longest list of a message.
pub const MOST_ENTRIES: usize = 50;

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A whole number within these bounds.
    Number(i64, i64),
    /// Text of at most so many characters.
    Text(usize),
    /// Text of this list.
    OneOf(&'static [&'static str]),
    /// Bytes in base64; only in answers.
    Bytes,
    /// A list of these, of at most [`MOST_ENTRIES`].
    List(&'static Record),
    /// A list of whole numbers within these bounds, of at most [`MOST_ENTRIES`].
    Numbers(i64, i64),
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name, in JSON and in XML.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// What it is, in a sentence.
    pub about: &'static str,
}

/// A message, or an entry of one.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Its name.
    pub name: &'static str,
    /// Its fields, in their order.
    pub fields: &'static [Field],
}

/// A type with its declaration.
pub trait Message: Serialize {
    /// The declaration.
    const RECORD: Record;
}

/// Declares types of messages.
macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident { $($field:ident : $type:ty = $shape:expr, $about:literal;)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $(#[doc = $about] pub $field: $type,)*
        }

        impl $crate::message::Message for $name {
            const RECORD: $crate::message::Record = $crate::message::Record {
                name: stringify!($name),
                fields: &[$($crate::message::Field {
                    name: stringify!($field),
                    shape: $shape,
                    about: $about,
                }),*],
            };
        }
    )*};
}
pub(crate) use messages;

/// Checks a message, whose fields have the types of its declaration, against its limits.
///
/// # Errors
/// The first field that does not keep to them.
pub fn check(record: &Record, message: &Value) -> Result<(), Problem> {
    within(record, message, "")
}

fn within(record: &Record, message: &Value, path: &str) -> Result<(), Problem> {
    for field in record.fields {
        let path = format!("{path}{}", field.name);
        let value = &message[field.name];
        let wrong = |text: String| Err(Problem::of_field(&path, "value_out_of_range", text));
        match field.shape {
            Shape::Number(least, most) if !is_between(value, least, most) => {
                return wrong(format!("Must be {least} to {most}."));
            }
            Shape::Text(most) => {
                let text = value.as_str().unwrap_or_default();
                if text.trim().is_empty() || text.chars().count() > most {
                    return wrong(format!("Must be 1 to {most} characters."));
                }
                if text.chars().any(|it| it.is_control() || matches!(it, '\u{fffe}' | '\u{ffff}')) {
                    return wrong("Must have no control characters.".to_owned());
                }
            }
            Shape::OneOf(names) if !value.as_str().is_some_and(|it| names.contains(&it)) => {
                return wrong(format!("Must be one of {}.", names.join(", ")));
            }
            Shape::Numbers(..) | Shape::List(_) => {
                let entries = value.as_array().map_or(&[][..], Vec::as_slice);
                if !(1..=MOST_ENTRIES).contains(&entries.len()) {
                    return wrong(format!("Must have 1 to {MOST_ENTRIES} entries."));
                }
                for (at, entry) in entries.iter().enumerate() {
                    match field.shape {
                        Shape::List(record) => within(record, entry, &format!("{path}[{at}]."))?,
                        Shape::Numbers(least, most) if !is_between(entry, least, most) => {
                            return wrong(format!("Each must be {least} to {most}."));
                        }
                        _ => {}
                    }
                }
            }
            Shape::Number(..) | Shape::OneOf(_) | Shape::Bytes => {}
        }
    }
    Ok(())
}

fn is_between(value: &Value, least: i64, most: i64) -> bool {
    value.as_i64().is_some_and(|it| (least..=most).contains(&it))
}

/// An object without fields.
fn empty() -> Value {
    Value::Object(Map::new())
}
