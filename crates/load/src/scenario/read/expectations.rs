//! Reads `extract`, `check` and `soft_check` of a page.

use super::Refuse;
use regex::bytes::Regex;
use tidegate_config::Preset::{Else, Required, Unset};
use tidegate_config::{Key, Other, Section, Text, Value, keys};

use super::names::{Names, is_own};
use crate::html::css::{self, Selector, Wanted};
use crate::scenario::expected::{Check, Expected, Find};

keys! {
    /// A value taken from the response by one of these; `css` may have an `attribute`.
    pub(super) static EXTRACT: ExtractKeys {
        /// The first element that matches (and has the attribute).
        css: Text("a CSS selector") = Unset;
        /// The attribute of the element.
        attribute: Text("an attribute's name") = Else("its text");
        /// The text, number or truth value at this place of a JSON document.
        json: Text("a JSON pointer (RFC 6901)") = Unset;
        /// The first group of the first match, or the whole match.
        regex: Text("a regular expression") = Unset;
        /// A header field of the response, or of a redirect before it.
        header: Text("a header field's name") = Unset;
    }

    /// Checks of a response. Those of `soft_check` are counted and shown when they fail, and the
    /// session goes on.
    pub(super) static CHECK: CheckKeys {
        /// The status is one of these, which then do not count as failures. In `soft_check` they
        /// still do.
        status: Other("list of whole numbers", "200 to 599") = Unset;
        /// The body contains this text.
        contains: Other("text or list of texts", "not empty") = Unset;
        /// The body does not contain this text.
        lacks: Other("text or list of texts", "not empty") = Unset;
        /// The body matches.
        regex: Other("text or list of texts", "regular expressions") = Unset;
        /// The body is a JSON document with a value.
        json: Other("table or list of tables", "see below") = Unset;
    }

    /// `json` of a check.
    pub(super) static CHECK_JSON: CheckJsonKeys {
        /// Place of the value.
        pointer: Text("a JSON pointer (RFC 6901)") = Required("/ok");
        /// The value.
        equals: Other("text, number, true or false", "") = Else("any value");
    }
}

pub(super) fn read(page: &Section<'_>, names: &mut Names) -> Expected {
    let checks = page.get("check").and_then(|value| value.section());
    let checks = checks.map(|section| checks_of(&section)).unwrap_or_default();
    let extractions = page.get("extract").and_then(|value| value.section());
    let extractions = extractions.map(|section| extractions_of(&section, names));
    let soft = page.get("soft_check").and_then(|value| value.section());
    let soft = soft.map(|section| checks_of(&section)).unwrap_or_default();
    let expected = Expected::new(soft, checks, extractions.unwrap_or_default());
    let head = page.get("method").filter(Value::is_str).and_then(|value| value.string());
    if head == Some("HEAD") && expected.reads_body() {
        page.wrong("reads a body, which HEAD has none", "write method = \"GET\"");
    }
    expected
}

fn extractions_of(section: &Section<'_>, names: &mut Names) -> Vec<(u16, Find)> {
    let entries = section.entries();
    section.at_most(css::MOST, entries.len(), "values", "remove some");
    let read = |(name, value): (&str, Value<'_>)| {
        if is_own(name) {
            return value
                .refuse("is a name that every customer has already", "choose another name");
        }
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return value
                .refuse("must be letters, digits and _", "write token = { css = \"input\" }");
        }
        Some((names.index(name), find(&value.section()?)?))
    };
    entries.into_iter().filter_map(read).collect()
}

fn find(section: &Section<'_>) -> Option<Find> {
    section.known(&EXTRACT);
    let keys = [EXTRACT.css.name, EXTRACT.json.name, EXTRACT.regex.name, EXTRACT.header.name];
    let given: Vec<_> = keys.into_iter().filter_map(|key| Some((key, section.get(key)?))).collect();
    let [(key, value)] = given.as_slice() else {
        return section.refuse(
            format!("has {} of css, json, regex and header, must have one", given.len()),
            "write { css = \"input[name=csrf]\", attribute = \"value\" }",
        );
    };
    let attribute = section.get(EXTRACT.attribute.name);
    if let Some(attribute) = attribute.as_ref().filter(|_| *key != "css") {
        attribute.wrong("goes with css", "remove it");
    }
    match *key {
        "css" => {
            let text = value.string()?;
            let attribute = match attribute {
                Some(value) => Some(value.string()?.to_ascii_lowercase()),
                None => None,
            };
            match Selector::parse(text) {
                Ok(selector) => Some(Find::Css(Wanted { selector, attribute }, text.to_owned())),
                Err(rule) => value.refuse(
                    rule,
                    "write names, #id, .class, [attribute=value], with a space or > between",
                ),
            }
        }
        "json" => pointer(value).map(Find::Json),
        "regex" => regex(value).map(Find::Regex),
        _ => {
            let name = value.string()?;
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic() && b != b':') {
                return value.refuse("is not a name of a header field", "write \"location\"");
            }
            Some(Find::Header(name.to_ascii_lowercase()))
        }
    }
}

fn checks_of(section: &Section<'_>) -> Vec<Check> {
    section.known(&CHECK);
    let mut checks = Vec::new();
    if let Some(list) = section.given(&CHECK.status).and_then(|value| value.list()) {
        let statuses = list.iter().filter_map(|value| value.integer(200..=599));
        checks.push(Check::Status(statuses.map(|status| status as u16).collect()));
    }
    let text = |value: &Value<'_>| match value.string()? {
        "" => value.refuse("is empty", "write a text of the page"),
        text => Some(text.to_owned()),
    };
    each(section, &CHECK.contains, |value| checks.extend(text(value).map(Check::Contains)));
    each(section, &CHECK.lacks, |value| checks.extend(text(value).map(Check::Lacks)));
    each(section, &CHECK.regex, |value| checks.extend(regex(value).map(Check::Regex)));
    each(section, &CHECK.json, |value| {
        checks.extend(value.section().and_then(|inner| json(&inner)))
    });
    checks
}

/// One value, or each of a list.
fn each(section: &Section<'_>, key: &Key<Other>, mut read: impl FnMut(&Value<'_>)) {
    match section.read(key) {
        Some(value) if value.is_list() => {
            value.list().unwrap_or_default().iter().for_each(&mut read);
        }
        Some(value) => read(&value),
        None => {}
    }
}

fn json(section: &Section<'_>) -> Option<Check> {
    section.known(&CHECK_JSON);
    let Some(place) = section.get(CHECK_JSON.pointer.name) else {
        return section.refuse("has no pointer", "write { pointer = \"/ok\", equals = true }");
    };
    let equals = match section.given(&CHECK_JSON.equals) {
        Some(value) if value.is_str() => Some(value.string()?.into()),
        Some(value) if value.is_boolean() => Some(value.boolean()?.into()),
        Some(value) if value.is_integer() => Some(value.integer(i64::MIN..=i64::MAX)?.into()),
        Some(value) => Some(value.number(f64::MIN..=f64::MAX)?.into()),
        None => None,
    };
    Some(Check::Json(pointer(&place)?, equals))
}

/// Source: RFC 6901, section 3.
fn pointer(value: &Value<'_>) -> Option<String> {
    let text = value.string()?;
    if text.is_empty() || text.starts_with('/') {
        return Some(text.to_owned());
    }
    value.refuse("must begin with /", format!("write \"/{text}\""))
}

fn regex(value: &Value<'_>) -> Option<Regex> {
    match Regex::new(value.string()?) {
        Ok(regex) => Some(regex),
        Err(error) => {
            // The last line has the reason; the lines above show the position.
            let error = error.to_string();
            let what = error.lines().last().unwrap_or_default();
            value.refuse(
                format!("is not a regular expression: {}", what.trim_start_matches("error: ")),
                "write one as docs.rs/regex has them, such as 'code=([0-9]+)'",
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mistakes;

    #[test]
    fn every_mistake_of_a_page_is_reported_with_line_and_remedy() {
        let text = r#"[session]
start = "Home"
[pages.Home]
path = "/?t={tokn}"
method = "PUSH"
[pages.Home.extract]
token = { css = "input:first", attribute = "value" }
id = { json = "items/0" }
code = { regex = "(" }
two = { css = "a", json = "/a" }
run = { header = "x" }
more = { header = "x", attribute = "y" }
[pages.Home.check]
status = [20]
contains = ""
json = { equals = 1 }
[pages.Buy]
path = "/buy"
method = "GET"
body = "{idd}"
content_type = "json"
[pages.Buy.headers]
"X Token" = "a"
Host = "b"
X-Line = "a\nb"
X-Token = "{tokn}"
[transitions]
Home = { Buy = 1 }
Buy = { End = 1 }
"#;
        let found = mistakes(text);
        for expected in [
            "shop.toml:4: pages.Home.path = \"/?t={tokn}\": has {tokn}, which no link, extraction, parameter or",
            "shop.toml:5: pages.Home.method = \"PUSH\": must be one of GET, HEAD, POST, PUT, PATCH, DELETE;",
            "shop.toml:7: pages.Home.extract.token.css = \"input:first\": \"input:first\" has a ':', which is not known",
            "shop.toml:8: pages.Home.extract.id.json = \"items/0\": must begin with /; write \"/items/0\"",
            "shop.toml:9: pages.Home.extract.code.regex = \"(\": is not a regular expression: unclosed group;",
            "shop.toml:10: pages.Home.extract.two: has 2 of css, json, regex and header",
            "shop.toml:11: pages.Home.extract.run: is a name that every customer has already;",
            "shop.toml:12: pages.Home.extract.more.attribute = \"y\": goes with css; remove it",
            "shop.toml:14: pages.Home.check.status[0] = 20: must be a whole number of 200 to 599;",
            "shop.toml:15: pages.Home.check.contains = \"\": is empty;",
            "shop.toml:16: pages.Home.check.json: has no pointer;",
            "shop.toml:20: pages.Buy.body = \"{idd}\": does not go with this method; write method = \"POST\"",
            "shop.toml:20: pages.Buy.body = \"{idd}\": {idd} is neither customer, session, request, random, run nor",
            "shop.toml:21: pages.Buy.content_type = \"json\": is not a media type;",
            "shop.toml:23: pages.Buy.headers.X Token = \"a\": is not a name of a header field;",
            "shop.toml:24: pages.Buy.headers.Host = \"b\": is a header field that the load generator sets;",
            "shop.toml:25: pages.Buy.headers.X-Line = \"a\\nb\": has a line break or control character;",
            "shop.toml:26: pages.Buy.headers.X-Token = \"{tokn}\": {tokn} is neither",
        ] {
            assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}\n{found:#?}");
        }
        assert_eq!(found.len(), 18, "{found:#?}");
    }
}
