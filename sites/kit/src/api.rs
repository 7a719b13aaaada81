//! Interfaces for programs: bodies of requests, read within limits of size and time, and parsed
//! without ever repeating what they hold, which may be a card number; and idempotency keys, whose
//! answers [`once::key`](crate::once::key) keeps.

use std::fmt;
use std::marker::PhantomData;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use zeroize::Zeroizing;

use crate::Problem;
use crate::web::body::{self, Unread};

/// Most bytes of a body.
const LARGEST: usize = 16 * 1024;
/// Most characters of a field's name that are repeated.
const LONGEST_NAME: usize = 40;
/// As many digits in a field's name may be of a card.
const CARD_DIGITS: usize = 12;

/// Header of a request that may be repeated.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Header of every answer that belongs to an idempotency key: `false` for the first, `true`
/// for a repetition. Answers without it, such as 401 or 429, say nothing about what an earlier
/// request under the key has done.
pub const REPLAYED: &str = "idempotent-replayed";
/// Most characters of an idempotency key.
pub const LONGEST_KEY: usize = 255;

/// The idempotency key of a request. It is stored, so one that `is_secret`, such as a card
/// number, is refused.
///
/// # Errors
/// It is missing or invalid.
///
/// Source: draft-ietf-httpapi-idempotency-key-header-07, section 2.1: a String of RFC 9651.
/// Deviation: the characters without quotes are accepted too, as most services have it; both
/// are the same key.
pub fn idempotency_key(
    headers: &HeaderMap,
    is_secret: fn(&str) -> bool,
) -> Result<String, Problem> {
    let wrong = |code, text: &str| Problem::coded(400, code, text).at("Idempotency-Key");
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().unwrap_or_default().trim(),
        (None, _) => {
            return Err(wrong(
                "idempotency_key_missing",
                "Send a header `Idempotency-Key: \"…\"`, a new one for each payment, capture, cancellation or refund and the same when you repeat it.",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(wrong("idempotency_key_invalid", "Send one Idempotency-Key only."));
        }
    };
    let key = match value.strip_prefix('"') {
        Some(_) => quoted(value).unwrap_or_default(),
        None => value.to_owned(),
    };
    let visible = key.bytes().all(|byte| byte.is_ascii_graphic());
    if visible && (1..=LONGEST_KEY).contains(&key.len()) && !is_secret(&key) {
        return Ok(key);
    }
    Err(wrong(
        "idempotency_key_invalid",
        "The Idempotency-Key must be 1 to 255 visible characters of ASCII, in quotes or not, and no card number.",
    ))
}

fn quoted(value: &str) -> Option<String> {
    let item: sfv::Item = sfv::Parser::new(value).parse().ok()?;
    match item.bare_item {
        sfv::BareItem::String(text) if item.params.is_empty() => Some(text.into()),
        _ => None,
    }
}

/// The body of a request: JSON, or nothing.
///
/// # Errors
/// It is too long, takes too long, breaks off, or is of another type.
pub async fn read(headers: &HeaderMap, body: Body) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let (status, code, text) = match body::collect(body, LARGEST).await {
        Ok(body) => {
            check_kind(headers, &body)?;
            return Ok(Zeroizing::new(body.into()));
        }
        Err(Unread::TooLong) => (413, "body_too_large", "The body must be at most 16 KiB."),
        Err(Unread::BrokenOff) => (400, "body_incomplete", "The body broke off before its end."),
        Err(Unread::TooSlow) => {
            (408, "body_too_slow", "The body took longer than 10 seconds to arrive.")
        }
    };
    Err(Problem::coded(status, code, text))
}

fn check_kind(headers: &HeaderMap, body: &[u8]) -> Result<(), Problem> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(Problem::coded(
            415,
            "body_encoded",
            "The body must not be compressed: leave Content-Encoding out.",
        ));
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if body.is_empty() || kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::coded(
        415,
        "body_of_another_type",
        "The body must be JSON: send `Content-Type: application/json`.",
    ))
}

/// An object of JSON. Derived readers would accept a list of the values as well.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfObject<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OfObject<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(OfObject(PhantomData))
    }
}

/// Parses JSON of one object; an empty body is an empty object. `fields` is the page that lists
/// all fields.
///
/// # Errors
/// What is wrong with it, and with which field.
pub fn parse<T: DeserializeOwned>(body: &[u8], fields: &str) -> Result<T, Problem> {
    let body = if body.is_empty() { b"{}" } else { body };
    let mut reader = serde_json::Deserializer::from_slice(body);
    let Object(value) = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| explain(&error.path().to_string(), error.inner(), fields))?;
    reader.end().map_err(|error| explain(".", &error, fields))?;
    Ok(value)
}

/// The refusal of a body that cannot be parsed. The parser's own text repeats what was sent,
/// so only what this program has put into it is taken from it: the name of a field that is
/// missing, and what is expected.
fn explain(path: &str, error: &serde_json::Error, fields: &str) -> Problem {
    if !matches!(error.classify(), Category::Data) {
        let (line, column) = (error.line(), error.column());
        let text = format!("The body is no JSON: see line {line}, column {column}.");
        return Problem::coded(400, "malformed_json", text);
    }
    let text = error.to_string();
    let named = |prefix: &str| text.strip_prefix(prefix)?.split('`').nth(1);
    let within = |name: &str| match path {
        "." => name.to_owned(),
        path if path == name || path.ends_with(&format!(".{name}")) => path.to_owned(),
        path => format!("{path}.{name}"),
    };
    if let Some(name) = named("missing field") {
        let text = format!("The field `{name}` is missing.");
        return Problem::coded(400, "field_missing", text).at(&within(name));
    }
    if let Some(name) = named("duplicate field") {
        let text = format!("The field `{name}` is there twice.");
        return Problem::coded(400, "field_repeated", text).at(&within(name));
    }
    if let Some(name) = named("unknown field") {
        let text = format!("There is no such field; {fields} lists all of them.");
        let problem = Problem::coded(400, "field_unknown", text);
        let field = within(name);
        return if is_harmless(&field) { problem.at(&field) } else { problem };
    }
    // After the last of these words comes what this program expects.
    let expected = text.rsplit_once(", expected ").map_or("another value", |(_, rest)| rest);
    let expected = expected.split(" at line ").next().unwrap_or_default();
    let problem = Problem::coded(400, "value_of_another_type", format!("Must be {expected}."));
    match path {
        "." => problem,
        path => problem.at(path),
    }
}

/// Whether a name that was sent can be repeated: short, plain, and no card number.
fn is_harmless(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    name.len() <= LONGEST_NAME && name.bytes().all(plain) && digits < CARD_DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "read by the parser")]
    struct Outer {
        number: i64,
        inner: Option<Object<Inner>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "read by the parser")]
    struct Inner {
        text: String,
    }

    fn refused(text: &str) -> serde_json::Value {
        let problem = parse::<Outer>(text.as_bytes(), "docs/site.md").err().expect(text);
        assert_eq!(problem.status, 400);
        let body: serde_json::Value = serde_json::from_str(&problem.json()).unwrap();
        body["error"].clone()
    }

    #[test]
    fn a_mistake_is_named_with_its_field() {
        for (text, code, field) in [
            ("", "field_missing", Some("number")),
            ("{", "malformed_json", None),
            ("{\"number\": 1} x", "malformed_json", None),
            ("{\"number\": NaN}", "malformed_json", None),
            ("{\"number\": 1e999}", "malformed_json", None),
            ("[]", "value_of_another_type", None),
            ("[1]", "value_of_another_type", None),
            ("{\"number\": 1, \"inner\": [\"x\"]}", "value_of_another_type", Some("inner")),
            ("{}", "field_missing", Some("number")),
            ("{\"number\": 1, \"inner\": {}}", "field_missing", Some("inner.text")),
            ("{\"number\": 1, \"number\": 1}", "field_repeated", Some("number")),
            ("{\"number\": 1, \"x\": 1}", "field_unknown", Some("x")),
            ("{\"number\": 1, \"inner\": {\"x\": 1}}", "field_unknown", Some("inner.x")),
            ("{\"number\": 1, \"4242424242424242\": 1}", "field_unknown", None),
            ("{\"number\": 1, \"a b<>\": 1}", "field_unknown", None),
            ("{\"number\": 1.5}", "value_of_another_type", Some("number")),
            ("{\"number\": 99999999999999999999}", "value_of_another_type", Some("number")),
            (
                "{\"number\": 1, \"inner\": {\"text\": 1}}",
                "value_of_another_type",
                Some("inner.text"),
            ),
        ] {
            let error = refused(text);
            assert_eq!((&error["code"], error["field"].as_str()), (&code.into(), field), "{text}");
        }
        assert_eq!(refused("[]")["message"], "Must be an object.");
    }

    #[test]
    fn what_was_sent_is_never_repeated() {
        for text in [
            "{\"number\": \"4242424242424242\"}",
            "{\"number\": 1, \"inner\": {\"text\": 4242424242424242}}",
            "{\"number\": \", expected 4242424242424242\"}",
            "{\"number\": 1, \"inner\": 4242424242424242}",
            "\"4242424242424242\"",
            "{4242424242424242",
        ] {
            let error = refused(text).to_string();
            assert!(!error.contains("4242"), "{error}");
        }
    }

    #[test]
    fn a_key_is_the_same_with_and_without_quotes() {
        let key = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IDEMPOTENCY_KEY, value.parse().unwrap());
            }
            idempotency_key(&headers, |_| false).map_err(|problem| problem.code)
        };
        assert_eq!(key(&["\"8e03978e\""]), Ok("8e03978e".into()));
        assert_eq!(key(&["8e03978e"]), Ok("8e03978e".into()));
        assert_eq!(key(&["\"a\\\"b\""]), Ok("a\"b".into()));
        assert_eq!(key(&[]), Err("idempotency_key_missing".into()));
        for values in
            [&["a", "b"][..], &[""], &["\""], &["\"\""], &["\"a\";p=1"], &["\"a"], &["a b"]]
        {
            assert_eq!(key(values), Err("idempotency_key_invalid".into()), "{values:?}");
        }
    }
}
