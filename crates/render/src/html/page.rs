//! Writes a page or a style sheet with other links.

use std::borrow::Cow;
use std::ops::Range;

use encoding_rs::{Encoding, UTF_8};
use url::{Position, Url};

use super::edits::Edits;
use super::elements::Role;
use super::tokens::{Attribute, Piece, Tag, each};
use super::{css, srcset};

/// Pages within pages, as of `noscript` and `srcdoc`, are looked at down to this depth.
const DEEPEST: u32 = 4;

/// Asked about each URL of the site that is requested or can be visited; it has no fragment.
/// Answers with the address that is written in its place, or none if the URL stays.
pub type Links<'l> = dyn FnMut(&Url) -> Option<String> + 'l;

/// What is read, and where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'p> {
    /// Its URL on the live site.
    pub url: &'p Url,
    /// The path at which it is served; none where that does not matter.
    pub address: Option<&'p str>,
    /// How the site encoded it. The text itself is written as UTF-8.
    pub encoding: &'static Encoding,
}

/// The page with other links. A URL that stays means the same as before: one that was relative
/// begins with `/`. A page that was not UTF-8 says that it is, and its forms are sent as they
/// were.
pub fn rewrite(source: Source<'_>, text: &str, links: &mut Links<'_>) -> String {
    let head = Head::read(source, text);
    let mut writer = Writer {
        source,
        base: head.base.as_ref().unwrap_or(source.url),
        has_base: head.base.is_some(),
        base_seen: false,
        links,
    };
    writer.page(text, head.names_charset_at, 0)
}

/// A style sheet with other links.
pub fn rewrite_css(source: Source<'_>, text: &str, links: &mut Links<'_>) -> String {
    let mut writer = Writer { source, base: source.url, has_base: false, base_seen: false, links };
    writer.css(text).unwrap_or_else(|| text.to_owned())
}

/// What must be known before the first link is read.
#[derive(Default)]
struct Head {
    /// The URL that others are relative to, if the page names one.
    base: Option<Url>,
    /// Where the name of the charset is added, if it must be.
    names_charset_at: Option<usize>,
}

impl Head {
    fn read(source: Source<'_>, text: &str) -> Self {
        let has_base = text.as_bytes().windows(5).any(|it| it.eq_ignore_ascii_case(b"<base"));
        if !has_base && text.is_ascii() {
            return Self::default();
        }
        let mut base = None;
        let mut named = false;
        // After <head>, else after <html>, else before the first tag.
        let (mut head, mut html, mut first) = (None, None, None);
        each(text, |piece| {
            let Piece::Tag(tag) = piece else { return };
            first.get_or_insert(tag.place.start);
            match tag.name.as_str() {
                "head" => _ = head.get_or_insert(tag.place.end),
                "html" => _ = html.get_or_insert(tag.place.end),
                "base" if base.is_none() => base = tag.value("href").map(str::to_owned),
                "meta" => {
                    let is_charset = |it: &Attribute| match Role::of(&tag, &it.name) {
                        Some(Role::Charset) => true,
                        Some(Role::ContentType) => charset_of(&it.value).is_some(),
                        _ => false,
                    };
                    named |= tag.attributes.iter().any(is_charset);
                }
                _ => {}
            }
        });
        let names_charset_at =
            (!named && !text.is_ascii()).then(|| head.or(html).or(first)).flatten();
        let base = base.and_then(|href| {
            let url = source.url.join(&href).ok()?;
            matches!(url.scheme(), "http" | "https").then_some(url)
        });
        Self { base, names_charset_at }
    }
}

struct Writer<'w, 'l> {
    source: Source<'w>,
    base: &'w Url,
    has_base: bool,
    base_seen: bool,
    links: &'w mut Links<'l>,
}

impl Writer<'_, '_> {
    fn page(&mut self, text: &str, charset_at: Option<usize>, depth: u32) -> String {
        let mut edits = Edits::default();
        let mut charset_at = charset_at;
        each(text, |piece| {
            let begins = match &piece {
                Piece::Tag(tag) => tag.place.start,
                Piece::Raw(_, place) => place.start,
            };
            if let Some(at) = charset_at.take_if(|at| *at <= begins) {
                edits.replace(at..at, "<meta charset=\"utf-8\">".to_owned());
            }
            match piece {
                Piece::Tag(tag) => self.tag(&tag, depth, &mut edits),
                Piece::Raw(name, place) => {
                    let Some(inner) = text.get(place.clone()) else { return };
                    let written = match name.as_str() {
                        "style" => self.css(inner),
                        _ if depth < DEEPEST => Some(self.page(inner, None, depth + 1)),
                        _ => None,
                    };
                    if let Some(written) = written.filter(|it| it != inner) {
                        edits.replace(place, written);
                    }
                }
            }
        });
        if let Some(at) = charset_at {
            edits.replace(at..at, "<meta charset=\"utf-8\">".to_owned());
        }
        edits.apply(text).into_owned()
    }

    fn tag(&mut self, tag: &Tag, depth: u32, edits: &mut Edits) {
        if tag.name == "form" {
            self.form(tag, edits);
        }
        for attribute in &tag.attributes {
            let Some(role) = Role::of(tag, &attribute.name) else { continue };
            let value = attribute.value.as_str();
            let written = match role {
                Role::Follow if value.trim().is_empty() => {
                    let is_link = matches!(tag.name.as_str(), "a" | "area");
                    is_link.then(|| self.url(value, true)).flatten()
                }
                Role::Keep if value.trim().is_empty() => continue,
                Role::Follow => self.url(value, true),
                Role::Keep => self.url(value, false),
                Role::Srcset => self.parts(value, srcset::urls(value)),
                Role::Refresh => self.parts(value, refresh(value)),
                Role::Style => self.css(value),
                Role::Document if depth < DEEPEST => Some(self.page(value, None, depth + 1)),
                Role::Document => None,
                Role::Base => self.base(),
                Role::Charset => (!is_utf_8(value)).then(|| "utf-8".to_owned()),
                Role::ContentType => charset_of(value)
                    .filter(|charset| !is_utf_8(charset))
                    .map(|_| "text/html; charset=utf-8".to_owned()),
            };
            if let Some(written) = written.filter(|it| it != value) {
                edits.replace(attribute.place.whole(), quoted(attribute, &written));
            }
        }
    }

    /// A form without an address is sent to that of its page, which may be another from now on;
    /// and it is sent in the page's charset.
    fn form(&self, tag: &Tag, edits: &mut Edits) {
        let mut added = String::new();
        let path = path_of(self.source.url);
        let moved = self.source.address.is_some_and(|address| address != path);
        let action = tag.attributes.iter().find(|it| it.name == "action");
        let own = path.split('#').next().unwrap_or_default();
        match action {
            None if moved => added = format!(" action=\"{}\"", escaped(own, b'"')),
            Some(it) if moved && it.value.trim().is_empty() => {
                edits.replace(it.place.whole(), quoted(it, own));
            }
            _ => {}
        }
        if self.source.encoding != UTF_8 && tag.value("accept-charset").is_none() {
            added += &format!(" accept-charset=\"{}\"", self.source.encoding.name());
        }
        if !added.is_empty() {
            edits.replace(tag.name_end..tag.name_end, added);
        }
    }

    /// The first base of the page: links no longer need it, scripts may.
    fn base(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.base_seen, true) || !self.has_base {
            return None;
        }
        let is_own = self.base.origin() == self.source.url.origin();
        Some(if is_own { path_of(self.base) } else { "/".to_owned() })
    }

    fn css(&mut self, text: &str) -> Option<String> {
        let mut edits = Edits::default();
        let mut changed = false;
        for url in css::urls(text) {
            if url.value.trim().is_empty() {
                continue;
            }
            if let Some(written) = self.url(&url.value, true) {
                let quote = match text.as_bytes().get(url.place.start) {
                    Some(b'\'') => '\'',
                    _ => '"',
                };
                let written = written.replace('\\', "%5C").replace(
                    quote,
                    match quote {
                        '"' => "%22",
                        _ => "%27",
                    },
                );
                edits.replace(url.place, format!("{quote}{written}{quote}"));
                changed = true;
            }
        }
        changed.then(|| edits.apply(text).into_owned())
    }

    /// A value of which some parts are URLs.
    fn parts(&mut self, value: &str, places: Vec<Range<usize>>) -> Option<String> {
        let mut edits = Edits::default();
        let mut changed = false;
        for place in places {
            if let Some(written) = self.url(&value[place.clone()], true) {
                edits.replace(place, written);
                changed = true;
            }
        }
        changed.then(|| edits.apply(value).into_owned())
    }

    /// What is written in place of a URL; none if it stays as it is.
    fn url(&mut self, value: &str, follow: bool) -> Option<String> {
        let value = value.trim_matches(|it: char| it <= ' ');
        if value.starts_with('#') && !self.has_base {
            return None;
        }
        let encode: &dyn Fn(&str) -> Cow<'_, [u8]> =
            &|text| self.source.encoding.encode(text).0.into_owned().into();
        let mut url = Url::options()
            .base_url(Some(self.base))
            .encoding_override(Some(encode))
            .parse(value)
            .ok()?;
        let has_scheme = Url::parse(value).is_ok();
        let is_ours =
            url.origin() == self.source.url.origin() && matches!(url.scheme(), "http" | "https");
        let written = if !is_ours {
            // Relative to a base elsewhere.
            (self.has_base && !has_scheme).then(|| url.to_string())
        } else {
            let fragment = url.fragment().map(str::to_owned);
            url.set_fragment(None);
            let target = if follow { (self.links)(&url) } else { None };
            url.set_fragment(fragment.as_deref());
            let same_bytes = value.is_ascii() || self.source.encoding == UTF_8;
            let stays = has_scheme || value.starts_with('/') && !self.has_base && same_bytes;
            match (target, fragment) {
                (Some(target), None) => Some(target),
                (Some(target), Some(fragment)) => {
                    let page = target.split('#').next().unwrap_or_default();
                    Some(format!("{page}#{fragment}"))
                }
                (None, _) => (!stays).then(|| path_of(&url)),
            }
        };
        written.filter(|it| it != value)
    }
}

/// Path, query and fragment, as a reference to the same host.
fn path_of(url: &Url) -> String {
    let path = &url[Position::BeforePath..];
    // Two slashes would begin the name of a host.
    if path.starts_with("//") { format!("/.{path}") } else { path.to_owned() }
}

/// The value of an attribute as it is written.
fn quoted(attribute: &Attribute, value: &str) -> String {
    let quote = attribute.place.quote.unwrap_or(b'"');
    let equals = if attribute.place.value.is_none() { "=" } else { "" };
    let sign = char::from(quote);
    format!("{equals}{sign}{}{sign}", escaped(value, quote))
}

/// A text within quotes. It is ASCII: references to other letters in a page that has none itself
/// would otherwise become letters of a charset that it does not name.
fn escaped(value: &str, quote: u8) -> String {
    let mut text = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '"' if quote == b'"' => text.push_str("&quot;"),
            '\'' if quote == b'\'' => text.push_str("&#39;"),
            letter if letter.is_ascii() => text.push(letter),
            letter => text += &format!("&#x{:X};", u32::from(letter)),
        }
    }
    text
}

/// The place of the URL of a refresh.
///
/// Source: HTML Standard, section 4.2.5.3, "shared declarative refresh steps".
fn refresh(content: &str) -> Vec<Range<usize>> {
    let after = |text: &str, skip: &dyn Fn(char) -> bool| text.trim_start_matches(skip).len();
    let at = |rest: usize| content.len() - rest;
    let is_space = |it: char| it.is_ascii_whitespace();
    let time = after(content.trim_start(), &|it| it.is_ascii_digit() || it == '.');
    let separated = after(&content[at(time)..], &|it| is_space(it) || it == ';' || it == ',');
    if separated == time || separated == 0 {
        return Vec::new();
    }
    let mut start = at(separated);
    let word = content.get(start..start + 3).is_some_and(|it| it.eq_ignore_ascii_case("url"));
    if word && let Some(value) = content[start + 3..].trim_start().strip_prefix('=') {
        start = at(value.trim_start().len());
    }
    let rest = &content[start..];
    let place = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = &rest[1..];
            start + 1..start + 1 + inner.find(quote).unwrap_or(inner.len())
        }
        _ => start..start + rest.trim_end().len(),
    };
    if place.is_empty() { Vec::new() } else { vec![place] }
}

/// The charset of a content type.
pub(crate) fn charset_of(content_type: &str) -> Option<&str> {
    let lower = content_type.to_ascii_lowercase();
    let value = content_type.get(lower.find("charset=")? + 8..)?;
    let value = value.trim_start_matches(['"', '\'', ' ']);
    let end = value.find(['"', '\'', ' ', ';', ',']).unwrap_or(value.len());
    Some(&value[..end]).filter(|it| !it.is_empty())
}

fn is_utf_8(label: &str) -> bool {
    Encoding::for_label(label.as_bytes()) == Some(UTF_8)
}
