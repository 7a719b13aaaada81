//! Checks of responses, and extraction of values for later requests. All searches take
//! linear time and all output is bounded, whatever the response contains.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

use regex::bytes::Regex;
use serde_json::Value;

use super::nearest::{around, beginning, of_pattern, of_selector, of_text};
use crate::html::css::{self, Wanted};

/// Longest value that is extracted, in bytes.
pub(crate) const LONGEST_VALUE: usize = 16 * 1024;
/// Most characters of an excerpt.
pub(super) const SHOWN: usize = 120;

/// The rules of a page, checks first: a failed check is the better reason.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    rules: Vec<Rule>,
    headers: Vec<String>,
    reads_body: bool,
    statuses: Vec<u16>,
}

/// A check or an extraction.
#[derive(Clone, Debug)]
pub enum Rule {
    /// A condition.
    Check(Check),
    /// A condition that is counted and shown when it does not hold, and fails nothing.
    Soft(Check),
    /// A value to keep as a parameter (by index), and where to find it.
    Extract(u16, Find),
}

/// A condition on a response.
#[derive(Clone, Debug)]
pub enum Check {
    /// The status is one of these.
    Status(Vec<u16>),
    /// The body contains this text.
    Contains(String),
    /// The body does not contain this text.
    Lacks(String),
    /// The body matches.
    Regex(Regex),
    /// The JSON body has a value at this pointer, equal to the given one, if any.
    Json(String, Option<Value>),
}

/// Where a value is found.
#[derive(Clone, Debug)]
pub enum Find {
    /// An attribute, or the text, of the first element that matches a selector.
    Css(Wanted, String),
    /// A JSON pointer (RFC 6901) to a text, number, true or false.
    Json(String),
    /// The first group, or all of it if there is none, of the first match.
    Regex(Regex),
    /// A header field of the response or of a redirect to it; the last one of this name.
    Header(String),
}

/// A response as the rules see it.
pub(crate) struct Answered<'a> {
    pub(crate) status: u16,
    /// Requested header fields, in order.
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a [u8],
    json: OnceCell<Option<Value>>,
}

impl Expected {
    /// Orders the rules and determines what they need.
    pub(super) fn new(soft: Vec<Check>, checks: Vec<Check>, extractions: Vec<(u16, Find)>) -> Self {
        // Soft ones do not allow a status, and come before what may end the check.
        let reads_body = soft.iter().any(|check| !matches!(check, Check::Status(_)));
        let mut expected = Self { reads_body, ..Self::default() };
        for check in &checks {
            match check {
                Check::Status(statuses) => expected.statuses.clone_from(statuses),
                _ => expected.reads_body = true,
            }
        }
        for (_, find) in &extractions {
            match find {
                Find::Header(name) => expected.headers.push(name.clone()),
                _ => expected.reads_body = true,
            }
        }
        let extractions = extractions.into_iter().map(|(index, find)| Rule::Extract(index, find));
        let soft = soft.into_iter().map(Rule::Soft);
        let checks = checks.into_iter().map(Rule::Check);
        expected.rules = soft.chain(checks).chain(extractions).collect();
        expected
    }

    /// Whether a rule needs the body.
    pub fn reads_body(&self) -> bool {
        self.reads_body
    }

    /// Header fields that rules need, in lower case.
    pub fn headers(&self) -> &[String] {
        &self.headers
    }

    /// The rules in order of evaluation.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether a check allows this status.
    pub fn allows(&self, status: u16) -> bool {
        self.statuses.contains(&status)
    }

    /// Checks a response. Passes the index of each soft check that does not hold to `missed`, and
    /// each extracted value to `found`.
    ///
    /// # Errors
    /// The index of the first rule that is not met.
    pub(crate) fn check(
        &self,
        answer: &Answered<'_>,
        mut missed: impl FnMut(usize),
        mut found: impl FnMut(u16, &str),
    ) -> Result<(), usize> {
        let wanted: Vec<&Wanted> = self.rules.iter().filter_map(Rule::wanted).collect();
        let elements = if wanted.is_empty() { Vec::new() } else { css::find(answer.body, &wanted) };
        let mut elements = elements.into_iter();
        for (index, rule) in self.rules.iter().enumerate() {
            match rule {
                Rule::Soft(check) => {
                    if !check.is_met(answer) {
                        missed(index);
                    }
                }
                Rule::Check(check) => {
                    if !check.is_met(answer) {
                        return Err(index);
                    }
                }
                Rule::Extract(parameter, find) => {
                    let value = match find {
                        Find::Css(..) => elements.next().flatten().map(Cow::Owned),
                        other => other.value(answer),
                    };
                    let value = value.filter(|value| value.len() <= LONGEST_VALUE);
                    found(*parameter, &value.ok_or(index)?);
                }
            }
        }
        Ok(())
    }
}

impl Rule {
    fn wanted(&self) -> Option<&Wanted> {
        match self {
            Self::Extract(_, Find::Css(wanted, _)) => Some(wanted),
            _ => None,
        }
    }

    /// What was found instead, for messages: short, in one line, without control
    /// characters.
    pub(crate) fn found(&self, answer: &Answered<'_>) -> String {
        match self {
            Self::Check(Check::Status(_)) | Self::Soft(Check::Status(_)) => {
                format!("status {}", answer.status)
            }
            Self::Check(Check::Json(pointer, _))
            | Self::Soft(Check::Json(pointer, _))
            | Self::Extract(_, Find::Json(pointer)) => match answer.json() {
                None => format!("no JSON: {}", beginning(answer.body)),
                Some(json) => json_at(json, pointer).unwrap_or_else(|| excerpt(answer.body)),
            },
            Self::Check(Check::Lacks(text)) | Self::Soft(Check::Lacks(text)) => {
                let at = memchr::memmem::find(answer.body, text.as_bytes()).unwrap_or_default();
                around(answer.body, at)
            }
            Self::Check(Check::Contains(text)) | Self::Soft(Check::Contains(text)) => {
                of_text(answer.body, text)
            }
            Self::Check(Check::Regex(regex))
            | Self::Soft(Check::Regex(regex))
            | Self::Extract(_, Find::Regex(regex)) => of_pattern(answer.body, regex.as_str()),
            Self::Extract(_, Find::Css(_, selector)) => of_selector(answer.body, selector),
            Self::Extract(_, Find::Header(_)) => format!("status {}, none", answer.status),
        }
    }
}

/// The value at a pointer, else the innermost value on the way to it within the whole.
fn json_at(json: &Value, pointer: &str) -> Option<String> {
    let ends = std::iter::once(pointer.len()).chain(pointer.rmatch_indices('/').map(|it| it.0));
    let places = ends.map(|end| &pointer[..end]).filter(|place| !place.is_empty());
    let mut found = places.filter_map(|place| Some((place, json.pointer(place)?)));
    found.next().map(|(place, value)| excerpt(format!("{place} = {value}").as_bytes()))
}

impl Check {
    fn is_met(&self, answer: &Answered<'_>) -> bool {
        let has = |text: &str| memchr::memmem::find(answer.body, text.as_bytes()).is_some();
        match self {
            Self::Status(statuses) => statuses.contains(&answer.status),
            Self::Contains(text) => has(text),
            Self::Lacks(text) => !has(text),
            Self::Regex(regex) => regex.is_match(answer.body),
            Self::Json(pointer, equals) => {
                let value = answer.json().and_then(|json| json.pointer(pointer));
                value.is_some_and(|value| equals.as_ref().is_none_or(|equals| same(value, equals)))
            }
        }
    }
}

/// Equal, and numbers as numbers: 1 and 1.0 are the same.
fn same(a: &Value, b: &Value) -> bool {
    a == b || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if a == b)
}

impl Find {
    fn value<'a>(&self, answer: &'a Answered<'_>) -> Option<Cow<'a, str>> {
        match self {
            Self::Css(wanted, _) => {
                css::find(answer.body, &[wanted]).pop().flatten().map(Cow::Owned)
            }
            Self::Json(pointer) => match answer.json()?.pointer(pointer)? {
                Value::String(text) => Some(Cow::Borrowed(text)),
                value @ (Value::Number(_) | Value::Bool(_)) => Some(Cow::Owned(value.to_string())),
                _ => None,
            },
            Self::Regex(regex) => {
                let groups = regex.captures(answer.body)?;
                let group = groups.get(1).or(if groups.len() == 1 { groups.get(0) } else { None });
                Some(String::from_utf8_lossy(group?.as_bytes()))
            }
            Self::Header(name) => {
                let mut fields = answer.headers.iter().rev();
                fields.find(|(known, _)| known == name).map(|(_, value)| Cow::Borrowed(&value[..]))
            }
        }
    }
}

impl<'a> Answered<'a> {
    pub(crate) fn new(status: u16, headers: &'a [(String, String)], body: &'a [u8]) -> Self {
        Self { status, headers, body, json: OnceCell::new() }
    }

    fn json(&self) -> Option<&Value> {
        self.json.get_or_init(|| serde_json::from_slice(self.body).ok()).as_ref()
    }
}

impl fmt::Display for Rule {
    /// As in the scenario, such as `css "input[name=csrf]"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(check) | Self::Soft(check) => check.fmt(f),
            Self::Extract(_, Find::Regex(regex)) => write!(f, "regex {:?}", regex.as_str()),
            Self::Extract(_, Find::Json(pointer)) => write!(f, "json {pointer:?}"),
            Self::Extract(_, Find::Css(wanted, text)) => {
                write!(f, "css {text:?}")?;
                wanted.attribute.iter().try_for_each(|name| write!(f, ", attribute {name:?}"))
            }
            Self::Extract(_, Find::Header(name)) => write!(f, "header {name:?}"),
        }
    }
}

impl fmt::Display for Check {
    /// As in the scenario.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(statuses) => write!(f, "status {statuses:?}"),
            Self::Contains(text) => write!(f, "contains {text:?}"),
            Self::Lacks(text) => write!(f, "lacks {text:?}"),
            Self::Regex(regex) => write!(f, "regex {:?}", regex.as_str()),
            Self::Json(pointer, Some(equals)) => write!(f, "json {pointer:?} = {equals}"),
            Self::Json(pointer, None) => write!(f, "json {pointer:?}"),
        }
    }
}

/// The beginning of a response in one line, safe for a terminal.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String =
        line.chars().take(SHOWN).map(|c| if hides(c) { '·' } else { c }).collect();
    if shown.is_empty() {
        return "an empty response".to_owned();
    }
    if line.chars().count() > SHOWN || bytes.len() > 4 * SHOWN {
        shown.push('…');
    }
    shown
}

/// Text in lines as it is, but for what a terminal or a page must not get.
pub(crate) fn visible(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    text.chars().map(|c| if hides(c) && c != '\n' && c != '\t' { '·' } else { c }).collect()
}

/// Control characters, and those that reorder or hide text.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// Checks a response against the rules of a page. Returns the extracted values by name,
    /// or the failed rule and what was found instead.
    fn evaluate(
        rules: &str,
        status: u16,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Vec<(String, String)>, (String, String)> {
        let text = format!(
            "[session]\nstart = \"Home\"\n[pages.Home]\npath = \"/\"\n{rules}\n\
             [transitions]\nHome = {{ End = 1 }}\n"
        );
        let scenario = Scenario::from_toml(&text, "shop.toml").unwrap();
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let answer = Answered::new(status, &headers, body.as_bytes());
        let expected = &scenario.pages()[0].expected;
        let mut found = Vec::new();
        let name = |index| scenario.definition().parameters[index as usize].name.clone();
        let keep = |index, value: &str| found.push((name(index), value.into()));
        let result = expected.check(&answer, |_| panic!("a soft check"), keep);
        result.map(|()| found).map_err(|index| {
            let rule = &expected.rules()[index];
            (rule.to_string(), rule.found(&answer))
        })
    }

    fn unmet(rules: &str, body: &str) -> (String, String) {
        evaluate(rules, 200, &[], body).unwrap_err()
    }

    #[test]
    fn each_kind_of_extraction_finds_its_value() {
        let rules = r#"extract = { token = { css = "input[name=csrf]", attribute = "value" },
            title = { css = "h1" }, code = { regex = "code=([0-9]+)" },
            all = { regex = "c..e" }, to = { header = "Location" } }"#;
        let body = "<h1>A &amp; <i>B</i></h1><input name=csrf value=t1>code=42";
        let headers = [("location", "/first"), ("location", "/second")];
        let found = evaluate(rules, 200, &headers, body).unwrap();
        let found: Vec<_> = found.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        assert_eq!(
            found,
            [
                ("token", "t1"),
                ("title", "A & B"),
                ("code", "42"),
                ("all", "code"),
                ("to", "/second")
            ]
        );
        let rules = r#"extract = { id = { json = "/items/1/id" }, ok = { json = "/ok" } }"#;
        let found = evaluate(rules, 200, &[], r#"{"ok":true,"items":[{"id":1},{"id":"x-2"}]}"#);
        assert_eq!(found.unwrap()[0].1, "x-2");
    }

    #[test]
    fn what_is_not_found_is_reported_with_what_came() {
        let css = r#"extract = { token = { css = "input", attribute = "value" } }"#;
        let expected = ("css \"input\", attribute \"value\"".to_owned(), "<p>none here".to_owned());
        assert_eq!(unmet(css, "<p>none\nhere"), expected);
        let json = r#"extract = { id = { json = "/items" } }"#;
        assert_eq!(unmet(json, "{\"items\": [1]}").1, "/items = [1]");
        assert_eq!(unmet(json, "<p>").1, "no JSON: <p>");
        assert_eq!(unmet(json, "").1, "no JSON: an empty response");
        let header = r#"extract = { to = { header = "location" } }"#;
        assert_eq!(unmet(header, "").1, "status 200, none");
        let long = format!("<input value={}>", "x".repeat(LONGEST_VALUE + 1));
        assert_eq!(unmet(css, &long).0, expected.0);
    }

    #[test]
    fn each_kind_of_check_passes_and_fails() {
        for (check, good, bad) in [
            ("contains = \"Thank you\"", "so Thank you", "no"),
            ("contains = [\"a\", \"b\"]", "ab", "a"),
            ("lacks = \"error\"", "fine", "an error"),
            ("regex = \"^[0-9]+$\"", "12", "12a"),
            ("json = { pointer = \"/ok\", equals = true }", "{\"ok\":true}", "{\"ok\":1}"),
            ("json = { pointer = \"/n\", equals = 1 }", "{\"n\":1.0}", "{\"n\":\"1\"}"),
            ("json = [{ pointer = \"/n\" }]", "{\"n\":null}", "{}"),
        ] {
            let rules = format!("check = {{ {check} }}");
            assert!(evaluate(&rules, 200, &[], good).is_ok(), "{check}");
            assert!(evaluate(&rules, 200, &[], bad).is_err(), "{check}");
        }
        let status = "check = { status = [200, 201] }";
        assert!(evaluate(status, 201, &[], "").is_ok());
        let expected = ("status [200, 201]".to_owned(), "status 302".to_owned());
        assert_eq!(evaluate(status, 302, &[], "").unwrap_err(), expected);
        let first = "check = { contains = \"x\" }\nextract = { a = { css = \"b\" } }";
        assert_eq!(unmet(first, "").0, "contains \"x\"");
        assert_eq!(
            unmet("check = { json = { pointer = \"/ok\", equals = true } }", "{\"ok\":false}"),
            ("json \"/ok\" = true".to_owned(), "/ok = false".to_owned())
        );
    }

    #[test]
    fn what_is_shown_is_short_and_clean() {
        let shown = excerpt("\x1b[31m red\u{202e}\r\n\0".as_bytes());
        assert_eq!(shown, "·[31m red· ·");
        let long = excerpt("ä".repeat(5000).as_bytes());
        assert_eq!(long.chars().count(), SHOWN + 1);
        assert!(excerpt(&[0xff; 10_000]).ends_with('…'));
    }
}
