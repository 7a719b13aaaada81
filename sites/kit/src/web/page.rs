//! Pages: a document with the header fields that every page of a site has.

use std::time::{Duration, SystemTime};

use axum::http::StatusCode;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::asset::fingerprint;

/// What the pages of a site have in common.
#[derive(Clone, Debug)]
pub struct Look {
    /// Name of the site, at the end of each title.
    pub brand: &'static str,
    /// URL of the style sheet.
    pub style: String,
    /// URL of the logo, also the icon of the site.
    pub logo: Option<String>,
    /// The content security policy.
    pub policy: &'static str,
    /// Which caches may keep the page.
    pub cache: &'static str,
}

/// What stands around the content of a page.
#[derive(Clone, Debug, Default)]
pub struct Frame<'a> {
    /// Address of the page that the name of the site leads to.
    pub home: &'a str,
    /// URL of the script, if the page has one.
    pub script: Option<&'a str>,
    /// After the name of the site: navigation, a search.
    pub header: Markup,
    /// At the end of the page.
    pub footer: Markup,
}

/// A page as a response.
#[derive(Clone, Debug)]
pub struct Page {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Look {
    /// A page in the frame of the site. A reader of the screen may skip the frame.
    pub fn page(&self, title: &str, frame: Frame<'_>, content: &Markup) -> Page {
        let body = html! {
            a.skip href="#main" { "Skip to the content" }
            header.top {
                a.brand href=(frame.home) {
                    @if let Some(logo) = &self.logo { img src=(logo) width="32" height="32" alt=""; }
                    (self.brand)
                }
                (frame.header)
            }
            main #main { (content) }
            footer.bottom { (frame.footer) }
        };
        self.document(title, frame.script, &body)
    }

    /// A page with a frame of its own.
    pub fn document(&self, title: &str, script: Option<&str>, body: &Markup) -> Page {
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " – " (self.brand) }
                    link rel="stylesheet" href=(self.style);
                    @if let Some(logo) = &self.logo { link rel="icon" type="image/svg+xml" href=(logo); }
                    @if let Some(script) = script { script src=(script) defer {} }
                }
                body { (body) }
            }
        };
        let fields = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "same-origin"),
            (header::CACHE_CONTROL, self.cache),
            (header::CONTENT_SECURITY_POLICY, self.policy),
        ];
        let fields = fields.map(|(name, value)| (name, HeaderValue::from_static(value)));
        let (headers, text) = (fields.into_iter().collect(), markup.into_string());
        Page { status: StatusCode::OK, headers, text }
    }
}

impl Page {
    /// The same page with another status.
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same page with another header field, or another value of one.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The same page with its validators: a tag that follows from its text, and the time at
    /// which its content changed last, seconds since 1970.
    pub fn validated(self, changed: i64) -> Self {
        let tag = format!("\"{:016x}\"", fingerprint(&self.text));
        let since = Duration::from_secs(u64::try_from(changed).unwrap_or(0));
        let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since);
        let value = |text| HeaderValue::try_from(text).expect("hexadecimal digits and a date");
        self.header(header::ETAG, value(tag)).header(header::LAST_MODIFIED, value(date))
    }

    /// The page as the answer to a GET with these header fields: 304 without the text where
    /// the client has it already.
    ///
    /// Source: RFC 9110, section 13.2.2: the tag decides where one is sent, else the date.
    pub fn answer(&self, request: &HeaderMap) -> Response {
        if !self.is_known(request) {
            return self.clone().into_response();
        }
        (StatusCode::NOT_MODIFIED, self.headers.clone()).into_response()
    }

    fn is_known(&self, request: &HeaderMap) -> bool {
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
        if request.contains_key(header::IF_NONE_MATCH) {
            let Some(own) = self.headers.get(header::ETAG).map(text) else { return false };
            let lists = request.get_all(header::IF_NONE_MATCH).iter().map(text);
            return lists.into_iter().any(|list| {
                let mut tags = list.split(',').map(|tag| tag.trim().trim_start_matches("W/"));
                tags.any(|tag| tag == own || tag == "*")
            });
        }
        let date = |value: Option<&HeaderValue>| httpdate::parse_http_date(&text(value?)).ok();
        let since = date(request.get(header::IF_MODIFIED_SINCE));
        let changed = date(self.headers.get(header::LAST_MODIFIED));
        since.zip(changed).is_some_and(|(since, changed)| changed <= since)
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        (self.status, self.headers, self.text).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_page_gets_it_without_its_text() {
        let look =
            Look { brand: "B", style: "/s".into(), logo: None, policy: "", cache: "no-cache" };
        let page = look.page("Title", Frame::default(), &html! { "content" });
        let status = |page: &Page, fields: &[(HeaderName, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(name.clone(), value.parse().unwrap());
            }
            page.answer(&headers).status().as_u16()
        };
        let fields = [(header::IF_NONE_MATCH, "*"), (header::IF_MODIFIED_SINCE, "x")];
        assert_eq!(status(&page, &fields), 200, "a page without validators");
        let page = page.validated(784_111_777);
        let tag = page.headers[header::ETAG].to_str().unwrap().to_owned();
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(page.headers[header::LAST_MODIFIED], date);
        let (weak, other) = (format!("\"a\", W/{tag}"), "\"a\", \"b\"");
        for (fields, expected) in [
            (vec![], 200),
            (vec![(header::IF_NONE_MATCH, tag.as_str())], 304),
            (vec![(header::IF_NONE_MATCH, &weak)], 304),
            (vec![(header::IF_NONE_MATCH, "*")], 304),
            (vec![(header::IF_NONE_MATCH, other)], 200),
            (vec![(header::IF_NONE_MATCH, other), (header::IF_MODIFIED_SINCE, date)], 200),
            (vec![(header::IF_MODIFIED_SINCE, date)], 304),
            (vec![(header::IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT")], 200),
            (vec![(header::IF_MODIFIED_SINCE, "yesterday")], 200),
        ] {
            assert_eq!(status(&page, &fields), expected, "{fields:?}");
        }
    }
}
