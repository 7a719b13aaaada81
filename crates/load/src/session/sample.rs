//! What is shown of a request and its response: a sample of a failure, and what is printed of
//! the first sessions. Bounded, without control characters, and without the values of secrets.

use std::cell::Cell;
use std::io::Write as _;

use super::context::ThreadContext;
use super::request::Request;
use super::user_agent::UserAgent;
use crate::client::http::coding::Coding;
use crate::client::http::exchange::{Seen, Show};
use crate::outcome::{Cause, Failure};
use crate::output::secret::{without_value_of_field, without_values};
use crate::recorder::event::Request as RecordedRequest;
use crate::result::failure::Sample;
use crate::scenario::expected::visible;

/// Most bytes of a head that are shown.
const HEAD: usize = 2048;
/// Most bytes of a body that are shown.
const BODY: usize = 1024;

/// The last request of an agent, as far as it is kept to be shown.
#[derive(Debug, Default)]
pub(super) struct Exchanged {
    request: Vec<u8>,
    seen: Seen,
    coding: Coding,
    error: String,
}

impl Exchanged {
    /// A request with the response that was seen. `body` is the body if it was kept for another
    /// purpose.
    pub(super) fn new(request: &[u8], mut seen: Seen, coding: Coding, body: Option<&[u8]>) -> Self {
        if seen.body.is_empty() {
            seen.body.extend_from_slice(body.unwrap_or_default());
        }
        Self { request: beginning(request), seen, coding, error: String::new() }
    }

    /// A request that got no response, for this reason if one is known. What came is shown.
    pub(super) fn unanswered(request: &[u8], came: &[u8], error: String) -> Self {
        let head = came[..came.len().min(HEAD)].to_vec();
        let seen = Seen { head, body: Vec::new() };
        Self { request: beginning(request), seen, coding: Coding::Identity, error }
    }

    pub(super) fn sample(&self, is_http2: bool) -> Sample {
        let (head, body) = parts(&self.request);
        let mut request = head_text(head);
        if is_http2 {
            // Customers' requests are put together in the form of HTTP/1.1.
            request = request.replacen(" HTTP/1.1\n", " HTTP/2\n", 1);
        }
        if !body.is_empty() {
            request.push_str("\n\n");
            request.push_str(&body_text(body));
        }
        let (head, rest) = parts(&self.seen.head);
        let body = if self.seen.body.is_empty() { rest } else { &self.seen.body };
        let body = match self.coding.decode(body) {
            Some(decoded) => body_text(&decoded),
            None => body_text(body),
        };
        Sample { request, response: head_text(head), body, error: self.error.clone() }
    }
}

/// The head of a message without the empty line, and what follows.
fn parts(message: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memmem::find(message, b"\r\n\r\n") {
        Some(end) => (&message[..end], &message[end + 4..]),
        None => (message, &[]),
    }
}

/// A message, as far as it is shown.
fn beginning(message: &[u8]) -> Vec<u8> {
    let (head, body) = parts(message);
    let body = &body[..body.len().min(BODY)];
    [head, &b"\r\n\r\n"[..], body].concat()
}

fn head_text(head: &[u8]) -> String {
    let text = visible(&head[..head.len().min(HEAD)]);
    let lines: Vec<_> = text.lines().map(without_value_of_field).collect();
    lines.join("\n")
}

fn body_text(body: &[u8]) -> String {
    let shown = &body[..body.len().min(BODY)];
    let text = visible(shown);
    // One cut character at the end is no sign of it.
    if text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count() > 1 + shown.len() / 20 {
        return format!("({} bytes or more that are not text)", body.len());
    }
    without_values(text.trim_end()).into_owned()
}

/// Prints the requests and responses of the first sessions to standard error.
#[derive(Debug, Default)]
pub(crate) struct HttpDebug {
    /// Sessions with a lower number are printed.
    sessions: u64,
    printed: Cell<u32>,
}

/// Most requests that a thread prints.
const PRINTED: u32 = 1000;

impl HttpDebug {
    pub(crate) fn new(sessions: u32) -> Self {
        Self { sessions: sessions.into(), printed: Cell::new(0) }
    }

    pub(super) fn shows(&self, session: u64) -> bool {
        session < self.sessions && self.printed.get() < PRINTED
    }

    /// Prints a request and what became of it.
    pub(super) fn print(&self, session: u64, page: &str, sample: &Sample, failure: Option<Cause>) {
        self.printed.set(self.printed.get() + 1);
        let mut text = format!("--- session {session}, {}\n", visible(page.as_bytes()));
        let mut add = |mark: &str, part: &str| {
            part.lines().for_each(|line| {
                text.push_str(format!("{mark} {line}").trim_end());
                text.push('\n');
            });
        };
        add(">", &sample.request);
        add("<", &sample.response);
        if !sample.body.is_empty() {
            add("<", "\n");
            add("<", &sample.body);
        }
        let failed = failure.map(|cause| format!("no response: {} {}", cause.name(), sample.error));
        add("!", failed.as_deref().unwrap_or_default().trim_end());
        if self.printed.get() == PRINTED {
            add("!", "these were the last requests that are printed");
        }
        // At once, so that parts of several threads do not mix.
        // A closed pipe does not affect the measurement.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

impl ThreadContext {
    /// What to keep of a response with this status.
    pub(super) fn shows(&self, page: u16, asset: Option<u16>, session: u64, status: u16) -> Show {
        if self.debug.shows(session) {
            return Show::All;
        }
        let rules = &self.definition.pages[usize::from(page)];
        let lacks = |cause| self.log.lacks_sample(page, asset, cause);
        let allowed = rules.allow.contains(&status) || rules.expected.allows(status);
        match status {
            400.. if !allowed && lacks(Cause::Status(status)) => Show::All,
            400.. if !allowed => Show::Nothing,
            300..400 if lacks(Cause::Failed(Failure::RedirectElsewhere)) => Show::Head,
            // The body is kept for the rules that need it.
            _ if !rules.expected.rules().is_empty()
                && (lacks(Cause::Failed(Failure::Check))
                    || lacks(Cause::Failed(Failure::Extraction))) =>
            {
                Show::Head
            }
            _ => Show::Nothing,
        }
    }
}

impl UserAgent {
    /// Keeps a request that may become a sample, and prints it if that was asked for. `failure`
    /// names what came in place of a response.
    pub(super) fn exchanged(
        &mut self,
        request: &Request,
        exchanged: Exchanged,
        failure: Option<Cause>,
    ) {
        let context = &self.context;
        if context.debug.shows(self.session) {
            let page = &context.definition.pages[usize::from(request.page)].name;
            let sample = exchanged.sample(self.site().connector.is_http2());
            context.debug.print(self.session, page, &sample, failure);
        }
        self.last = Some(Box::new(exchanged));
    }

    /// The same of a request without a response, if it is the first of its kind or is printed.
    pub(super) fn unanswered(
        &mut self,
        request: &Request,
        bytes: &[u8],
        cause: Cause,
        came: &[u8],
        error: String,
    ) {
        let context = &self.context;
        let is_first = context.log.lacks_sample(request.page, self.asset, cause);
        if is_first || context.debug.shows(self.session) {
            self.exchanged(request, Exchanged::unanswered(bytes, came, error), Some(cause));
        }
    }

    /// Keeps the last request as a sample if it failed and is the first of its kind.
    pub(super) fn keep_sample(&mut self, request: &Request, recorded: &RecordedRequest) {
        let last = self.last.take();
        let Some(cause) = recorded.cause() else { return };
        let context = &self.context;
        let site = self.site();
        let is_http2 = site.connector.is_http2();
        let origin = &context.origins[usize::from(self.host)];
        context.log.add_sample((recorded.page, recorded.asset, cause), || {
            let unanswered = || {
                let bytes = request.bytes(&site.headers, &self.cookies.borrow(), origin);
                Exchanged::unanswered(&bytes, &[], String::new()).sample(is_http2)
            };
            last.map_or_else(unanswered, |last| last.sample(is_http2))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_bounded_clean_and_without_secrets() {
        let request = format!(
            "POST /login HTTP/1.1\r\nHost: shop\r\nCookie: sid=abc\r\nX-Long: {}\r\n\r\nuser=a&password=b",
            "x".repeat(9000)
        );
        let head =
            b"HTTP/1.1 405 Method Not Allowed\r\nSet-Cookie: sid=def; Path=/\r\n\r\n".to_vec();
        let body = format!("<p>\x1b[31mno\r\n{}", "y".repeat(9000)).into_bytes();
        let seen = Seen { head, body };
        let sample = Exchanged::new(request.as_bytes(), seen, Coding::Identity, None).sample(true);
        assert!(
            sample
                .request
                .starts_with("POST /login HTTP/2\nHost: shop\nCookie: sid=…\nX-Long: xxx")
        );
        assert!(sample.request.ends_with("x\n\nuser=a&password=…"), "{}", sample.request);
        assert_eq!(sample.response, "HTTP/1.1 405 Method Not Allowed\nSet-Cookie: sid=…; Path=/");
        assert!(sample.body.starts_with("<p>·[31mno\nyyy"), "{}", sample.body);
        let lengths = [&sample.request, &sample.body].map(String::len);
        assert!(lengths[0] <= HEAD + BODY && lengths[1] <= BODY + 8, "{lengths:?}");
    }

    #[test]
    fn what_is_not_text_is_told_by_its_length() {
        let seen = Seen { head: b"HTTP/1.1 500 Error\r\n\r\n".to_vec(), body: vec![0x93; 3000] };
        let sample =
            Exchanged::new(b"GET / HTTP/1.1\r\n\r\n", seen, Coding::Identity, None).sample(false);
        assert_eq!(sample.body, "(3000 bytes or more that are not text)");
    }

    #[test]
    fn what_came_of_a_broken_response_is_shown() {
        let came = b"SSH-2.0-OpenSSH_9.6\r\n";
        let sample =
            Exchanged::unanswered(b"GET / HTTP/1.1\r\n\r\n", came, String::new()).sample(false);
        assert_eq!(
            (sample.request.as_str(), sample.response.as_str()),
            ("GET / HTTP/1.1", "SSH-2.0-OpenSSH_9.6")
        );
    }
}
