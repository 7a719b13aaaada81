//! Leaves values of secrets out of what is shown and written: passwords, tokens, cookies.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Parts of names whose values are not for the eyes of those who read results.
pub const SECRET_NAMES: [&str; 8] =
    ["authorization", "cookie", "token", "secret", "password", "passwd", "api-key", "apikey"];

/// A name with one of these parts, and its value: in a query, a form, JSON, or written out.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let names = SECRET_NAMES.join("|").replace("api-key", "api[-_]key");
    let value = r#""(?:[^"\\]|\\.)*"?|[^&\s,;<>}\]"]+"#;
    let text = format!(r#"(?i)([\w-]*(?:{names})[\w-]*"?\s*[:=]\s*)(?:{value})"#);
    Regex::new(&text).expect("it is a constant")
});

/// A text without the values behind names of secrets: `password=…`, `"token": …`.
pub(crate) fn without_values(text: &str) -> Cow<'_, str> {
    VALUE.replace_all(text, "${1}…")
}

/// A line of the head of a message. Of cookies the names stay.
pub(crate) fn without_value_of_field(line: &str) -> Cow<'_, str> {
    let Some((name, value)) = line.split_once(':') else { return without_values(line) };
    let lower = name.to_ascii_lowercase();
    if lower.contains(' ') || !SECRET_NAMES.iter().any(|part| lower.contains(part)) {
        return without_values(line);
    }
    let cookie = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => format!("{}=…", name.trim()),
        None => "…".to_owned(),
    };
    let value = match lower.as_str() {
        "cookie" => value.split(';').map(cookie).collect::<Vec<_>>().join("; "),
        "set-cookie" => match value.split_once(';') {
            Some((pair, attributes)) => format!("{};{attributes}", cookie(pair)),
            None => cookie(value),
        },
        _ => "…".to_owned(),
    };
    format!("{name}: {value}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_secrets_are_left_out_wherever_they_stand() {
        for (text, shown) in [
            ("user=a&password=b%20c&next=d", "user=a&password=…&next=d"),
            (
                r#"{"user": "a", "Password": "b \" c", "n": 1}"#,
                r#"{"user": "a", "Password": …, "n": 1}"#,
            ),
            (r#"{"access_token":"x.y"}"#, r#"{"access_token":…}"#),
            ("GET /a?api_key=b&c=d HTTP/1.1", "GET /a?api_key=…&c=d HTTP/1.1"),
            ("no secret here", "no secret here"),
        ] {
            assert_eq!(without_values(text), shown);
        }
        for (line, shown) in [
            ("Authorization: Bearer abc def", "Authorization: …"),
            ("Cookie: sid=abc; lang=de", "Cookie: sid=…; lang=…"),
            ("set-cookie: sid=abc; Path=/; HttpOnly", "set-cookie: sid=…; Path=/; HttpOnly"),
            ("X-Api-Key: abc", "X-Api-Key: …"),
            ("Accept: text/html", "Accept: text/html"),
            ("Location: /a?token=abc", "Location: /a?token=…"),
            ("POST /token HTTP/1.1", "POST /token HTTP/1.1"),
        ] {
            assert_eq!(without_value_of_field(line), shown);
        }
    }
}
