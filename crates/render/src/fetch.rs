//! Requests pages, and decides what becomes of an answer.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, COOKIE, ETAG,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION, RETRY_AFTER, SET_COOKIE, USER_AGENT,
    VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use http_body_util::Full;
use tidegate_sitekit::client::{Answered, Http, Unanswered};
use url::{Position, Url};

use crate::error::{Error, Result};
use crate::hash;
use crate::key::Key;
use crate::media;
use crate::options::{Options, Vary};
use crate::outcome::{Body, Why};
use crate::robots::ROBOT;
use crate::scope::Pattern;

/// Longest text of a header field that is recorded, in bytes.
const LONGEST_FIELD: usize = 2048;

/// Requests pages of one site.
#[derive(Clone, Debug)]
pub struct Client {
    http: Http,
    site: Url,
    largest: usize,
    timeout: Duration,
    name_header: HeaderName,
    vary: Option<Vary>,
    public: Vec<Pattern>,
}

/// An answer, judged.
#[derive(Debug)]
pub enum Reply {
    /// A page or file, and its bytes.
    Body(Body, Bytes),
    /// It is as it was.
    Unchanged,
    /// It is at another address.
    Moved {
        /// The URL.
        to: Url,
        /// The status, unless it holds for good.
        temporary: Option<u16>,
    },
    /// The site asks to come again later: its status, and after how long if it says so.
    Later(u16, Option<Duration>),
    /// It stays dynamic.
    Skipped(Why),
}

impl Client {
    /// A client for a site.
    ///
    /// # Errors
    /// [`Error::Operator`]: the certificates cannot be read, or the header field has no such name.
    pub fn new(options: &Options, site: &Url) -> Result<Self> {
        let tls = tidegate_load::trusting(options.ca.as_deref(), options.insecure)
            .map_err(|error| Error::Operator(format!("--ca: {error}")))?;
        let name_header = HeaderName::from_bytes(options.name_header.as_bytes()).map_err(|_| {
            let name = &options.name_header;
            Error::Operator(format!("--name-header {name}: is no name of a header field"))
        })?;
        Ok(Self {
            http: Http::with_tls(tls),
            site: site.clone(),
            largest: options.largest,
            timeout: options.timeout,
            name_header,
            vary: options.vary.clone(),
            public: options.public.clone(),
        })
    }

    /// Requests a page for a value of the cookie, unless it is as `before`.
    pub async fn get(&self, key: &Key, variant: Option<&str>, before: Option<&Body>) -> Reply {
        let url = key.on(&self.site);
        match self.send(&url, variant, before, self.largest).await {
            Ok(answered) => self.judge(&url, answered, before.is_some()),
            Err(Unanswered { too_long: true, .. }) => Reply::Skipped(Why::TooLarge),
            Err(Unanswered { text, .. }) => Reply::Skipped(Why::NoAnswer(text)),
        }
    }

    /// Requests a URL of the site without judging the answer, of at most so many bytes.
    ///
    /// # Errors
    /// There is no complete answer.
    pub async fn send(
        &self,
        url: &Url,
        variant: Option<&str>,
        before: Option<&Body>,
        most: usize,
    ) -> std::result::Result<Answered, Unanswered> {
        let mut request = Request::get(url.as_str())
            .header(USER_AGENT, concat!("tidegate-render/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "*/*")
            // Nothing that was not asked for has to be expanded.
            .header(ACCEPT_ENCODING, "identity");
        debug_assert_eq!(ROBOT, "tidegate-render");
        if let (Some(value), Some(vary)) = (variant, &self.vary) {
            request = request.header(COOKIE, format!("{}={value}", vary.cookie));
        }
        if let Some(etag) = before.and_then(|it| it.etag.as_ref()) {
            request = request.header(IF_NONE_MATCH, etag);
        } else if let Some(modified) = before.and_then(|it| it.modified.as_ref()) {
            request = request.header(IF_MODIFIED_SINCE, modified);
        }
        let request = request.body(Full::<Bytes>::default()).map_err(|error| Unanswered {
            may_have_arrived: false,
            too_long: false,
            text: error.to_string(),
        })?;
        self.http.send(request, most, self.timeout).await
    }

    fn judge(&self, url: &Url, answered: Answered, conditional: bool) -> Reply {
        let Answered { status, headers, body } = answered;
        let path = &url[Position::BeforePath..];
        let is_public = self.public.iter().any(|it| it.fits(path));
        if let Some(why) = self.personal(&headers).filter(|_| !is_public) {
            return Reply::Skipped(why);
        }
        match status {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED if conditional => return Reply::Unchanged,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                return Reply::Later(status.as_u16(), retry_after(&headers, SystemTime::now()));
            }
            _ if status.is_redirection() => {
                let to = text(&headers, &LOCATION).and_then(|it| url.join(&it).ok());
                let lasting = matches!(
                    status,
                    StatusCode::MOVED_PERMANENTLY | StatusCode::PERMANENT_REDIRECT
                );
                let temporary = (!lasting).then_some(status.as_u16());
                return match to {
                    Some(to) => Reply::Moved { to, temporary },
                    None => Reply::Skipped(Why::Status(status.as_u16())),
                };
            }
            _ => return Reply::Skipped(Why::Status(status.as_u16())),
        }
        let coding = text(&headers, &CONTENT_ENCODING).unwrap_or_default();
        if !["", "identity"].contains(&coding.trim()) {
            return Reply::Skipped(Why::Encoded);
        }
        let content_type = text(&headers, &CONTENT_TYPE).unwrap_or_default();
        Reply::Body(
            Body {
                kind: media::kind(&content_type),
                content_type,
                hash: hash::of(&body),
                name: text(&headers, &self.name_header),
                etag: text(&headers, &ETAG),
                modified: text(&headers, &LAST_MODIFIED),
                kept: false,
            },
            body,
        )
    }

    /// Why an answer is not for every visitor.
    fn personal(&self, headers: &HeaderMap) -> Option<Why> {
        if headers.contains_key(SET_COOKIE) {
            return Some(Why::SetsCookie);
        }
        let words = |name: &HeaderName| -> Vec<String> {
            let values = headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
            let words = values.flat_map(|it| it.split(','));
            words.map(|it| it.trim().to_ascii_lowercase()).collect()
        };
        let directives = words(&CACHE_CONTROL);
        let is_private = |it: &&String| it.as_str() == "no-store" || it.starts_with("private");
        if let Some(directive) = directives.iter().find(is_private) {
            let directive = directive.split('=').next().unwrap_or_default();
            return Some(Why::Private(directive.to_owned()));
        }
        let fields = words(&VARY);
        let differs = |it: &&String| match it.as_str() {
            "*" | "authorization" => true,
            "cookie" => self.vary.is_none(),
            _ => false,
        };
        fields.iter().find(differs).map(|it| Why::Varies(it.clone()))
    }
}

/// The value of a header field, as far as it is text and not too long.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    let value = HeaderValue::to_str(value).ok()?.trim();
    (value.len() <= LONGEST_FIELD).then(|| value.to_owned())
}

/// How long to wait, from seconds or a date.
///
/// Source: RFC 9110, section 10.2.3.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = text(headers, &RETRY_AFTER)?;
    match value.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let date = httpdate::parse_http_date(&value).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(status: u16, fields: &[(&str, &str)], vary: Option<&str>) -> Reply {
        let site = Url::parse("http://127.0.0.1/").unwrap();
        let mut options = Options::new(vec![site.clone()], "out".into());
        options.vary = vary.map(|it| Vary::parse(it).unwrap());
        let client = Client::new(&Options { insecure: true, ..options }, &site).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let status = StatusCode::from_u16(status).unwrap();
        client.judge(&site, Answered { status, headers, body: Bytes::from_static(b"x") }, true)
    }

    #[test]
    fn what_is_for_one_visitor_or_encoded_is_skipped() {
        let why = |fields: &[(&str, &str)]| match judged(200, fields, None) {
            Reply::Skipped(why) => why.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(why(&[("set-cookie", "a=b")]), "sets a cookie");
        assert_eq!(why(&[("cache-control", "max-age=1, Private=\"x\"")]), "Cache-Control: private");
        assert_eq!(why(&[("cache-control", "no-store")]), "Cache-Control: no-store");
        assert_eq!(why(&[("vary", "accept, Cookie")]), "Vary: cookie");
        assert_eq!(why(&[("content-encoding", "gzip")]), "encoded without being asked to");
        let by_cookie = judged(200, &[("vary", "Cookie")], Some("zone=1"));
        assert!(matches!(by_cookie, Reply::Body(..)), "{by_cookie:?}");
    }

    #[test]
    fn redirects_hold_for_good_or_for_now() {
        let moved = |status| match judged(status, &[("location", "/x")], None) {
            Reply::Moved { to, temporary } => (to.to_string(), temporary),
            other => panic!("{other:?}"),
        };
        assert_eq!(moved(301), ("http://127.0.0.1/x".to_owned(), None));
        assert_eq!(moved(308).1, None);
        assert_eq!(moved(302).1, Some(302));
        assert!(matches!(judged(302, &[], None), Reply::Skipped(Why::Status(302))));
        assert!(matches!(judged(304, &[], None), Reply::Unchanged));
    }

    #[test]
    fn the_time_to_wait_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(value).unwrap());
            retry_after(&headers, now)
        };
        assert_eq!(of("120"), Some(Duration::from_secs(120)));
        // Seven seconds later.
        assert_eq!(of("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(7)));
        assert_eq!(of("soon"), None);
    }
}
