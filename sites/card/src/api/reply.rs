//! Answers to merchants.

use tidegate_sitekit::log_once;

use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::operations::Answer;
use tidegate_sitekit::Error;
use tidegate_sitekit::Problem;
use tidegate_sitekit::api::REPLAYED;

/// Headers of every answer.
const HEADERS: [(HeaderName, HeaderValue); 3] = [
    (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
];

/// An answer of JSON.
pub struct Reply {
    status: u16,
    body: String,
    headers: HeaderMap,
}

impl Reply {
    /// A success.
    pub fn json(body: String) -> Self {
        Self { status: 200, body, headers: HeaderMap::new() }
    }
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Self {
        let mut headers = HeaderMap::new();
        if let Some(seconds) = problem.retry_after_s {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if problem.status == 401 {
            let scheme = HeaderValue::from_static("Bearer realm=\"card processor\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        Self { status: problem.status, body: problem.json(), headers }
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Refused(problem) => problem.into(),
            Answer::OfKey { status, body, replayed } => {
                let replayed = HeaderValue::from_static(if replayed { "true" } else { "false" });
                let headers = [(HeaderName::from_static(REPLAYED), replayed)];
                Self { status, body, headers: headers.into_iter().collect() }
            }
        }
    }
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        let text = "The processor could not carry out the request just now: repeat it with the same idempotency key.";
        let problem = match error {
            Error::Client(problem) => {
                Problem::coded(problem.status, "refused", problem.why.join(" "))
            }
            Error::Database(error) => {
                log_once!(error by &error.to_string(), %error, "the database failed");
                Problem::coded(503, "database_unavailable", text)
            }
            Error::Operator(error) | Error::Internal(error) => {
                log_once!(error by &error, error, "a request failed");
                Problem::coded(500, "internal_error", text)
            }
        };
        problem.into()
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, HEADERS, self.body).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}
