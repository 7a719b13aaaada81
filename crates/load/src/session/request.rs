//! Makes the next request from a page of the scenario and the last response: links and forms
//! of the last page decide.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::form::{Attached, Entry, FORM, encode_part, multipart, url_encoded};
use super::last_used::LastUsed;
use super::payload::Payload;
use super::place::{LONGEST_PATH, Place, resolve};
use super::values::{Escape, Known, rule, text, value};
use crate::html::{self, Field, FieldKind};
use crate::rng::Rng;
use crate::scenario::definition::ScenarioDefinition;
use crate::scenario::field::{FieldRule, TextPart};
use crate::scenario::page::{BodySource, ChannelUse, MessageRule, Method, Page, Source};
use crate::scenario::template::Template;

/// Most bytes of a header field's value.
const LONGEST_HEADER: usize = 8000;
/// Most bytes of a form that is sent.
const LARGEST_FORM: usize = 256 * 1024;

/// A request, ready to be sent (again).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) page: u16,
    pub(crate) method: Method,
    pub(crate) place: Place,
    /// Header fields beyond those that every request has; that of the body's
    /// media type is one of them.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Payload,
    /// The text that a message must have which answers this one.
    pub(crate) expects: Option<String>,
    /// The encoded request without cookies, if it is always the same.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Request {
    /// Without header fields of its own.
    pub(super) fn new(page: u16, method: Method, host: u8, path: String) -> Self {
        let (headers, body) = (Vec::new(), Payload::default());
        let place = Place { host, path };
        Self { page, method, place, headers, body, expects: None, bytes: None }
    }

    fn set_body(&mut self, content_type: &str, body: Payload) {
        self.headers.push(("Content-Type".to_owned(), content_type.to_owned()));
        self.body = body;
    }
}

/// Identity of a customer.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Number of the customer, from 1.
    pub(crate) customer: u64,
    /// Number of the session, from 0.
    pub(crate) session: u64,
    /// Requests the session has made.
    pub(crate) request: u32,
    /// The run's letters.
    pub(crate) run: u64,
}

/// How a request came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// As the scenario has it.
    Offered,
    /// The page offered none; the id used last was taken.
    LastId,
}

/// Why there is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotMade {
    /// The last page offers no way there, or a value that is needed was never
    /// seen.
    NotOffered,
    /// A value has what cannot stand in a header field (RFC 9110, section 5.5).
    Unsendable,
}

/// Builds the requests of a customer from the last response and the values that it gave.
pub(crate) struct RequestBuilder<'a> {
    pub(crate) definition: &'a ScenarioDefinition,
    /// `https://host[:port]` of each host.
    pub(crate) origins: &'a [String],
    pub(crate) identity: &'a Identity,
    pub(crate) last: &'a mut LastUsed,
    pub(crate) rng: &'a mut Rng,
}

impl RequestBuilder<'_> {
    /// The request for a page after the last answer.
    ///
    /// # Errors
    /// The last page offers no way there and there is no id to fall back to, or
    /// a value cannot be sent.
    pub(crate) fn make(
        &mut self,
        page: u16,
        html: &[u8],
        base: &Place,
    ) -> Result<(Request, Origin), NotMade> {
        let definition = self.definition;
        let rules = &definition.pages[page as usize];
        let made = match &rules.source {
            Source::Path(_) => self.by_path(page, rules),
            Source::Link(_) => self.by_link(page, rules, html, base),
            Source::Form(_) => self.by_form(page, rules, html, base),
        };
        let (mut request, origin) = made.ok_or(NotMade::NotOffered)?;
        self.dress(&mut request, rules)?;
        Ok((request, origin))
    }

    /// Adds the header fields and the body of the page.
    fn dress(&mut self, request: &mut Request, rules: &Page) -> Result<(), NotMade> {
        if let Some(body) = &rules.body {
            let payload = match &body.source {
                BodySource::Bytes(content) => Payload::from(content.bytes()),
                BodySource::Text(parts) => {
                    let escape = Escape::of(&body.content_type);
                    let text = text(parts, &mut self.known(), escape);
                    Payload::from(text.ok_or(NotMade::NotOffered)?)
                }
            };
            request.set_body(&body.content_type, payload);
        }
        for field in &rules.headers {
            request.headers.push(self.header(field)?);
        }
        match &rules.channel {
            Some(ChannelUse::Open { kind, .. }) => self.ask_for(*kind, request),
            Some(ChannelUse::Message(MessageRule { expect: Some(parts), .. })) => {
                let text = text(parts, &mut self.known(), Escape::Nothing);
                request.expects = Some(text.ok_or(NotMade::NotOffered)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// A header field with its value.
    pub(super) fn header(
        &mut self,
        (name, parts): &(String, Vec<TextPart>),
    ) -> Result<(String, String), NotMade> {
        let value = text(parts, &mut self.known(), Escape::Nothing);
        let value = value.ok_or(NotMade::NotOffered)?;
        if value.chars().any(|c| c.is_control() && c != '\t') || value.len() > LONGEST_HEADER {
            return Err(NotMade::Unsendable);
        }
        Ok((name.clone(), value.trim().to_owned()))
    }

    fn known(&mut self) -> Known<'_> {
        Known {
            identity: self.identity,
            last: self.last,
            definition: self.definition,
            rng: self.rng,
        }
    }

    fn by_path(&mut self, page: u16, rules: &Page) -> Option<(Request, Origin)> {
        let mut path = self.fill(rules.template(), None)?;
        let method = rules.method.unwrap_or(Method::Get);
        let mut entries: Vec<Entry<'_>> = Vec::with_capacity(rules.fields.len());
        for (name, rule) in &rules.fields {
            let field = Field { name: name.clone(), ..Field::default() };
            let value = value(&field, rule, &entries, &mut self.known())?;
            let file = match rule {
                FieldRule::File(file) => Attached::File(file),
                _ => Attached::Nothing,
            };
            entries.push(Entry { name: name.clone(), value, file });
        }
        if method.is_safe() && !entries.is_empty() {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&url_encoded(&entries));
        }
        if path.len() > LONGEST_PATH {
            return None;
        }
        let mut request = Request::new(page, method, rules.host, path);
        if !method.is_safe() && !entries.is_empty() {
            self.send_form(&mut request, &entries, rules.multipart)?;
        }
        Some((request, Origin::Offered))
    }

    /// Puts the fields of a form into the body; `None` if they are too long.
    fn send_form(
        &mut self,
        request: &mut Request,
        entries: &[Entry<'_>],
        as_multipart: bool,
    ) -> Option<()> {
        let length = |entry: &Entry<'_>| entry.name.len() + entry.value.len();
        if entries.iter().map(length).sum::<usize>() > LARGEST_FORM {
            return None;
        }
        if as_multipart {
            // Occurs in no content but by a chance of 2⁻¹²⁸.
            let boundary = format!("----tidegate{:032x}", self.rng.random::<u128>());
            let (content_type, body) = multipart(entries, &boundary);
            request.set_body(&content_type, body);
        } else {
            request.set_body(FORM, url_encoded(entries).into());
        }
        Some(())
    }

    fn by_link(
        &mut self,
        page: u16,
        rules: &Page,
        html: &[u8],
        base: &Place,
    ) -> Option<(Request, Origin)> {
        let template = rules.template();
        let mut fitting: Vec<String> = Vec::new();
        let mut ids: Vec<String> = Vec::new();
        html::links(html, |href| {
            let Some(path) = resolve(&href, base, rules.host, self.origins) else { return };
            if template.matches(&path, |_, _| ()) {
                fitting.push(path.into_owned());
            } else if rules.ids.as_ref().is_some_and(|ids| ids.matches(&path, |_, _| ())) {
                ids.push(path.into_owned());
            }
        });
        let method = rules.method.unwrap_or(Method::Get);
        if let Some(path) = self.choose(fitting) {
            template.matches(&path, |index, value| self.last.set(index, value));
            return Some((Request::new(page, method, rules.host, path), Origin::Offered));
        }
        let (origin, from) = match self.choose(ids) {
            Some(path) => (Origin::Offered, Some(path)),
            None if rules.guess => (Origin::LastId, None),
            None => return None,
        };
        if let (Some(path), Some(ids)) = (&from, &rules.ids) {
            ids.matches(path, |index, value| self.last.set(index, value));
        }
        let path = self.fill(template, Some(()))?;
        Some((Request::new(page, method, rules.host, path), origin))
    }

    fn by_form(
        &mut self,
        page: u16,
        rules: &Page,
        html: &[u8],
        base: &Place,
    ) -> Option<(Request, Origin)> {
        let template = rules.template();
        let forms = html::forms(html, |action| {
            resolve(action, base, rules.host, self.origins)
                .is_some_and(|path| template.matches(&path, |_, _| ()))
        });
        let fitting: Vec<_> = forms
            .into_iter()
            .filter(|form| match rules.method {
                Some(method) => form.post == (method == Method::Post),
                None => true,
            })
            .collect();
        let form = fitting.choose(self.rng)?;
        let mut path = resolve(&form.action, base, rules.host, self.origins)?.into_owned();
        template.matches(&path, |index, value| self.last.set(index, value));
        let mut entries: Vec<Entry<'_>> = Vec::with_capacity(form.fields.len());
        for field in &form.fields {
            let rule = rule(&rules.fields, field).or_else(|| match field.kind {
                // Rules for the whole site never change what a page hides.
                FieldKind::Hidden => None,
                _ => rule(&self.definition.fields, field),
            });
            let rule = rule.unwrap_or(&FieldRule::Keep);
            let mut value = value(field, rule, &entries, &mut self.known())?;
            if let Some(longest) = field.longest
                && let Some((end, _)) = value.char_indices().nth(longest)
            {
                value.truncate(end);
            }
            let file = match (rule, field.kind) {
                (FieldRule::File(file), _) => Attached::File(file),
                (_, FieldKind::File) => Attached::Empty,
                _ => Attached::Nothing,
            };
            entries.push(Entry { name: field.name.clone(), value, file });
        }
        let mut request = if form.post {
            Request::new(page, Method::Post, rules.host, path)
        } else {
            path.truncate(path.find(['?', '#']).unwrap_or(path.len()));
            path.push('?');
            path.push_str(&url_encoded(&entries));
            Request::new(page, Method::Get, rules.host, path)
        };
        if form.post {
            self.send_form(&mut request, &entries, form.multipart)?;
        }
        (request.place.path.len() <= LONGEST_PATH).then_some((request, Origin::Offered))
    }

    /// One of the distinct paths.
    fn choose(&mut self, mut paths: Vec<String>) -> Option<String> {
        paths.sort_unstable();
        paths.dedup();
        if paths.is_empty() {
            return None;
        }
        let index = self.rng.random_range(0..paths.len());
        Some(paths.swap_remove(index))
    }

    /// Fills a template: from the last ids if `links` is set (the page follows
    /// links), else from the declared ranges first.
    pub(super) fn fill(&mut self, template: &Template, links: Option<()>) -> Option<String> {
        let (definition, identity) = (self.definition, self.identity);
        let (rng, last) = (&mut *self.rng, &mut *self.last);
        let path = template.fill(|index, path| {
            let parameter = &definition.parameters[index as usize];
            match parameter.name.as_str() {
                "customer" => path.push_str(&identity.customer.to_string()),
                "session" => path.push_str(&identity.session.to_string()),
                "random" => path.push_str(&rng.random_range(0..1_000_000_000u32).to_string()),
                _ => match (links, last.get(index, &definition.feeders), parameter.uniform) {
                    (Some(()), Some(value), _) | (None, Some(value), None) => {
                        if value.is_path {
                            path.push_str(value.text);
                        } else {
                            encode_part(value.text, "%20", path);
                        }
                    }
                    (_, _, Some((first, end))) => {
                        let value = rng.random_range(first..=end).to_string();
                        path.push_str(&value);
                        last.set(index, &value);
                    }
                    (_, None, None) => return false,
                },
            }
            true
        })?;
        (path.len() <= LONGEST_PATH).then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use rand::SeedableRng;

    fn origins() -> [String; 2] {
        ["https://shop.test".to_owned(), "https://api.test".to_owned()]
    }

    fn make(
        scenario: &Scenario,
        last: &mut LastUsed,
        page: &str,
        html: &str,
    ) -> Option<(Request, Origin)> {
        let definition = scenario.definition();
        let page = definition.pages.iter().position(|known| known.name == page).unwrap() as u16;
        let identity = Identity { customer: 42, session: 7, request: 3, run: 35 };
        let mut rng = Rng::seed_from_u64(1);
        let (origins, rng) = (&origins(), &mut rng);
        let mut builder = RequestBuilder { definition, origins, identity: &identity, last, rng };
        builder.make(page, html.as_bytes(), &Place { host: 0, path: "/items/3".to_owned() }).ok()
    }

    fn auction() -> Scenario {
        Scenario::built_in("auction-bidding").unwrap()
    }

    #[test]
    fn a_link_of_the_page_is_followed_and_its_id_remembered() {
        let (auction, mut last) = (auction(), LastUsed::default());
        let html = "<a href=/items/8>x</a><a href='/items/8'>x</a><a href=/items/8/bids>y</a>";
        let (request, origin) = make(&auction, &mut last, "ViewItem", html).unwrap();
        assert_eq!((request.place.path.as_str(), origin), ("/items/8", Origin::Offered));
        // Nothing there: the id used last.
        let (request, origin) = make(&auction, &mut last, "ViewBidHistory", "").unwrap();
        assert_eq!((request.place.path.as_str(), origin), ("/items/8/bids", Origin::LastId));
        // An id of the page goes before it.
        let html = "<a href=/items/9>x</a>";
        let (request, origin) = make(&auction, &mut last, "PutBidAuth", html).unwrap();
        assert_eq!((request.place.path.as_str(), origin), ("/items/9/bid", Origin::Offered));
        // Never guessed, or nothing to guess from.
        assert_eq!(make(&auction, &mut last, "BuyNowAuth", ""), None);
        assert_eq!(make(&auction, &mut LastUsed::default(), "ViewUserInfo", ""), None);
    }

    #[test]
    fn a_form_keeps_what_it_hides_and_gets_values_by_rule() {
        let html = r#"<form method=post action="/items/3/bids">
            <input type=hidden name=auth value="a+b&amp;c"><input type=number name=bid min=12.50 value=12.50>
            <input type=number name=max_bid min=12.50><input name=quantity type=number min=1 max=1 value=1>
            </form>"#;
        let (request, _) = make(&auction(), &mut LastUsed::default(), "StoreBid", html).unwrap();
        assert_eq!((request.method, request.place.path.as_str()), (Method::Post, "/items/3/bids"));
        let pairs: Vec<(String, String)> =
            url::form_urlencoded::parse(request.body.text().as_bytes()).into_owned().collect();
        assert_eq!(pairs[0], ("auth".to_owned(), "a+b&c".to_owned()));
        let number = |index: usize| pairs[index].1.parse::<f64>().unwrap();
        assert!((13.5..=22.5).contains(&number(1)), "{pairs:?}");
        assert!((number(1) + 1.0..=number(1) + 10.0).contains(&number(2)), "{pairs:?}");
        assert_eq!(pairs[3].1, "1");
    }

    #[test]
    fn customers_sign_in_as_themselves_and_register_as_new() {
        let html = "<form method=post action=/me><input name=nickname maxlength=20>\
                    <input type=password name=password></form>";
        let (request, _) = make(&auction(), &mut LastUsed::default(), "AboutMe", html).unwrap();
        assert_eq!(request.body.text(), "nickname=user42&password=password42");
        let html = html.replace("/me", "/register");
        let (request, _) =
            make(&auction(), &mut LastUsed::default(), "RegisterUser", &html).unwrap();
        assert_eq!(request.body.text(), "nickname=nzx7x3&password=password7");
    }

    #[test]
    fn texts_are_no_longer_than_the_page_allows() {
        let html = "<form method=post action=/users/5/comments>\
                    <textarea name=comment maxlength=3></textarea></form>";
        let (request, _) =
            make(&auction(), &mut LastUsed::default(), "StoreComment", html).unwrap();
        assert!(request.body.len() <= "comment=".len() + 3 * 3, "{}", request.body.text());
    }

    #[test]
    fn extracted_values_are_escaped_where_they_stand() {
        let text = r#"
[session]
start = "Home"
[pages]
Home = { path = "/", extract = { id = { css = "b" } } }
Api = { path = "/a/{id}", body = '{"id": "{id}", "n": {request}}', headers = { X-Id = "{id}" } }
Form = { path = "/f", method = "PUT", fields = { id = "<{id}>" } }
Raw = { path = "/r", body = "id={id}", content_type = "application/x-www-form-urlencoded" }
[transitions]
weights = { End = 1 }
"#;
        let shop = Scenario::from_toml(text, "shop.toml").unwrap();
        let mut last = LastUsed::default();
        let id = shop.definition().parameters.iter().position(|known| known.name == "id").unwrap();
        assert_eq!(make(&shop, &mut last, "Api", ""), None, "nothing was extracted yet");
        last.extract(id as u16, "a\"/ b\u{1}é");
        let made = |last: &mut LastUsed, page| make(&shop, last, page, "").map(|(made, _)| made);
        assert_eq!(made(&mut last, "Api"), None, "no control character gets into a header");
        last.extract(id as u16, "a\"/ b?é");
        let api = made(&mut last, "Api").unwrap();
        assert_eq!(
            (api.method, api.place.path.as_str()),
            (Method::Post, "/a/a%22%2F%20b%3F%C3%A9")
        );
        assert_eq!(api.body.text(), r#"{"id": "a\"/ b?é", "n": 3}"#);
        let header = |n: usize| (api.headers[n].0.as_str(), api.headers[n].1.as_str());
        assert_eq!(header(0), ("Content-Type", "application/json"));
        assert_eq!(header(1), ("X-Id", "a\"/ b?é"));
        let form = made(&mut last, "Form").unwrap();
        assert_eq!(
            (form.method, form.body.text().as_str()),
            (Method::Put, "id=%3Ca%22%2F+b%3F%C3%A9%3E")
        );
        let raw = made(&mut last, "Raw").unwrap();
        assert_eq!(raw.body.text(), "id=a%22%2F+b%3F%C3%A9");
        last.extract(id as u16, "a\nb");
        assert_eq!(made(&mut last, "Raw").unwrap().body.text(), "id=a%0Ab");
    }
}
