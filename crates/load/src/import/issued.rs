//! Values that the server issued in one response and the browser sent back later, such as the
//! hidden field of a form: customers must take them from the response of their own session.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::visits::Visit;
use crate::client::http::body::KEPT;
use crate::html::css::{Selector, Wanted, find};
use crate::html::scan::Scanner;
use crate::scenario::expected::LONGEST_VALUE;
use crate::scenario::page::Method;

/// Most values looked at in one response.
const MOST: usize = 2000;
/// Shortest value that is recognised without the name of its field, in bytes: shorter ones are
/// equal by chance.
const SHORTEST: usize = 8;
/// The last places of a value that are looked at.
const RECENT: usize = 100;
/// Deepest place in a JSON document.
const DEEPEST: usize = 16;

/// Where a response has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The value of a hidden input, within a form with this action.
    Hidden { name: String, action: Option<String> },
    /// The content of a meta element.
    Meta { name: String },
    /// A JSON pointer.
    Json(String),
}

/// How a scenario finds a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Extraction {
    Css { selector: String, attribute: &'static str },
    Json(String),
}

/// Where a value that is sent was issued.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) visit: usize,
    /// What the response calls it.
    pub(super) name: String,
    pub(super) extraction: Extraction,
}

/// A value that a response has.
#[derive(Debug)]
struct Issued {
    visit: usize,
    place: Place,
}

/// Most values that are searched for with selectors: bounds the time that a hostile page costs.
const SEARCHES: u32 = 5000;

/// All values that responses of the recording have.
#[derive(Debug, Default)]
pub(super) struct IssuedValues {
    by_value: HashMap<String, Vec<Issued>>,
    searches: u32,
}

impl IssuedValues {
    pub(super) fn of(visits: &[Visit]) -> Self {
        let mut all = Self::default();
        let read = |(_, visit): &(usize, &Visit)| visit.request.method != Method::Head;
        for (index, visit) in visits.iter().enumerate().filter(read) {
            let text = beginning(&visit.answer.text);
            let media_type = visit.answer.media_type.as_str();
            let mut left = MOST;
            let mut found = |value: &str, place: Place| {
                if value.is_empty() || value.len() > LONGEST_VALUE || left == 0 {
                    return;
                }
                left -= 1;
                all.by_value
                    .entry(value.to_owned())
                    .or_default()
                    .push(Issued { visit: index, place });
            };
            if media_type.contains("html") {
                in_html(text, &mut found);
            } else if media_type.ends_with("json") && text.len() == visit.answer.text.len() {
                let json = serde_json::from_str(text).unwrap_or_default();
                in_json(&json, &mut String::new(), 0, &mut found);
            }
        }
        all
    }

    /// The last response before `visit` from which a value that it sends may be taken: by the name
    /// of its field, or by a value that is equal to no other by chance.
    pub(super) fn source(
        &mut self,
        visits: &[Visit],
        visit: usize,
        name: &str,
        value: &str,
    ) -> Option<Source> {
        let all = self.by_value.get(value)?;
        let before = &all[..all.partition_point(|issued| issued.visit < visit)];
        let usable = before.iter().rev().take(RECENT).filter(|issued| match &issued.place {
            Place::Hidden { name: field, .. } if field == name => true,
            _ => value.len() >= SHORTEST,
        });
        let searches = &mut self.searches;
        usable.take(4).find_map(|issued| {
            *searches += 1;
            if *searches > SEARCHES {
                return None;
            }
            let html = beginning(&visits[issued.visit].answer.text);
            let extraction = issued.place.extraction(html, value)?;
            Some(Source { visit: issued.visit, name: issued.place.name(), extraction })
        })
    }
}

/// As much of a response as customers search.
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(KEPT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn in_html(html: &str, found: &mut impl FnMut(&str, Place)) {
    let mut scanner = Scanner::new(html.as_bytes());
    let mut action: Option<String> = None;
    while let Some(tag) = scanner.next() {
        let text = |name| tag.attribute(name).map(Cow::into_owned);
        if tag.is("form") {
            action = text("action");
        } else if tag.is("/form") {
            action = None;
        } else if tag.is("input") {
            let kind = tag.attribute("type").unwrap_or_default();
            let hidden = kind.eq_ignore_ascii_case("hidden");
            if let (true, Some(name), Some(value)) = (hidden, text("name"), text("value")) {
                found(&value, Place::Hidden { name, action: action.clone() });
            }
        } else if tag.is("meta")
            && let (Some(name), Some(content)) = (text("name"), text("content"))
        {
            found(&content, Place::Meta { name });
        }
    }
}

fn in_json(json: &Value, pointer: &mut String, depth: usize, found: &mut impl FnMut(&str, Place)) {
    let length = pointer.len();
    match json {
        Value::String(text) => found(text, Place::Json(pointer.clone())),
        Value::Object(fields) if depth < DEEPEST => {
            for (name, value) in fields {
                // Source: RFC 6901, section 3.
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                in_json(value, pointer, depth + 1, found);
                pointer.truncate(length);
            }
        }
        Value::Array(items) if depth < DEEPEST => {
            for (index, value) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                in_json(value, pointer, depth + 1, found);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}

impl Place {
    fn name(&self) -> String {
        match self {
            Self::Hidden { name, .. } | Self::Meta { name } => name.clone(),
            Self::Json(pointer) => {
                let names = pointer.rsplit('/').filter(|name| name.parse::<u64>().is_err());
                names.clone().next().unwrap_or_default().to_owned()
            }
        }
    }

    /// How to find the value again; `None` if no selector finds it first.
    fn extraction(&self, html: &str, value: &str) -> Option<Extraction> {
        let (selectors, attribute) = match self {
            Self::Json(pointer) => return Some(Extraction::Json(pointer.clone())),
            Self::Meta { name } => (vec![format!("meta{}", equals("name", name)?)], "content"),
            Self::Hidden { name, action } => {
                let input = format!("input{}", equals("name", name)?);
                let form = action.as_ref().and_then(|action| equals("action", action));
                let in_form = form.map(|form| format!("form{form} {input}"));
                ([Some(input), in_form].into_iter().flatten().collect(), "value")
            }
        };
        selectors.into_iter().find_map(|text| {
            let selector = Selector::parse(&text).ok()?;
            let wanted = Wanted { selector, attribute: Some(attribute.to_owned()) };
            let first = find(html.as_bytes(), &[&wanted]).pop().flatten()?;
            (first == value).then_some(Extraction::Css { selector: text, attribute })
        })
    }
}

/// `[name="value"]`.
fn equals(attribute: &str, value: &str) -> Option<String> {
    let quote = if value.contains('"') { '\'' } else { '"' };
    let clean = !value.contains(quote) && !value.contains(char::is_control);
    clean.then(|| format!("[{attribute}={quote}{value}{quote}]"))
}
