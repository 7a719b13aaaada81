//! Rules for the values of form fields.

/// Where a field's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldRule {
    /// A text; `{customer}` is the customer's number, `{session}` the
    /// session's, unique in the run, `{random}` nine random digits,
    /// `{run}` letters that differ from run to run, `{request}`
    /// the number of the request within the session.
    Text(Vec<TextPart>),
    /// A whole number, both ends included.
    Uniform(i64, i64),
    /// The input's `min` (0 if it has none) plus a whole number, at most its
    /// `max`.
    AboveMin(u32, u32),
    /// The value given to another field of the form, plus a whole number, at
    /// most the input's `max`. That field must come before this one.
    AboveField(String, u32, u32),
    /// Random words of this many characters in all, both ends included.
    RandomText(u32, u32),
    /// One of these.
    OneOf(Vec<String>),
    /// What the page says.
    Keep,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum TextPart {
    /// As it stands.
    Literal(String),
    /// Number of the customer.
    Customer,
    /// Number of the session.
    Session,
    /// Nine random digits, of the session's own randomness.
    Random,
    /// A few letters that differ from run to run.
    Run,
    /// Number of the request within the session.
    Request,
}

impl FieldRule {
    /// Parses a text with names in braces.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn text(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let Some(length) = rest[open..].find('}') else {
                return Err(format!("\"{text}\" has a {{ without }}"));
            };
            if open > 0 {
                parts.push(TextPart::Literal(rest[..open].to_owned()));
            }
            parts.push(match &rest[open + 1..open + length] {
                "customer" => TextPart::Customer,
                "session" => TextPart::Session,
                "random" => TextPart::Random,
                "run" => TextPart::Run,
                "request" => TextPart::Request,
                other => {
                    return Err(format!(
                        "{{{other}}} must be {{customer}}, {{session}}, {{request}}, {{random}} or {{run}}"
                    ));
                }
            });
            rest = &rest[open + length + 1..];
        }
        if !rest.is_empty() {
            parts.push(TextPart::Literal(rest.to_owned()));
        }
        Ok(Self::Text(parts))
    }
}
