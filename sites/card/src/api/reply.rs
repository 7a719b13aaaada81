//! Answers to merchants.

use std::time::Instant;

use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::operations::Answer;
use crate::refusal::Refusal;
use crate::resource::REPLAYED;
use tidegate_sitekit::Error;
use tidegate_sitekit::throttle::Causes;

/// What was logged: a cause lasts for many requests.
static FAILURES: Causes = Causes::new();

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

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        let mut headers = HeaderMap::new();
        if let Some(wait) = refusal.retry_after {
            // Whole seconds, rounded up: earlier it would be refused again.
            let seconds = wait.as_millis().div_ceil(1000);
            headers.insert(header::RETRY_AFTER, u64::try_from(seconds).unwrap_or(u64::MAX).into());
        }
        if refusal.status == 401 {
            let scheme = HeaderValue::from_static("Bearer realm=\"card processor\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        Self { status: refusal.status, body: refusal.body(), headers }
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Refused(refusal) => refusal.into(),
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
        let refusal = match error {
            Error::Client(refusal) => {
                Refusal::new(refusal.status, "refused", refusal.why.join(" "))
            }
            Error::Database(error) => {
                if let Some(left_out) = FAILURES.allows(&error.to_string(), Instant::now()) {
                    tracing::error!(%error, left_out, "the database failed");
                }
                Refusal::new(503, "database_unavailable", text)
            }
            Error::Operator(error) | Error::Internal(error) => {
                if let Some(left_out) = FAILURES.allows(&error, Instant::now()) {
                    tracing::error!(error, left_out, "a request failed");
                }
                Refusal::new(500, "internal_error", text)
            }
        };
        refusal.into()
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
