//! The gate's own answers: short, honest, and the same for every customer.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

/// Why the gate answers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Content-Length and Transfer-Encoding in one request.
    TwoLengths,
    /// No Host, more than one, or one that is none.
    BadHost,
    /// A request target that a gate cannot serve.
    BadTarget,
    /// CONNECT: the gate is no forward proxy.
    Connect,
    /// A protocol upgrade that the gate does not pass on.
    Upgrade,
    /// A transfer coding other than chunked.
    Coding,
    /// The upstream takes no connections.
    Unreachable,
    /// The upstream hung up or broke HTTP.
    BrokenUpstream,
    /// The upstream took too long.
    Late,
}

impl Answer {
    /// The status code.
    pub fn code(self) -> StatusCode {
        match self {
            Self::TwoLengths | Self::BadHost | Self::BadTarget => StatusCode::BAD_REQUEST,
            Self::Connect => StatusCode::METHOD_NOT_ALLOWED,
            Self::Upgrade | Self::Coding => StatusCode::NOT_IMPLEMENTED,
            Self::Unreachable | Self::BrokenUpstream => StatusCode::BAD_GATEWAY,
            Self::Late => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// Whether the request broke HTTP so that what follows it cannot be trusted.
    pub fn closes(self) -> bool {
        use Answer::{BadHost, BadTarget, Coding, Connect, TwoLengths};
        matches!(self, TwoLengths | BadHost | BadTarget | Connect | Coding)
    }

    fn says(self) -> (&'static str, &'static str) {
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
        }
    }

    /// The response with its page; `retry_after` in seconds, where it makes sense.
    pub fn response(self) -> Response<Bytes> {
        let (title, text) = self.says();
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

/// What a customer is sent who speaks HTTP in clear to the TLS port.
pub const CLEAR_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
Content-Type: text/plain; charset=utf-8\r\nContent-Length: 69\r\nConnection: close\r\n\r\n\
This port speaks HTTPS only. Please use https:// instead of http://\r\n";

/// What a customer is sent who speaks anything but HTTP to the port in clear: a
/// browser that tried TLS does not show it, but those who look see what it was.
pub const NOT_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
Content-Type: text/plain; charset=utf-8\r\nContent-Length: 77\r\nConnection: close\r\n\r\n\
This port speaks HTTP in clear only. Please use http:// instead of https://\r\n";

/// What a newcomer in clear is sent who is refused with a word.
pub const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
Content-Type: text/plain; charset=utf-8\r\nContent-Length: 68\r\nCache-Control: no-store\r\n\
Retry-After: 5\r\nConnection: close\r\n\r\n\
The site is full at the moment. Please try again in a few seconds.\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clear_answers_are_as_long_as_they_say() {
        for answer in [CLEAR_HTTP, NOT_HTTP, FULL] {
            let text = std::str::from_utf8(answer).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let length = format!("Content-Length: {}\r\n", body.len());
            assert!(head.contains(&length), "{head} {length}");
        }
    }

    #[test]
    fn only_what_certainly_did_not_reach_the_site_asks_for_a_retry() {
        let retry = |answer: Answer| answer.response().headers().contains_key(RETRY_AFTER);
        assert!(retry(Answer::Unreachable));
        assert!(!retry(Answer::BrokenUpstream) && !retry(Answer::Late));
    }
}
