//! Rules for the values of form fields.

use super::content::FilePart;

/// Where a field's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldRule {
    /// A text; `{customer}` is the customer's number, `{session}` the
    /// session's, unique in the run, `{random}` nine random digits,
    /// `{run}` letters that differ from run to run, `{request}`
    /// the number of the request within the session; any other name is a
    /// parameter's.
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
    /// A file.
    File(FilePart),
    /// The value of the page.
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
    /// A parameter, by its index in the scenario.
    Parameter(u16),
}

/// Names in texts that are no parameters.
pub(crate) const NAMES: [&str; 5] = ["customer", "session", "request", "random", "run"];

impl TextPart {
    /// Parses a text with names in braces; `parameter` knows the index of a
    /// parameter by its name. Braces around anything but letters, digits and _
    /// stand for themselves, as JSON needs them.
    ///
    /// # Errors
    /// A name that nothing has, in words.
    pub fn parse(text: &str, parameter: impl Fn(&str) -> Option<u16>) -> Result<Vec<Self>, String> {
        let mut parts = Vec::new();
        let (mut literal, mut rest) = (String::new(), text);
        while let Some(open) = rest.find('{') {
            let inner = &rest[open + 1..];
            let length = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = &inner[..length.unwrap_or(inner.len())];
            if name.is_empty() || !inner[name.len()..].starts_with('}') {
                literal.push_str(&rest[..=open]);
                rest = inner;
                continue;
            }
            literal.push_str(&rest[..open]);
            if !literal.is_empty() {
                parts.push(Self::Literal(std::mem::take(&mut literal)));
            }
            parts.push(match name {
                "customer" => Self::Customer,
                "session" => Self::Session,
                "random" => Self::Random,
                "run" => Self::Run,
                "request" => Self::Request,
                other => match parameter(other) {
                    Some(index) => Self::Parameter(index),
                    None => {
                        return Err(format!(
                            "{{{other}}} is neither {} nor a parameter that anything gives",
                            NAMES.join(", ")
                        ));
                    }
                },
            });
            rest = &inner[name.len() + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Self::Literal(literal));
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_found_and_other_braces_stand_for_themselves() {
        let parse = |text| TextPart::parse(text, |name| (name == "id").then_some(7));
        let literal = |text: &str| TextPart::Literal(text.to_owned());
        assert_eq!(
            parse("{\"id\": \"{id}\", \"of\": {\"n\": {request}}}").unwrap(),
            [
                literal("{\"id\": \""),
                TextPart::Parameter(7),
                literal("\", \"of\": {\"n\": "),
                TextPart::Request,
                literal("}}"),
            ]
        );
        assert_eq!(parse("{").unwrap(), [literal("{")]);
        assert!(parse("{ide}").unwrap_err().starts_with("{ide} is neither"));
    }
}
