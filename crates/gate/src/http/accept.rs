//! What a customer prefers to receive, by their `Accept` and `Accept-Language`.
//!
//! Source: RFC 9110, sections 12.4.2 (quality values), 12.5.1 (Accept) and 12.5.4
//! (Accept-Language); RFC 4647, section 3.3.1 (basic filtering), by the first subtag alone.

use http::header::{ACCEPT, ACCEPT_LANGUAGE};
use http::{HeaderMap, HeaderName};

/// Members of a field that are read at most; a browser sends ten.
const MEMBERS: usize = 32;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A page, for browsers.
    Html,
    /// JSON, for programs that ask for it.
    Json,
    /// A line of text, where neither is preferred.
    Text,
}

/// A language that the gate's pages have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::English, Self::German, Self::French, Self::Spanish];

    /// The tag of BCP 47.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
        }
    }

    /// The one that a customer prefers of those that there are.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut best = (0, Self::English);
        for (range, quality) in members(headers, &ACCEPT_LANGUAGE) {
            let first = range.split('-').next().unwrap_or_default();
            let found = Self::ALL.into_iter().find(|one| first.eq_ignore_ascii_case(one.tag()));
            let found = found.or((first == "*").then_some(Self::English));
            if let Some(language) = found
                && quality > best.0
            {
                best = (quality, language);
            }
        }
        best.1
    }
}

impl Form {
    /// The one that a customer prefers. A form that is named counts before one that a wildcard
    /// allows, with the same quality.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut forms = [(Self::Html, "text/html"), (Self::Json, "application/json")]
            .map(|(form, name)| (form, name, 0, 0));
        for (range, quality) in members(headers, &ACCEPT) {
            for (_, name, precision, best) in &mut forms {
                let matched = matched(&range, name);
                if matched > *precision {
                    (*precision, *best) = (matched, quality);
                }
            }
        }
        let named = forms.into_iter().filter(|(_, _, precision, best)| *precision > 1 && *best > 0);
        // The first of those with the same quality.
        named.rev().max_by_key(|(.., best)| *best).map_or(Self::Text, |(form, ..)| form)
    }
}

/// How precisely a range matches a type: 3 by name, 2 by `type/*`, 1 by `*/*`, 0 not.
fn matched(range: &str, name: &str) -> u8 {
    if range.eq_ignore_ascii_case(name) {
        return 3;
    }
    match range.split_once('/') {
        Some(("*", "*")) => 1,
        Some((kind, "*")) => {
            let own = name.split('/').next().unwrap_or_default();
            2 * u8::from(kind.eq_ignore_ascii_case(own))
        }
        _ => 0,
    }
}

/// The members of a field with their quality, in thousandths. Those that break the grammar are
/// left out.
fn members<'h>(
    headers: &'h HeaderMap,
    field: &HeaderName,
) -> impl Iterator<Item = (String, u16)> + 'h {
    let values = headers.get_all(field).iter().filter_map(|value| value.to_str().ok());
    let members = values.flat_map(|value| value.split(',')).take(MEMBERS);
    members.filter_map(|member| {
        let mut parts = member.split(';').map(str::trim);
        let range = parts.next().filter(|range| !range.is_empty())?;
        let mut quality = 1000;
        for part in parts {
            if let Some((name, value)) = part.split_once('=')
                && name.trim_end().eq_ignore_ascii_case("q")
            {
                quality = thousandths(value.trim_start())?;
            }
        }
        Some((range.to_owned(), quality))
    })
}

/// A quality value in thousandths; `None` where it is none.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = format!("{part:0<3}").parse::<u16>().ok()?;
    match whole {
        "0" => Some(part),
        "1" if part == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn the_form_follows_from_quality_and_precision() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        for (accept, form) in [
            (browser, Form::Html),
            ("application/json", Form::Json),
            ("Application/JSON ; Q=0.5", Form::Json),
            ("text/html;q=0.5, application/json", Form::Json),
            ("text/html, application/json", Form::Html),
            ("application/json;q=0.9, text/*;q=0.8", Form::Json),
            ("text/html;q=0, application/json;q=0.1", Form::Json),
            ("text/*", Form::Html),
            ("*/*", Form::Text),
            ("image/avif,image/webp,*/*;q=0.8", Form::Text),
            ("text/html;q=0", Form::Text),
            ("application/json;q=1.1", Form::Text),
            ("application/json;q=", Form::Text),
            ("", Form::Text),
        ] {
            assert_eq!(Form::of(&with(ACCEPT, accept)), form, "{accept}");
        }
        assert_eq!(Form::of(&HeaderMap::new()), Form::Text);
    }

    #[test]
    fn the_language_is_the_most_preferred_that_there_is() {
        for (accept, language) in [
            ("de-CH, de;q=0.9, en;q=0.8", Language::German),
            ("ja, fr;q=0.5, es;q=0.7", Language::Spanish),
            ("FR", Language::French),
            ("en;q=0.1, de;q=0", Language::English),
            ("ja", Language::English),
            ("*", Language::English),
            ("dex", Language::English),
        ] {
            assert_eq!(Language::of(&with(ACCEPT_LANGUAGE, accept)), language, "{accept}");
        }
    }

    #[test]
    fn a_quality_has_three_digits_at_most() {
        for (text, value) in [("1", 1000), ("1.000", 1000), ("0.5", 500), ("0.", 0), ("0.123", 123)]
        {
            assert_eq!(thousandths(text), Some(value), "{text}");
        }
        for text in ["", "2", "1.001", "0.1234", "-0", ".5", "0.x", "00.5"] {
            assert_eq!(thousandths(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_field_is_a_panic(text in "[ -~]{0,200}") {
            let (form, language) = (with(ACCEPT, &text), with(ACCEPT_LANGUAGE, &text));
            Form::of(&form);
            Language::of(&language);
        }
    }
}
