//! The opening handshake of a WebSocket, as a proxy sees it: which requests ask for one, and
//! whether the upstream agreed.
//!
//! Source: RFC 6455, sections 4.1 and 4.2; RFC 9110, section 7.8.

use crate::http::headers::has_member;
use crate::http::pages::ErrorPage;
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{Method, Version};

/// Follows the key in what the server hashes.
const SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Length of a key: 16 bytes in base64.
const KEY: usize = 24;
const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// A request for a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// What `Sec-WebSocket-Accept` must be in the answer.
    accept: String,
}

impl Opening {
    /// The request for a WebSocket that this head is; `None` if it is another request.
    ///
    /// # Errors
    /// It asks for a WebSocket in a way that two servers could read differently: by HTTP/1.0, with
    /// another method or a body, without a `Connection: upgrade`, or without exactly one key.
    pub fn of(parts: &Parts) -> Result<Option<Self>, ErrorPage> {
        let headers = &parts.headers;
        if !any_member(headers, UPGRADE, b"websocket") {
            return Ok(None);
        }
        let bodiless = !headers.contains_key(TRANSFER_ENCODING)
            && headers.get_all(CONTENT_LENGTH).iter().all(|length| length == "0");
        let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).iter();
        match (keys.next(), keys.next()) {
            (Some(key), None)
                if parts.version == Version::HTTP_11
                    && parts.method == Method::GET
                    && bodiless
                    && any_member(headers, CONNECTION, b"upgrade")
                    && key.len() == KEY =>
            {
                Ok(Some(Self { accept: accept(key.as_bytes()) }))
            }
            _ => Err(ErrorPage::BadUpgrade),
        }
    }

    /// Asks the upstream for a WebSocket, and for nothing else.
    pub fn ask(&self, headers: &mut HeaderMap) {
        // `Connection` would have to name it.
        headers.remove(TE);
        upgrade(headers);
    }

    /// Whether the head of an answer 101 agrees to this request.
    ///
    /// The accepted key is verified, so that no status alone, which an attacker may have made the
    /// upstream repeat, makes a tunnel of a connection that the upstream reads as HTTP.
    pub fn is_accepted(&self, headers: &HeaderMap) -> bool {
        let mut accepts = headers.get_all(SEC_WEBSOCKET_ACCEPT).iter();
        any_member(headers, UPGRADE, b"websocket")
            && any_member(headers, CONNECTION, b"upgrade")
            && accepts.next().is_some_and(|given| given == self.accept.as_str())
            && accepts.next().is_none()
    }

    /// Tells the customer that the upstream agreed.
    pub fn agree(&self, headers: &mut HeaderMap) {
        upgrade(headers);
    }
}

/// Sets the fields of the change, which concern one hop.
fn upgrade(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, WEBSOCKET);
}

fn any_member(headers: &HeaderMap, name: HeaderName, member: &[u8]) -> bool {
    headers.get_all(name).iter().any(|value| has_member(value, member))
}

/// What the server answers to a key.
fn accept(key: &[u8]) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, SUFFIX].concat());
    STANDARD.encode(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    const SAMPLE: &str = "dGhlIHNhbXBsZSBub25jZQ==";

    fn request() -> http::request::Builder {
        Request::get("/chat")
            .header("host", "shop")
            .header("upgrade", "websocket")
            .header("connection", "keep-alive, Upgrade")
            .header("sec-websocket-key", SAMPLE)
    }

    fn opening(request: http::request::Builder) -> Result<Option<Opening>, ErrorPage> {
        Opening::of(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn the_accepted_key_is_that_of_the_standard() {
        // RFC 6455, section 1.3.
        assert_eq!(accept(SAMPLE.as_bytes()), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_request_for_a_websocket_has_one_reading() {
        assert!(opening(request()).unwrap().is_some());
        assert!(opening(request().header("content-length", "0")).unwrap().is_some());
        assert!(opening(Request::get("/").header("upgrade", "h2c")).unwrap().is_none());
        let bad = [
            request().version(Version::HTTP_10),
            request().method(Method::POST),
            request().header("content-length", "5"),
            request().header("transfer-encoding", "chunked"),
            request().header("sec-websocket-key", SAMPLE),
            Request::get("/").header("upgrade", "websocket").header("sec-websocket-key", SAMPLE),
            Request::get("/").header("upgrade", "websocket").header("connection", "upgrade"),
        ];
        for request in bad {
            assert_eq!(opening(request), Err(ErrorPage::BadUpgrade));
        }
    }

    #[test]
    fn an_answer_agrees_only_with_the_key_of_the_request() {
        let opening = opening(request()).unwrap().unwrap();
        let answer = |accept: Option<&str>| {
            let mut headers = HeaderMap::new();
            upgrade(&mut headers);
            accept.inspect(|accept| {
                headers.insert(SEC_WEBSOCKET_ACCEPT, accept.parse().unwrap());
            });
            opening.is_accepted(&headers)
        };
        assert!(answer(Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
        assert!(!answer(Some("AAAAAAAAAAAAAAAAAAAAAAAAAAA=")) && !answer(None));
        assert!(!opening.is_accepted(&HeaderMap::new()));
    }
}
