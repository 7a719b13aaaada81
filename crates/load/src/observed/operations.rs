//! Which operation a request is: by the rules of a user, by the pages of a scenario, or by its path
//! with ids taken out.

use std::collections::HashMap;
use std::str::FromStr;

use crate::access_log::Request;
use crate::scenario::{Method, Page, Scenario, Source, Template};

/// Most operations; requests of others are counted as [`OTHERS`].
pub const MOST: usize = 1000;
/// The operation of requests beyond [`MOST`].
pub const OTHERS: &str = "(others)";
/// Longest name, in characters.
const LONGEST_NAME: usize = 80;

/// Endings of what a browser fetches for a page.
const ASSETS: &[&str] = &[
    "css",
    "js",
    "mjs",
    "map",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "webp",
    "avif",
    "svg",
    "ico",
    "bmp",
    "woff",
    "woff2",
    "ttf",
    "otf",
    "eot",
    "mp3",
    "mp4",
    "webm",
    "ogg",
    "wasm",
    "webmanifest",
];
/// Other addresses that nobody visits.
const UNSEEN: &[&str] = &["/robots.txt", "/sitemap.xml"];

/// An operation that a user names: `Item=/items/{item}`, or `Buy=POST /items/{item}/buy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRule {
    name: String,
    method: Option<String>,
    template: Template,
}

impl FromStr for OperationRule {
    type Err = String;

    /// Reads `NAME=PATTERN` or `NAME=METHOD PATTERN`. A name in braces takes a part of the path; a
    /// pattern without a query fits any.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, pattern) = text
            .split_once('=')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or("must be NAME=PATTERN, as in Item=/items/{item}")?;
        let (method, path) = match pattern.split_once(' ') {
            Some((method, path)) => (Some(method.to_ascii_uppercase()), path.trim()),
            None => (None, pattern),
        };
        let mut parameters = 0;
        let template = Template::parse(path, |_| {
            parameters += 1;
            parameters - 1
        })?;
        Ok(Self { name: name.trim().to_owned(), method, template })
    }
}

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// An operation, by its index.
    Operation(u32),
    /// What a browser fetches for a page.
    Asset,
    /// None of the pages of the scenario.
    Unknown,
}

/// The operations of a log.
#[derive(Debug)]
pub(super) struct Operations {
    names: Vec<String>,
    places: HashMap<String, u32>,
    patterns: Vec<Pattern>,
    /// Requests that no pattern fits are operations by their paths.
    by_path: bool,
    /// Pages of the scenario that cannot be told from another one.
    alike: Vec<(String, String)>,
}

#[derive(Debug)]
struct Pattern {
    operation: u32,
    methods: Methods,
    template: Template,
}

#[derive(Debug, PartialEq)]
enum Methods {
    Any,
    One(String),
    /// What a link or an address is requested with.
    Reading,
}

impl Operations {
    pub(super) fn new(rules: &[OperationRule], scenario: Option<&Scenario>) -> Self {
        let mut all = Self {
            names: Vec::new(),
            places: HashMap::new(),
            patterns: Vec::new(),
            by_path: scenario.is_none(),
            alike: Vec::new(),
        };
        for rule in rules {
            let operation = all.place(&rule.name);
            let methods = rule.method.clone().map_or(Methods::Any, Methods::One);
            all.patterns.push(Pattern { operation, methods, template: rule.template.clone() });
        }
        let pages = scenario.into_iter().flat_map(Scenario::pages).filter(|page| page.host == 0);
        let mut own: Vec<Pattern> = Vec::new();
        for page in pages {
            let pattern = Pattern {
                operation: all.place(&page.name),
                methods: methods(page),
                template: page.template().clone(),
            };
            let same = own.iter().find(|it| {
                it.methods == pattern.methods && it.template.text() == pattern.template.text()
            });
            match same {
                Some(same) => {
                    let other = all.names[same.operation as usize].clone();
                    all.alike.push((page.name.clone(), other));
                }
                None => own.push(pattern),
            }
        }
        // The one that says most first: `/items/new` before `/items/{item}`.
        own.sort_by_key(|it| {
            let template = &it.template;
            let fixed = template.text().split('{').map(|part| part.len()).sum::<usize>();
            (template.parameters().count(), std::cmp::Reverse(fixed))
        });
        all.patterns.extend(own);
        all
    }

    /// The names, by index.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Pages that cannot be told from another one.
    pub(super) fn alike(&self) -> &[(String, String)] {
        &self.alike
    }

    pub(super) fn of(&mut self, request: &Request) -> Seen {
        let Request { method, target } = request;
        let fits =
            |it: &&Pattern| it.methods.have(method) && it.template.matches(target, |_, _| ());
        if let Some(pattern) = self.patterns.iter().find(fits) {
            return Seen::Operation(pattern.operation);
        }
        let path = path(target);
        if is_asset(path) {
            return Seen::Asset;
        }
        if !self.by_path {
            return Seen::Unknown;
        }
        let name = path_name(method, path);
        match self.places.get(&name) {
            Some(at) => Seen::Operation(*at),
            None if self.names.len() < MOST => Seen::Operation(self.place(&name)),
            None => Seen::Operation(self.place(OTHERS)),
        }
    }

    fn place(&mut self, name: &str) -> u32 {
        if let Some(at) = self.places.get(name) {
            return *at;
        }
        let at = self.names.len() as u32;
        self.places.insert(name.to_owned(), at);
        self.names.push(name.to_owned());
        at
    }
}

impl Methods {
    fn have(&self, method: &str) -> bool {
        match self {
            Self::Any => true,
            Self::One(own) => own == method,
            Self::Reading => matches!(method, "GET" | "HEAD"),
        }
    }
}

fn methods(page: &Page) -> Methods {
    match (page.method.map(Method::as_str), &page.source) {
        (Some(method), _) => Methods::One(method.to_owned()),
        (None, Source::Form(_)) => Methods::Any,
        (None, _) => Methods::Reading,
    }
}

/// The path of a target, without its query.
fn path(target: &str) -> &str {
    target.split(['?', '#']).next().unwrap_or_default()
}

fn is_asset(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    UNSEEN.contains(&path)
        || ending.is_some_and(|it| ASSETS.iter().any(|asset| asset.eq_ignore_ascii_case(it)))
}

/// The name of an operation by its path: `POST /items/{id}/buy`.
pub(super) fn path_name(method: &str, path: &str) -> String {
    // Sessions of servlets stand behind a semicolon.
    let path = path.split(';').next().unwrap_or_default();
    let parts: Vec<&str> =
        path.split('/').map(|part| if is_id(part) { "{id}" } else { part }).collect();
    let method = if method == "GET" { String::new() } else { format!("{method} ") };
    format!("{method}{}", parts.join("/")).chars().take(LONGEST_NAME).collect()
}

/// Whether a part of a path is an id: a number, hexadecimal, or long with many digits.
fn is_id(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits > 0 && digits == part.len();
    let is_hex = part.len() >= 8
        && digits > 0
        && part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_number || is_hex || (part.len() >= 20 && digits >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, target: &str) -> Request {
        Request { method: method.into(), target: target.into() }
    }

    fn name(operations: &mut Operations, method: &str, target: &str) -> String {
        match operations.of(&request(method, target)) {
            Seen::Operation(at) => operations.names()[at as usize].clone(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn paths_have_names_without_ids_and_assets_are_left_out() {
        let mut all = Operations::new(&[], None);
        for (method, target, expected) in [
            ("GET", "/", "/"),
            ("GET", "/items/42?page=2", "/items/{id}"),
            ("POST", "/items/42/buy", "POST /items/{id}/buy"),
            ("GET", "/u/550e8400-e29b-41d4-a716-446655440000", "/u/{id}"),
            ("GET", "/about;jsessionid=AB12", "/about"),
            ("GET", "/red-shoes", "/red-shoes"),
            ("GET", "/facade", "/facade"),
            ("GET", "/style.CSS?v=3", "Asset"),
            ("GET", "/favicon.ico", "Asset"),
            ("GET", "/robots.txt", "Asset"),
            ("GET", "/report.pdf", "/report.pdf"),
        ] {
            assert_eq!(name(&mut all, method, target), expected, "{target}");
        }
    }

    #[test]
    fn rules_go_before_paths() {
        let rules = ["Item=/items/{item}", "Buy=post /items/{item}/buy"];
        let rules: Vec<OperationRule> = rules.iter().map(|it| it.parse().unwrap()).collect();
        let mut all = Operations::new(&rules, None);
        assert_eq!(name(&mut all, "GET", "/items/red?x=1"), "Item");
        assert_eq!(name(&mut all, "POST", "/items/red/buy"), "Buy");
        assert_eq!(name(&mut all, "GET", "/items/red/buy"), "/items/red/buy");
        for bad in ["Item", "=/a", "Item=items", "Item=/{"] {
            assert!(bad.parse::<OperationRule>().is_err(), "{bad}");
        }
    }

    #[test]
    fn pages_of_a_scenario_are_found_by_what_says_most() {
        let text = "[session]\nstart = \"Home\"\n[pages]\nHome = { path = \"/\" }\n\
                    Item = { link = \"/items/{item}\" }\nNew = { path = \"/items/new\" }\n\
                    Twin = { path = \"/items/new\" }\nBuy = { form = \"/items/{item}/buy\" }\n\
                    [transitions]\nHome = { Item = 0.4, New = 0.3, Twin = 0.3 }\nItem = { Buy = 1 }\n\
                    New = { End = 1 }\nTwin = { End = 1 }\nBuy = { End = 1 }\n";
        let scenario = Scenario::from_toml(text, "shop.toml").unwrap();
        let mut all = Operations::new(&[], Some(&scenario));
        assert_eq!(name(&mut all, "GET", "/?utm=1"), "Home");
        assert_eq!(name(&mut all, "GET", "/items/7"), "Item");
        assert_eq!(name(&mut all, "GET", "/items/new"), "New");
        assert_eq!(name(&mut all, "POST", "/items/7/buy"), "Buy");
        assert_eq!(name(&mut all, "POST", "/items/7"), "Unknown");
        assert_eq!(name(&mut all, "GET", "/other"), "Unknown");
        assert_eq!(all.alike(), [("Twin".to_owned(), "New".to_owned())]);
    }

    #[test]
    fn operations_are_bounded() {
        let mut all = Operations::new(&[], None);
        for number in 0..2 * MOST {
            all.of(&request("GET", &format!("/page-{number}x")));
        }
        assert_eq!(all.names().len(), MOST + 1);
        assert_eq!(name(&mut all, "GET", "/one-more"), OTHERS);
    }
}
