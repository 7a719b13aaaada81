//! The gate's own error pages, the same for every customer.

use crate::framing::Rule;
use crate::telemetry::labels::{Malformed, UpstreamFault};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use std::borrow::Cow;
use std::time::SystemTime;

/// The reason why the gate answers a request itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPage {
    /// A request that breaks the grammar of HTTP, or a limit.
    Malformed(Rule),
    /// The customer did not send the request's body to its end.
    CutBody,
    /// No Host, more than one, or one that is malformed.
    BadHost,
    /// A request target that a gate cannot serve.
    BadTarget,
    /// CONNECT or TRACE: the gate is not a forward proxy, and shows no one the fields
    /// of a request.
    Method,
    /// A request for a WebSocket that two servers could read differently.
    BadUpgrade,
    /// A request for a WebSocket where the configuration refuses them.
    NoWebSocket,
    /// A request for a WebSocket beyond the most at once.
    FullOfTunnels,
    /// A transfer coding other than chunked.
    Coding,
    /// The request would begin a session, and none is admitted at the moment.
    Full,
    /// All connections to the upstream were in use for too long, or too many requests waited.
    Busy,
    /// The upstream does not accept a connection.
    Unreachable,
    /// The upstream closed, or broke HTTP.
    BrokenUpstream,
    /// The service cannot carry all requests, and others come first.
    GivesWay,
    /// The upstream did not respond in time.
    Late,
    /// The upstream stopped reading the request's body.
    Stalled,
}

impl ErrorPage {
    /// The status code.
    ///
    /// Source: RFC 9110, section 15; RFC 6585, section 5.
    pub fn code(self) -> StatusCode {
        match self {
            Self::Malformed(Rule::Bytes | Rule::Fields) => {
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
            }
            Self::Malformed(Rule::TargetLength) => StatusCode::URI_TOO_LONG,
            Self::Malformed(Rule::Version) => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::Malformed(_)
            | Self::CutBody
            | Self::BadHost
            | Self::BadTarget
            | Self::BadUpgrade => StatusCode::BAD_REQUEST,
            Self::NoWebSocket => StatusCode::FORBIDDEN,
            Self::FullOfTunnels => StatusCode::SERVICE_UNAVAILABLE,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Coding => StatusCode::NOT_IMPLEMENTED,
            Self::Full => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreachable | Self::BrokenUpstream => StatusCode::BAD_GATEWAY,
            Self::Late | Self::Stalled => StatusCode::GATEWAY_TIMEOUT,
            Self::Busy | Self::GivesWay => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The part of the request that is at fault, where what follows the request cannot be
    /// trusted and the connection is closed. A fault of the grammar was counted before.
    pub fn malformed(self) -> Option<Malformed> {
        match self {
            Self::BadHost => Some(Malformed::Host),
            Self::BadTarget | Self::Method => Some(Malformed::Target),
            Self::BadUpgrade => Some(Malformed::Upgrade),
            Self::Coding => Some(Malformed::Coding),
            _ => None,
        }
    }

    /// How the upstream failed the request, where it did.
    pub fn upstream_fault(self) -> Option<UpstreamFault> {
        match self {
            Self::Busy => Some(UpstreamFault::Queue),
            Self::Unreachable => Some(UpstreamFault::Connect),
            Self::Late => Some(UpstreamFault::Timeout),
            Self::Stalled => Some(UpstreamFault::Stalled),
            Self::BrokenUpstream => Some(UpstreamFault::Broken),
            _ => None,
        }
    }

    /// Whether the connection closes after it.
    pub fn closes(self) -> bool {
        self.malformed().is_some() || matches!(self, Self::Malformed(_) | Self::CutBody)
    }

    fn text(self) -> (&'static str, Cow<'static, str>) {
        let (title, text) = match self {
            Self::Malformed(rule) => {
                let text = format!("The request is malformed: {}.", rule.text());
                return ("Bad request", text.into());
            }
            Self::CutBody => ("Bad request", "The request ended before its body was complete."),
            Self::BadHost => ("Bad request", "The request must name exactly one Host."),
            Self::BadTarget => ("Bad request", "The request's target is no path of this site."),
            Self::Method => ("Method not allowed", "This site serves neither CONNECT nor TRACE."),
            Self::BadUpgrade => (
                "Bad request",
                "A WebSocket is opened by a GET of HTTP/1.1 without a body, with Connection: upgrade \
                 and one Sec-WebSocket-Key.",
            ),
            Self::NoWebSocket => ("Forbidden", "This site opens no WebSocket at this address."),
            Self::FullOfTunnels => (
                "Too many WebSockets",
                "This site has as many WebSockets open as it can carry. Please try again in a few \
                 seconds.",
            ),
            Self::Coding => {
                ("Not implemented", "The only Transfer-Encoding that this site undoes is chunked.")
            }
            Self::Full => (
                "The site is full",
                "The site is full at the moment. Please try again in a few seconds.",
            ),
            Self::Busy => (
                "The site is busy",
                "Too many customers are being served at the moment. Nothing you sent has reached \
                 the site. Please try again in a few seconds.",
            ),
            Self::GivesWay => (
                "The site is busy",
                "This page cannot be shown at the moment, since the site is very busy. Nothing you \
                 sent has reached it. Please try again in a few seconds.",
            ),
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
        };
        (title, text.into())
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
            Self::Busy | Self::GivesWay => {
                drop(headers.insert(RETRY_AFTER, HeaderValue::from_static("2")))
            }
            Self::Unreachable | Self::Full | Self::FullOfTunnels => {
                drop(headers.insert(RETRY_AFTER, HeaderValue::from_static("5")));
            }
            Self::Method => {
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

    /// The response as bytes of HTTP/1.1, where the HTTP library cannot send it.
    pub fn bytes(self) -> Vec<u8> {
        let (parts, page) = self.response().into_parts();
        let mut bytes = format!(
            "HTTP/1.1 {} {}\r\ndate: {}\r\ncontent-length: {}\r\n",
            parts.status.as_str(),
            parts.status.canonical_reason().unwrap_or_default(),
            httpdate::fmt_http_date(SystemTime::now()),
            page.len()
        )
        .into_bytes();
        for (name, value) in &parts.headers {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&page);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_did_not_reach_the_site_is_to_be_retried() {
        let retry = |page: ErrorPage| page.response().headers().contains_key(RETRY_AFTER);
        assert!(retry(ErrorPage::Unreachable) && retry(ErrorPage::Full));
        assert!(retry(ErrorPage::Busy) && retry(ErrorPage::GivesWay));
        assert!(!retry(ErrorPage::BrokenUpstream) && !retry(ErrorPage::Late));
    }

    #[test]
    fn a_page_as_bytes_is_a_whole_response() {
        let bytes = ErrorPage::Malformed(Rule::LineEnd).bytes();
        let mut fields = [httparse::EMPTY_HEADER; 16];
        let mut response = httparse::Response::new(&mut fields);
        let head = response.parse(&bytes).unwrap().unwrap();
        assert_eq!(response.code, Some(400));
        let field = |name| response.headers.iter().find(|field| field.name == name).unwrap().value;
        let length = (bytes.len() - head).to_string();
        assert_eq!(field("content-length"), length.as_bytes());
        assert_eq!(field("connection"), b"close");
    }
}
