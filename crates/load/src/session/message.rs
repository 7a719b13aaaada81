//! Encodes requests for HTTP/1.1.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::rc::Rc;

use rand::SeedableRng;

use super::cookies::Cookies;
use super::last_used::LastUsed;
use super::payload::Payload;
use super::place::Place;
use super::request::{Identity, Request, RequestBuilder};
use crate::rng::Rng;
use crate::scenario::definition::ScenarioDefinition;
use crate::scenario::page::{COOKIE, Method, Page, is_credential, is_literal};
use crate::scenario::template::Template;

/// Requests that are always the same, by page: encoded once per thread.
#[derive(Debug)]
pub(crate) struct FixedRequests {
    pages: Vec<Option<Rc<Request>>>,
    /// By page.
    assets: Vec<Vec<Option<Rc<Request>>>>,
}

impl FixedRequests {
    /// `common` are the header fields that every request to a host has, `origins` the hosts'
    /// `https://host[:port]`.
    pub(crate) fn new(
        definition: &ScenarioDefinition,
        origins: &[String],
        common: &[String],
    ) -> Self {
        let nobody = Identity { customer: 0, session: 0, request: 0, run: 0 };
        let made = |make: &dyn Fn(&mut RequestBuilder<'_>) -> Option<Request>| {
            let mut builder = RequestBuilder {
                definition,
                origins,
                identity: &nobody,
                last: &mut LastUsed::default(),
                rng: &mut Rng::seed_from_u64(0),
            };
            let mut request = make(&mut builder)?;
            let common = &common[usize::from(request.place.host)];
            request.bytes = Some(request.write(common, &Cookies::default(), ""));
            Some(Rc::new(request))
        };
        let start = Place { host: 0, path: "/".to_owned() };
        let page = |(index, page): (usize, &Page)| {
            let make = |builder: &mut RequestBuilder<'_>| {
                Some(builder.make(index as u16, &[], &start).ok()?.0)
            };
            page.is_fixed().then(|| made(&make))?
        };
        let asset = |page: usize, asset: usize, template: &Template| {
            let make = |builder: &mut RequestBuilder<'_>| builder.asset(page as u16, asset);
            let is_fixed = definition.pages[page].credentials().all(|(_, text)| is_literal(text));
            (is_fixed && template.is_fixed()).then(|| made(&make))?
        };
        let assets = |(index, page): (usize, &Page)| {
            let all = page.assets.iter().enumerate();
            all.map(|(nth, template)| asset(index, nth, template)).collect()
        };
        Self {
            pages: definition.pages.iter().enumerate().map(page).collect(),
            assets: definition.pages.iter().enumerate().map(assets).collect(),
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
    /// The encoded request; `common` are the header fields of every request to its host, whose
    /// `https://host[:port]` is `origin`.
    pub(crate) fn bytes(&self, common: &str, cookies: &Cookies, origin: &str) -> Cow<'_, [u8]> {
        match &self.bytes {
            Some(bytes) if cookies.is_empty() => Cow::Borrowed(bytes),
            _ => Cow::Owned(self.write(common, cookies, origin)),
        }
    }

    fn write(&self, common: &str, cookies: &Cookies, origin: &str) -> Vec<u8> {
        let path = &self.place.path;
        let mut head = String::with_capacity(256 + path.len());
        for part in [self.method.as_str(), " ", path, " HTTP/1.1\r\n"] {
            head.push_str(part);
        }
        self.write_headers(common, &mut head);
        let given = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(COOKIE));
        let given = given.map_or("", |(_, value)| value.as_str());
        cookies.write(origin, path, given, &mut head);
        if self.method.has_body() || !self.body.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.reserve_exact(self.body.len());
        self.body.write(&mut bytes);
        bytes
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
        // One field has all cookies.
        let others = self.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(COOKIE));
        for (name, value) in others {
            let _ = write!(head, "{name}: {value}\r\n");
        }
    }

    /// The request after a redirect with this status. What says who the customer is stays with the
    /// host that it was given for, as in browsers.
    ///
    /// Source: RFC 9110, sections 15.4.2 to 15.4.4; 303 is followed with GET. The Fetch standard,
    /// HTTP-redirect fetch, for Authorization.
    pub(crate) fn redirected(&self, place: Place, status: u16) -> Self {
        let becomes_get = match status {
            303 => self.method != Method::Head,
            301 | 302 => self.method == Method::Post,
            _ => false,
        };
        let stays = place.host == self.place.host;
        let mut next = Self { place, bytes: None, ..self.clone() };
        next.headers.retain(|(name, _)| stays || !is_credential(name));
        if becomes_get {
            next.method = Method::Get;
            next.body = Payload::default();
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
Known = { path = "/k", headers = { Cookie = "sid=7", X-A = "b" } }
[transitions]
weights = { End = 1 }
"#;
    const ORIGIN: &str = "https://shop";
    const COMMON: &str = "Host: shop\r\nAccept: */*\r\n";

    #[test]
    fn only_constant_requests_are_kept_and_cookies_are_added_to_them() {
        let shop = Scenario::from_toml(PAGES, "shop.toml").unwrap();
        let fixed =
            FixedRequests::new(shop.definition(), &[ORIGIN.to_owned()], &[COMMON.to_owned()]);
        let kept: Vec<bool> = fixed.pages.iter().map(Option::is_some).collect();
        let names: Vec<&str> = shop.pages().iter().map(|page| page.name.as_str()).collect();
        assert_eq!(names, ["Home", "Dressed", "Numbered", "Drawn", "Sent", "Linked", "Known"]);
        assert_eq!(kept, [true, true, false, false, true, false, true]);

        let mut cookies = Cookies::default();
        let text = |page: u16, cookies: &Cookies| {
            let request = fixed.get(page).unwrap();
            String::from_utf8(request.bytes(COMMON, cookies, ORIGIN).into_owned()).unwrap()
        };
        assert_eq!(text(0, &cookies), "GET / HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\n\r\n");
        let dressed = "GET /d?x=1 HTTP/1.1\r\nHost: shop\r\nAccept: text/plain\r\n";
        assert_eq!(text(1, &cookies), format!("{dressed}\r\n"));
        cookies.add(&["a=1; Path=/".to_owned()], ORIGIN, "/", false);
        assert_eq!(text(1, &cookies), format!("{dressed}Cookie: a=1\r\n\r\n"));
        let elsewhere = |host| {
            let place = Place { host, path: "/e".to_owned() };
            let request = fixed.get(6).unwrap().redirected(place, 302);
            let bytes = request.bytes(COMMON, &Cookies::default(), ORIGIN).into_owned();
            String::from_utf8(bytes).unwrap()
        };
        let common = format!("GET /e HTTP/1.1\r\n{COMMON}X-A: b\r\n");
        assert_eq!(elsewhere(0), format!("{common}Cookie: sid=7\r\n\r\n"));
        assert_eq!(elsewhere(1), format!("{common}\r\n"), "credentials stay with their host");
    }
}
