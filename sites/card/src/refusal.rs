//! Answers that are no success: a status, a code for programs, a sentence for people, and the
//! field at fault. None of them repeats what was sent.

use std::time::Duration;

use crate::resource::{ApiError, Failure};

/// An answer that is no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Status of HTTP, 400 to 599.
    pub status: u16,
    /// After how long the same request may be accepted.
    pub retry_after: Option<Duration>,
    failure: Box<Failure>,
}

impl Refusal {
    /// A refusal without a field.
    pub fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        let error = ApiError { code, message, field: None };
        Self { status, retry_after: None, failure: Box::new(Failure { error }) }
    }

    /// The refusal of a value.
    pub fn of_field(field: &str, code: &str, message: impl Into<String>) -> Self {
        Self::new(422, code, message).field(field)
    }

    /// The same with the field at fault.
    pub fn field(mut self, field: &str) -> Self {
        self.failure.error.field = Some(field.to_owned());
        self
    }

    /// The same with the time after which to try again.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The code.
    #[cfg(test)]
    pub fn code(&self) -> &str {
        &self.failure.error.code
    }

    /// The body.
    pub fn body(&self) -> String {
        serde_json::to_string(&self.failure).expect("texts and numbers can be written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_code_message_and_field() {
        let refusal = Refusal::of_field("amount", "amount_too_small", "must be 1 or more");
        let expected = r#"{"error":{"code":"amount_too_small","message":"must be 1 or more","field":"amount"}}"#;
        assert_eq!((refusal.status, refusal.body().as_str()), (422, expected));
        let plain = Refusal::new(404, "not_found", "there is none").body();
        assert_eq!(plain, r#"{"error":{"code":"not_found","message":"there is none"}}"#);
    }
}
