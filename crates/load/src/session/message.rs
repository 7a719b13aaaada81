//! Encodes requests for HTTP/1.1.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::rc::Rc;

use rand::SeedableRng;

use super::cookies::Cookies;
use super::last_used::LastUsed;
use super::request::{Identity, Maker, Request};
use crate::rng::Rng;
use crate::scenario::page::{Method, Page};
use crate::scenario::parts::Parts;
use crate::scenario::template::Template;

/// Requests that are always the same, by page: encoded once per thread.
#[derive(Debug)]
pub(crate) struct FixedRequests {
    pages: Vec<Option<Rc<Request>>>,
    /// By page.
    assets: Vec<Vec<Option<Rc<Request>>>>,
}

impl FixedRequests {
    /// `common` are the header fields that every request has.
    pub(crate) fn new(parts: &Parts, origin: &str, common: &str) -> Self {
        let nobody = Identity { customer: 0, session: 0, request: 0, run: 0 };
        let made = |make: &dyn Fn(&mut Maker<'_>) -> Option<Request>| {
            let mut maker = Maker {
                parts,
                origin,
                identity: &nobody,
                last: &mut LastUsed::default(),
                rng: &mut Rng::seed_from_u64(0),
            };
            let mut request = make(&mut maker)?;
            request.bytes = Some(request.write(common, &Cookies::default()));
            Some(Rc::new(request))
        };
        let page = |(index, page): (usize, &Page)| {
            let make = |maker: &mut Maker<'_>| Some(maker.make(index as u16, &[], "/").ok()?.0);
            page.is_fixed().then(|| made(&make))?
        };
        let asset = |page: usize, asset: usize, template: &Template| {
            let make = |maker: &mut Maker<'_>| maker.asset(page as u16, asset);
            template.is_fixed().then(|| made(&make))?
        };
        let assets = |(index, page): (usize, &Page)| {
            let all = page.assets.iter().enumerate();
            all.map(|(nth, template)| asset(index, nth, template)).collect()
        };
        Self {
            pages: parts.pages.iter().enumerate().map(page).collect(),
            assets: parts.pages.iter().enumerate().map(assets).collect(),
        }
    }

    /// The request for a page, if it is one of them.
    pub(crate) fn get(&self, page: u16) -> Option<Rc<Request>> {
        self.pages[usize::from(page)].clone()
    }

    /// The requests for the assets of a page, as far as they are some of them.
    pub(crate) fn assets(&self, page: u16) -> &[Option<Rc<Request>>] {
        &self.assets[usize::from(page)]
    }
}

impl Request {
    /// The encoded request; `common` are the header fields of every request.
    pub(crate) fn bytes(&self, common: &str, cookies: &Cookies) -> Cow<'_, [u8]> {
        match &self.bytes {
            Some(bytes) if cookies.is_empty() => Cow::Borrowed(bytes),
            _ => Cow::Owned(self.write(common, cookies)),
        }
    }

    fn write(&self, common: &str, cookies: &Cookies) -> Vec<u8> {
        let mut head = String::with_capacity(256 + self.path.len() + self.body.len());
        for part in [self.method.as_str(), " ", &self.path, " HTTP/1.1\r\n"] {
            head.push_str(part);
        }
        self.write_headers(common, &mut head);
        cookies.write(&self.path, &mut head);
        if self.method.has_body() || !self.body.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        head.push_str("\r\n");
        head.push_str(&self.body);
        head.into_bytes()
    }

    /// Writes the header fields; those of the request replace common ones.
    fn write_headers(&self, common: &str, head: &mut String) {
        if self.headers.is_empty() {
            return head.push_str(common);
        }
        let own = |line: &str| {
            let name = line.split(':').next().unwrap_or_default();
            self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
        };
        common.split_inclusive('\n').filter(|line| !own(line)).for_each(|line| head.push_str(line));
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
    }

    /// The request after a redirect with this status.
    ///
    /// Source: RFC 9110, sections 15.4.2 to 15.4.4; 303 is followed with GET.
    pub(crate) fn redirected(&self, path: String, status: u16) -> Self {
        let becomes_get = match status {
            303 => self.method != Method::Head,
            301 | 302 => self.method == Method::Post,
            _ => false,
        };
        let mut next = Self { path, bytes: None, ..self.clone() };
        if becomes_get {
            next.method = Method::Get;
            next.body.clear();
            next.headers.retain(|(name, _)| name != "Content-Type");
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    const PAGES: &str = r#"
[session]
start = "Home"
[pages]
Home = { path = "/" }
Dressed = { path = "/d?x=1", headers = { Accept = "text/plain" } }
Numbered = { path = "/n", headers = { X-Id = "{request}" } }
Drawn = { path = "/r/{random}" }
Sent = { path = "/s", body = "a" }
Linked = { link = "/l" }
[transitions]
weights = { End = 1 }
"#;
    const COMMON: &str = "Host: shop\r\nAccept: */*\r\n";

    #[test]
    fn only_constant_requests_are_kept_and_cookies_are_added_to_them() {
        let shop = Scenario::from_toml(PAGES, "shop.toml").unwrap();
        let fixed = FixedRequests::new(shop.parts(), "https://shop", COMMON);
        let kept: Vec<bool> = fixed.pages.iter().map(Option::is_some).collect();
        let names: Vec<&str> = shop.pages().iter().map(|page| page.name.as_str()).collect();
        assert_eq!(names, ["Home", "Dressed", "Numbered", "Drawn", "Sent", "Linked"]);
        assert_eq!(kept, [true, true, false, false, false, false]);

        let mut cookies = Cookies::default();
        let text = |page: u16, cookies: &Cookies| {
            let request = fixed.get(page).unwrap();
            String::from_utf8(request.bytes(COMMON, cookies).into_owned()).unwrap()
        };
        assert_eq!(text(0, &cookies), "GET / HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\n\r\n");
        let dressed = "GET /d?x=1 HTTP/1.1\r\nHost: shop\r\nAccept: text/plain\r\n";
        assert_eq!(text(1, &cookies), format!("{dressed}\r\n"));
        cookies.add(&["a=1; Path=/".to_owned()], "https://shop", "/");
        assert_eq!(text(1, &cookies), format!("{dressed}Cookie: a=1\r\n\r\n"));
        let elsewhere = fixed.get(0).unwrap().redirected("/e".to_owned(), 302);
        assert!(elsewhere.bytes(COMMON, &Cookies::default()).starts_with(b"GET /e HTTP/1.1\r\n"));
    }
}
