//! Messages as JSON, and their JSON Schema.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tidegate_sitekit::{Problem, api};

use super::{MOST_ENTRIES, Message, Record, Shape, check};

/// The page that lists all fields.
const FIELDS: &str = "docs/b2b.md";

/// Reads a message: its fields, their types and their limits.
///
/// # Errors
/// What is wrong with it, and with which field.
pub fn read<M: Message + DeserializeOwned>(text: &[u8]) -> Result<M, Problem> {
    let message: M = api::parse(text, FIELDS)?;
    let value = serde_json::to_value(&message)
        .map_err(|_| Problem::coded(400, "malformed_json", "The body cannot be read."))?;
    check(&M::RECORD, &value)?;
    Ok(message)
}

/// The JSON Schema of a message.
///
/// Source: JSON Schema 2020-12, as OpenAPI 3.1 has it.
pub fn schema(record: &Record) -> Value {
    let fields = record.fields.iter().map(|field| {
        let mut schema = of_shape(field.shape);
        schema["description"] = field.about.into();
        (field.name.to_owned(), schema)
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": record.fields.iter().map(|it| it.name).collect::<Vec<_>>(),
        "properties": fields.collect::<serde_json::Map<_, _>>(),
    })
}

fn of_shape(shape: Shape) -> Value {
    let list = |items: Value| json!({"type": "array", "maxItems": MOST_ENTRIES, "items": items});
    match shape {
        Shape::Number(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Text(most) => json!({"type": "string", "maxLength": most}),
        Shape::OneOf(names) => json!({"type": "string", "enum": names}),
        Shape::Bytes => json!({"type": "string", "contentEncoding": "base64"}),
        Shape::List(record) => list(schema(record)),
        Shape::Numbers(least, most) => list(of_shape(Shape::Number(least, most))),
    }
}
