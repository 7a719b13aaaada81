//! Calls of the processor, with deadlines and repetitions.
//!
//! Every request may be repeated: those that change something have an idempotency key, and
//! the others change nothing. An answer is certain if it belongs to the key, or if nothing of
//! the request can have arrived before.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use super::error::Error;
use super::request::{CaptureBody, Key, RefundBody};
use crate::address;
use crate::resource::{Form, Payment, is_reference};
use tidegate_sitekit::api::{IDEMPOTENCY_KEY, REPLAYED};
use tidegate_sitekit::attempts::{Attempts, Patience};
use tidegate_sitekit::client::{Answered, Http};
use tidegate_sitekit::problem::{ApiError, Failure};

/// Most bytes of an answer: a payment with all its movements.
const MOST_ANSWER: usize = 128 * 1024;

/// Calls one processor in the name of one merchant. Use a client of its own in each runtime:
/// its connections belong to the runtime that uses it first.
#[derive(Clone)]
pub struct Client {
    http: Http,
    base: String,
    authorization: HeaderValue,
    patience: Patience,
}

tidegate_sitekit::printed_by!(Client: base);

impl Client {
    /// A client of the processor at this URL with this API key. It trusts the certificates of
    /// the PEM file `ca`, or those of the system.
    ///
    /// # Errors
    /// A mistake of the operator: the URL is invalid, or uses http:// to another machine; the
    /// key is invalid; the certificates cannot be read.
    pub fn new(
        url: &str,
        key: &str,
        ca: Option<&Path>,
        patience: Patience,
    ) -> tidegate_sitekit::Result<Self> {
        let operator = |text: String| tidegate_sitekit::Error::Operator(text);
        let base =
            address::read(url).map_err(|rule| operator(format!("card processor {url}: {rule}")))?;
        if base.path() != "/" || base.query().is_some() {
            let rule = "must be scheme, host and port alone, such as https://card.example";
            return Err(operator(format!("card processor {url}: {rule}")));
        }
        let bearer = Zeroizing::new(format!("Bearer {key}"));
        let mut authorization = HeaderValue::from_str(&bearer)
            .map_err(|_| operator("card processor: the API key has other characters".into()))?;
        authorization.set_sensitive(true);
        let base = base.as_str().trim_end_matches('/').to_owned();
        Ok(Self { http: Http::new(ca)?, base, authorization, patience })
    }

    /// The same with other patience.
    pub fn with_patience(&self, patience: Patience) -> Self {
        Self { patience, ..self.clone() }
    }

    /// Creates a payment whose card the customer types into the processor's form, at
    /// [`Payment::checkout_url`].
    ///
    /// # Errors
    /// Refused, or unknown.
    pub async fn create(&self, key: &Key, form: &Form) -> Result<Payment, Error> {
        self.post("/v1/payments", key, form).await
    }

    /// Captures an amount, or all that is left. After the `last` capture nothing more can be
    /// captured. A `reference` names the capture; with the same one it happens once.
    ///
    /// # Errors
    /// Refused, or unknown.
    pub async fn capture(
        &self,
        key: &Key,
        payment: &str,
        amount: Option<i64>,
        reference: Option<&str>,
        last: bool,
    ) -> Result<Payment, Error> {
        let body = CaptureBody { amount, reference, last };
        self.post(&format!("/v1/payments/{payment}/capture"), key, &body).await
    }

    /// Refunds an amount, or all that is left. A `reference` names the refund; with the same
    /// one it happens once.
    ///
    /// # Errors
    /// Refused, or unknown.
    pub async fn refund(
        &self,
        key: &Key,
        payment: &str,
        amount: Option<i64>,
        reference: Option<&str>,
    ) -> Result<Payment, Error> {
        let body = RefundBody { amount, reference };
        self.post(&format!("/v1/payments/{payment}/refunds"), key, &body).await
    }

    /// The payment of this id.
    ///
    /// # Errors
    /// Refused (no such payment), or unknown.
    pub async fn payment(&self, id: &str) -> Result<Payment, Error> {
        self.get(&format!("/v1/payments/{id}")).await
    }

    /// The payment of the merchant's own reference, if there is one.
    ///
    /// # Errors
    /// Refused, or unknown.
    pub async fn by_reference(&self, reference: &str) -> Result<Option<Payment>, Error> {
        #[derive(serde::Deserialize)]
        struct List {
            payments: Vec<Payment>,
        }
        if !is_reference(reference) {
            return Ok(None);
        }
        let list: List = self.get(&format!("/v1/payments?reference={reference}")).await?;
        Ok(list.payments.into_iter().find(|payment| payment.reference == reference))
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.call(Method::GET, path, None, Bytes::new()).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        key: &Key,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let body = serde_json::to_vec(body)
            .map_err(|error| Error::Unknown(format!("the request cannot be written: {error}")))?;
        self.call(Method::POST, path, Some(key), body.into()).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        key: Option<&Key>,
        body: Bytes,
    ) -> Result<T, Error> {
        let mut attempts = Attempts::begin(self.patience);
        let mut may_have_arrived = false;
        loop {
            let deadline = attempts.deadline();
            let request = self.request(&method, path, key, body.clone())?;
            let (why, wait) = match self.http.send(request, MOST_ANSWER, deadline).await {
                Ok(answer) => {
                    let of_key = answer.headers.contains_key(REPLAYED);
                    // What only reads has no outcome that could be uncertain.
                    let certain = key.is_none() || of_key || !may_have_arrived;
                    match read(&answer) {
                        Read::Success(value) => return Ok(value),
                        Read::Definite(error) if certain => return Err(error),
                        Read::Definite(error) => return Err(Error::Unknown(error.to_string())),
                        Read::Again(why) => {
                            // A server that fails may have carried the request out.
                            may_have_arrived |= answer.status.is_server_error();
                            (why, asked_to_wait(&answer.headers))
                        }
                    }
                }
                Err(error) => {
                    may_have_arrived |= error.may_have_arrived;
                    (error.text, None)
                }
            };
            if !attempts.again(wait).await {
                return Err(Error::Unknown(why));
            }
        }
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        key: Option<&Key>,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(AUTHORIZATION, &self.authorization);
        if let Some(key) = key {
            request = request
                .header(IDEMPOTENCY_KEY, key.header())
                .header(CONTENT_TYPE, "application/json");
        }
        request
            .body(Full::new(body))
            .map_err(|error| Error::Unknown(format!("the request cannot be made: {error}")))
    }
}

/// What an answer says.
enum Read<T> {
    Success(T),
    /// A repetition would have the same answer.
    Definite(Error),
    /// A repetition may have another one.
    Again(String),
}

fn read<T: DeserializeOwned>(answer: &Answered) -> Read<T> {
    if answer.status.is_success() {
        return match serde_json::from_slice(&answer.body) {
            Ok(value) => Read::Success(value),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                Read::Again(format!("an answer that cannot be read (line {line}, column {column})"))
            }
        };
    }
    let failure: Option<Failure> = serde_json::from_slice(&answer.body).ok();
    let Some(Failure { error }) = failure else {
        // Not the processor, but something in front of it.
        return Read::Again(format!("answered {}", answer.status));
    };
    if may_change(answer.status, &error) {
        return Read::Again(format!("answered {} {}", answer.status, error.code));
    }
    Read::Definite(Error::Refused { status: answer.status.as_u16(), error })
}

/// Whether the same request may have another answer later.
fn may_change(status: StatusCode, error: &ApiError) -> bool {
    status.is_server_error()
        || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
        || error.code == "request_under_way"
}

fn asked_to_wait(headers: &HeaderMap) -> Option<Duration> {
    // More seconds than 32 bits hold are no wait that anybody means.
    let seconds: u32 = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_ages_is_none() {
        let asked = |value: &'static str| {
            asked_to_wait(&HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]))
        };
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        assert!(
            asked("4294967295")
                .is_some_and(|wait| std::time::Instant::now().checked_add(wait).is_some())
        );
        for value in ["18446744073709551615", "-1", "soon", ""] {
            assert_eq!(asked(value), None, "{value}");
        }
    }

    fn answer(status: u16, body: &str) -> Read<Payment> {
        read(&Answered {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        })
    }

    #[test]
    fn only_what_may_change_is_asked_again() {
        let failure = |code: &str| format!(r#"{{"error":{{"code":"{code}","message":"m"}}}}"#);
        for (status, body, again) in [
            (409, failure("request_under_way"), true),
            (409, failure("status_does_not_allow"), false),
            (422, failure("idempotency_key_reused"), false),
            (401, failure("wrong_api_key"), false),
            (429, failure("too_many_wrong_keys"), true),
            (500, failure("processing_error"), true),
            (503, failure("database_unavailable"), true),
            (502, "<html>a proxy</html>".into(), true),
            (404, "<html>a proxy</html>".into(), true),
            (200, "{}".into(), true),
        ] {
            let is_again = matches!(answer(status, &body), Read::Again(_));
            assert_eq!(is_again, again, "{status} {body}");
        }
    }

    #[test]
    fn a_client_does_not_show_its_key_nor_send_it_in_the_clear() {
        let patience = Patience::default();
        let client = Client::new("https://card.example/", "sk_test_1", None, patience).unwrap();
        assert!(!format!("{client:?}").contains("sk_test_1"));
        let error = Client::new("http://card.example/", "sk_test_1", None, patience);
        assert!(error.unwrap_err().to_string().contains("must be an https URL"));
    }
}
