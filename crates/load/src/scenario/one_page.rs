//! The scenario for a run without one: a single page given by its URL.

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::Scenario;
use super::content::Content;
use super::field::TextPart;
use super::page::{Body, BodySource, COOKIE, Method, Page, are_cookies};
use super::read::pages::OWN_HEADERS;

/// How a single page is requested.
#[derive(Clone, Debug, Default)]
pub struct PageRequest {
    /// `None`: GET, or POST with a body.
    pub method: Option<Method>,
    /// The body, sent as it is. Its media type is that of a form, of bytes where it is no text,
    /// unless a header field says otherwise.
    pub body: Option<Vec<u8>>,
}

/// A header field as given on a command line, sent as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderField {
    name: String,
    value: String,
}

impl HeaderField {
    /// Reads `Name: value`.
    ///
    /// # Errors
    /// What is wrong, in words.
    ///
    /// Source: RFC 9110, sections 5.1 and 5.5.
    pub fn parse(text: &str) -> Result<Self, String> {
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.trim();
        if !text.contains(':') || name.is_empty() || !name.bytes().all(token) {
            return Err("must be a name and a value, such as 'Accept: text/html'".to_owned());
        }
        if value.contains(char::is_control) {
            return Err("has a line break or control character: remove it".to_owned());
        }
        let own = OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
        if own && !name.eq_ignore_ascii_case(CONTENT_TYPE) {
            let name = name.to_ascii_lowercase();
            return Err(match name.as_str() {
                "host" => "is set from the URL: give a URL with this host".to_owned(),
                _ => "is set by the load generator: leave it out".to_owned(),
            });
        }
        if name.eq_ignore_ascii_case(COOKIE) {
            are_cookies(value)
                .map_err(|rule| format!("{rule}, such as 'Cookie: sid=1; lang=en'"))?;
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

const CONTENT_TYPE: &str = "content-type";

impl Scenario {
    /// A scenario that requests the path and query of a URL, and the URL of its site. A
    /// session is one request without think time; the default arrivals are ten customers of
    /// the closed model.
    ///
    /// An invalid URL is returned unchanged; it is rejected as a target.
    pub fn one_page(address: &str, request: &PageRequest) -> (Self, String) {
        let (path, site) = match Url::parse(address) {
            Ok(mut url) if url.has_host() => {
                let path = match url.query() {
                    Some(query) => format!("{}?{query}", url.path()),
                    None => url.path().to_owned(),
                };
                url.set_path("/");
                url.set_query(None);
                url.set_fragment(None);
                (path, url.to_string())
            }
            _ => ("/".to_owned(), address.to_owned()),
        };
        // Braces would be parameters, and a quote would end the string.
        let path = path.replace('{', "%7B").replace('}', "%7D").replace('\'', "%27");
        let text = TEXT.replace("PATH", &path);
        let mut scenario = Self::from_toml(&text, "page").expect("any path makes a scenario");
        let page = &mut scenario.only_owner().pages[0];
        page.method = request.method.or(request.body.as_ref().map(|_| Method::Post));
        page.body = request.body.as_ref().map(|body| Body {
            content_type: match std::str::from_utf8(body) {
                Ok(_) => "application/x-www-form-urlencoded".to_owned(),
                Err(_) => "application/octet-stream".to_owned(),
            },
            source: BodySource::Bytes(Content::from(body.clone())),
        });
        (scenario, site)
    }

    /// Adds header fields to every page that does not have its own field of that name; a Cookie
    /// and an Authorization to those of the target. A Content-Type replaces that of bodies.
    pub fn add_headers(&mut self, fields: &[HeaderField]) {
        if fields.is_empty() {
            return;
        }
        let is = |field: &&HeaderField, name| field.name.eq_ignore_ascii_case(name);
        // Several Cookie fields are one.
        let cookies: Vec<&str> =
            fields.iter().filter(|it| is(it, COOKIE)).map(|it| it.value.as_str()).collect();
        let literal = |field: &HeaderField| {
            let value = match is(&field, COOKIE) {
                true => cookies.join("; "),
                false => field.value.clone(),
            };
            (field.name.clone(), vec![TextPart::Literal(value)])
        };
        let given: Vec<_> = fields.iter().filter(|it| !is(it, CONTENT_TYPE)).map(literal).collect();
        let parts = self.only_owner();
        for page in &mut parts.pages {
            page.add_headers(&given);
            for field in fields.iter().filter(|it| is(it, CONTENT_TYPE)) {
                if let Some(body) = &mut page.body {
                    body.content_type.clone_from(&field.value);
                }
            }
        }
        parts.gives_cookies = parts.pages.iter().any(Page::gives_cookies);
    }

    /// Gives all customers this patience, the time-out of their requests.
    pub fn set_patience(&mut self, patience: Duration) {
        let parts = self.only_owner();
        let classes = parts.classes.iter_mut().map(|class| &mut class.session);
        for rules in classes.chain([&mut parts.session]) {
            rules.patience = patience;
        }
    }

    /// Its parts, before they are shared.
    pub(super) fn only_owner(&mut self) -> &mut super::definition::ScenarioDefinition {
        Arc::get_mut(&mut self.0).expect("a scenario is changed before it is cloned")
    }
}

const TEXT: &str = r#"
name = "page"
description = "One page, requested repeatedly."

[session]
start = "Page"
think = "0s"
max_requests = 1

[pages]
Page = { path = 'PATH' }

[transitions]
Page = { End = 1 }

[arrivals]
model = "closed"
customers = 10
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::page::Source;

    fn page(address: &str) -> (String, String) {
        let (scenario, site) = Scenario::one_page(address, &PageRequest::default());
        let Source::Path(path) = &scenario.pages()[0].source else { panic!("no path") };
        assert_eq!(path.parameters().count(), 0);
        (path.text().to_owned(), site)
    }

    #[test]
    fn an_address_gives_page_and_site() {
        let (path, site) = page("https://shop.example:8443/items/7?sort=price#reviews");
        assert_eq!(path, "/items/7?sort=price");
        assert_eq!(site, "https://shop.example:8443/");
        assert_eq!(page("http://127.0.0.1").0, "/");
    }

    #[test]
    fn a_header_field_is_a_name_and_a_value_that_the_generator_does_not_set() {
        let field = HeaderField::parse("X-Token:  {a}: b ").unwrap();
        assert_eq!((field.name.as_str(), field.value.as_str()), ("X-Token", "{a}: b"));
        for (wrong, why) in [
            ("X-Token", "a name and a value"),
            (": b", "a name and a value"),
            ("X Token: b", "a name and a value"),
            ("X: a\r\nY: b", "line break"),
            ("Host: shop", "from the URL"),
            ("cookie: a", "names and values of cookies, such as 'Cookie: sid=1; lang=en'"),
            ("Content-Length: 5", "leave it out"),
        ] {
            assert!(HeaderField::parse(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }

    #[test]
    fn no_path_is_more_than_a_path() {
        for (given, path) in [
            ("/\"\\\n[pages]", "/%22/[pages]"),
            ("/{customer}?{random}&q={", "/%7Bcustomer%7D?%7Brandom%7D&q=%7B"),
            ("/it's'''?'\\", "/it%27s%27%27%27?%27\\"),
            ("/?\u{0}\u{7f}é", "/?%00%7F%C3%A9"),
        ] {
            assert_eq!(page(&format!("http://127.0.0.1{given}")).0, path, "{given:?}");
        }
        for none in ["no address", "mailto:a@shop"] {
            assert_eq!(page(none), ("/".to_owned(), none.to_owned()));
        }
    }
}
