//! What a merchant asks for.

use serde::Serialize;

use tidegate_sitekit::api::LONGEST_KEY;

/// An idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key of 1 to 255 visible characters.
    pub fn new(text: &str) -> Option<Self> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        let fits = (1..=LONGEST_KEY).contains(&text.len());
        (visible && fits).then(|| Self(text.to_owned()))
    }

    /// A key that is known to be visible and short.
    pub(super) fn of_text(text: String) -> Self {
        Self(text)
    }

    /// The key as its header has it: a String of RFC 9651.
    pub(super) fn header(&self) -> String {
        format!("\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }

    /// The key itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Body of a capture.
#[derive(Serialize)]
pub(super) struct CaptureBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<&'a str>,
    #[serde(rename = "final")]
    pub last: bool,
}

/// Body of a refund.
#[derive(Serialize)]
pub(super) struct RefundBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_quoted_as_structured_fields_have_it() {
        assert_eq!(Key::new("create/d-1").unwrap().header(), "\"create/d-1\"");
        assert_eq!(Key::new("a\"b\\c").unwrap().header(), "\"a\\\"b\\\\c\"");
        for text in ["", "a b", "ä", &"k".repeat(256)] {
            assert_eq!(Key::new(text), None, "{text}");
        }
    }
}
