//! A request that is refused, as a page, an interface for programs and a link report it.

use std::fmt;
use std::time::Duration;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

/// A request that is refused: the client can do something about it. It never repeats a secret.
/// Over a link it travels as it is serialised here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// HTTP status, 400 to 499; an interface for programs also refuses with 503 and 500.
    pub status: u16,
    /// For programs, such as `amount_too_large`; empty where only people read the problem.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub code: Box<str>,
    /// The heading: one short sentence that names the problem.
    pub what: Box<str>,
    /// The reasons, one entry for each correction to make.
    pub why: Vec<String>,
    /// What the client can do now.
    pub remedy: String,
    /// After how many seconds the same request may be accepted.
    pub retry_after_s: Option<u32>,
    /// Mistakes in single fields.
    pub mistakes: Vec<Mistake>,
}

/// A mistake in a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mistake {
    /// Name of the field.
    pub field: String,
    /// What is wrong and how to mend it.
    pub text: String,
}

/// The body of an answer of an interface for programs that is not a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What is wrong.
    pub error: ApiError,
}

/// What is wrong with a request of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// For programs, such as `amount_too_large`.
    pub code: String,
    /// For people: what is wrong, and how to mend it.
    pub message: String,
    /// The field at fault, such as `amount`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Mistake {
    /// A mistake in this field.
    pub fn new(field: &str, text: impl Into<String>) -> Self {
        Self { field: field.into(), text: text.into() }
    }
}

impl Problem {
    /// A problem with one reason.
    pub fn new(status: u16, what: &str, why: impl Into<String>, remedy: &str) -> Self {
        Self {
            status,
            code: "".into(),
            what: what.into(),
            why: vec![why.into()],
            remedy: remedy.into(),
            retry_after_s: None,
            mistakes: Vec::new(),
        }
    }

    /// A problem of an interface for programs: a code and one sentence.
    pub fn coded(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.into(), ..Self::new(status, "", message, "") }
    }

    /// The same about the value of a field.
    pub fn of_field(field: &str, code: &str, message: impl Into<String>) -> Self {
        Self::coded(422, code, message).at(field)
    }

    /// The same problem, whose reasons are mistakes in this field.
    pub fn at(mut self, field: &str) -> Self {
        let mistake = |text| Mistake::new(field, text);
        self.mistakes = self.why.drain(..).map(mistake).collect();
        self
    }

    /// A form with mistakes in its fields, which are marked.
    pub fn of_form(what: &str, remedy: &str, mistakes: Vec<Mistake>) -> Self {
        let why = "Some of its fields are not filled in as they must be.";
        Self { mistakes, ..Self::new(422, what, why, remedy) }
    }

    /// The same problem with the time after which the request may be accepted.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        // Rounded up: earlier it would be refused again.
        let seconds = wait.as_millis().div_ceil(1000);
        self.retry_after_s = Some(seconds.try_into().unwrap_or(u32::MAX));
        self
    }

    /// All reasons and mistakes as sentences.
    pub fn sentences(&self) -> Vec<&str> {
        let mistakes = self.mistakes.iter().map(|mistake| &mistake.text);
        self.why.iter().chain(mistakes).map(String::as_str).collect()
    }

    /// The problem for programs, as JSON.
    pub fn json(&self) -> String {
        let error = ApiError {
            code: self.code.to_string(),
            message: self.sentences().join(" "),
            field: self.mistakes.first().map(|mistake| mistake.field.clone()),
        };
        serde_json::to_string(&Failure { error }).expect("texts can be written")
    }

    /// The problem for people: the reasons, and what they can do.
    pub fn explained(&self) -> Markup {
        let sentences = self.sentences();
        html! {
            @if let [why] = &sentences[..] {
                p { (why) }
            } @else {
                ul { @for why in &sentences { li { (why) } } }
            }
            p { strong { (self.remedy) } }
        }
    }

    /// A page or another body as the answer that has this problem.
    pub fn answer(&self, body: impl IntoResponse) -> Response {
        let mut response = body.into_response();
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        set_retry_after(&mut response, self.retry_after_s);
        response
    }
}

/// Says in an answer after how many seconds the same request may succeed.
pub fn set_retry_after(response: &mut Response, seconds: Option<u32>) {
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.what, self.sentences().join("; "), self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reads_the_code_the_sentence_and_the_field() {
        let problem = Problem::of_field("amount", "amount_too_small", "Must be at least 1.");
        let expected = "{\"error\":{\"code\":\"amount_too_small\",\
                        \"message\":\"Must be at least 1.\",\"field\":\"amount\"}}";
        assert_eq!((problem.status, problem.json().as_str()), (422, expected));
        let expected = "{\"error\":{\"code\":\"gone\",\"message\":\"It is gone.\"}}";
        assert_eq!(Problem::coded(404, "gone", "It is gone.").json(), expected);
    }

    #[test]
    fn a_link_carries_a_problem_whole_and_no_code_that_is_not_there() {
        let problem = Problem::new(422, "Correct it", "One is wrong.", "Send it again.").at("one");
        let text = serde_json::to_string(&problem).unwrap();
        assert_eq!(
            text,
            "{\"status\":422,\"what\":\"Correct it\",\"why\":[],\"remedy\":\"Send it again.\",\
             \"retry_after_s\":null,\"mistakes\":[{\"field\":\"one\",\"text\":\"One is wrong.\"}]}"
        );
        assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
    }

    #[test]
    fn a_wait_is_told_in_whole_seconds_rounded_up() {
        let problem = Problem::new(429, "", "", "").retry_after(Duration::from_millis(1001));
        let response = problem.answer("");
        assert_eq!(
            (response.status().as_u16(), &response.headers()["retry-after"]),
            (429, &"2".parse().unwrap())
        );
    }
}
