//! The gate's own error pages, the same for every customer.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

/// The reason why the gate answers a request itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPage {
    /// Content-Length and Transfer-Encoding in one request.
    TwoLengths,
    /// No Host, more than one, or one that is malformed.
    BadHost,
    /// A request target that a gate cannot serve.
    BadTarget,
    /// CONNECT: the gate is not a forward proxy.
    Connect,
    /// A protocol upgrade that the gate does not forward.
    Upgrade,
    /// A transfer coding other than chunked.
    Coding,
    /// The upstream does not accept a connection.
    Unreachable,
    /// The upstream closed, or broke HTTP.
    BrokenUpstream,
    /// The upstream did not respond in time.
    Late,
    /// The upstream stopped reading the request's body.
    Stalled,
}

impl ErrorPage {
    /// The status code.
    pub fn code(self) -> StatusCode {
        match self {
            Self::TwoLengths | Self::BadHost | Self::BadTarget => StatusCode::BAD_REQUEST,
            Self::Connect => StatusCode::METHOD_NOT_ALLOWED,
            Self::Upgrade | Self::Coding => StatusCode::NOT_IMPLEMENTED,
            Self::Unreachable | Self::BrokenUpstream => StatusCode::BAD_GATEWAY,
            Self::Late | Self::Stalled => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// Whether the request broke HTTP so that what follows it cannot be trusted.
    pub fn closes(self) -> bool {
        use ErrorPage::{BadHost, BadTarget, Coding, Connect, TwoLengths};
        matches!(self, TwoLengths | BadHost | BadTarget | Connect | Coding)
    }

    fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::TwoLengths => (
                "Bad request",
                "The request gives its length twice, by Content-Length and by Transfer-Encoding.",
            ),
            Self::BadHost => ("Bad request", "The request must name exactly one Host."),
            Self::BadTarget => ("Bad request", "The request's target is no path of this site."),
            Self::Connect => {
                ("Method not allowed", "This site is no proxy: CONNECT is not served.")
            }
            Self::Upgrade => {
                ("Not implemented", "This site does not change to another protocol (Upgrade).")
            }
            Self::Coding => {
                ("Not implemented", "The only Transfer-Encoding that this site undoes is chunked.")
            }
            Self::Unreachable => (
                "The site is down",
                "The site does not answer at the moment. Nothing you sent has reached it. \
                 Please try again in a few seconds.",
            ),
            Self::BrokenUpstream => (
                "The site failed",
                "The site broke off before it answered. What you sent may have reached it: \
                 look before you send an order again.",
            ),
            Self::Late => (
                "The site took too long",
                "The site has your request but did not answer in time. It may still be \
                 carried out: look before you send an order again.",
            ),
            Self::Stalled => (
                "The site took too long",
                "The site stopped reading before it had all that you sent. A part of it may \
                 have been stored: look before you send it again.",
            ),
        }
    }

    /// The response with its page.
    pub fn response(self) -> Response<Bytes> {
        let (title, text) = self.text();
        let code = self.code().as_u16();
        let page = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
             <body style=\"font:1.1em/1.5 system-ui,sans-serif;max-width:34em;margin:15vh auto;\
             padding:0 1em\"><h1>{title}</h1><p>{text}<p><small>{code}</small></html>\n"
        );
        let mut response = Response::new(Bytes::from(page));
        *response.status_mut() = self.code();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match self {
            Self::Unreachable => drop(headers.insert(RETRY_AFTER, HeaderValue::from_static("5"))),
            Self::Connect => {
                let allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
                headers.insert(http::header::ALLOW, HeaderValue::from_static(allowed));
            }
            _ => {}
        }
        if self.closes() {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_did_not_reach_the_site_is_to_be_retried() {
        let retry = |page: ErrorPage| page.response().headers().contains_key(RETRY_AFTER);
        assert!(retry(ErrorPage::Unreachable));
        assert!(!retry(ErrorPage::BrokenUpstream) && !retry(ErrorPage::Late));
    }
}
