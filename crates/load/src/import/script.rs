//! From the steps of a recording to the pages and steps of a scenario.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::headers::{Credentials, kept};
use super::issued::{Extraction, IssuedValues};
use super::left_out::{LeftOut, Reason};
use super::parameters::Parameters;
use super::recorded::{FORM, Recorded, RecordedBody};
use super::visits::Visit;
use crate::scenario::page::Method;

/// Most pages of a scenario.
const PAGES: usize = 1000;
/// Largest JSON document of a request in which values are replaced, in bytes.
const LARGEST_JSON: usize = 1 << 20;
/// Longest name of a page, in characters.
const LONGEST_NAME: usize = 40;
/// Longest think time of a scenario, in ms.
const LONGEST_THINK: f64 = 24.0 * 3_600_000.0;

/// The pages and steps of a scenario.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// With their names.
    pub(super) pages: Vec<(String, ScriptPage)>,
    /// Index of the page, and the think time before it in ms.
    pub(super) steps: Vec<(usize, f64)>,
    pub(super) credentials: Credentials,
}

/// A page as the file has it; texts have names of parameters in braces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ScriptPage {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) fields: Vec<(String, FieldText)>,
    /// Media type and content.
    pub(super) body: Option<(String, BodyText)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) extract: Vec<(String, Extraction)>,
    /// A status from 400 that the recording has.
    pub(super) allow: Option<u16>,
    /// The status of a redirect to another origin.
    pub(super) redirect: Option<u16>,
    pub(super) assets: Vec<String>,
}

/// The content of a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum BodyText {
    Text(String),
    Base64(String),
}

/// The value of a field of a form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum FieldText {
    Text(String),
    /// Has a name in braces, which is no parameter.
    Literal(String),
}

/// What values are replaced with.
struct Replace<'a> {
    visits: &'a [Visit],
    issued: IssuedValues,
    parameters: Parameters,
    /// The step that is made.
    visit: usize,
}

impl Script {
    /// `target` is the origin that customers will request.
    pub(super) fn of(visits: &[Visit], target: &str, left_out: &mut LeftOut) -> Self {
        let mut script = Self::default();
        let issued = IssuedValues::of(visits);
        let parameters = Parameters::default();
        let mut replace = Replace { visits, issued, parameters, visit: 0 };
        let mut pages: Vec<ScriptPage> = Vec::new();
        for (index, visit) in visits.iter().enumerate() {
            replace.visit = index;
            pages.push(page(visit, target, &mut replace, &mut script.credentials));
        }
        let mut known: HashMap<ScriptPage, usize> = HashMap::new();
        let mut names: HashMap<String, u32> = HashMap::new();
        let mut ended: Option<f64> = None;
        for ((index, visit), mut page) in visits.iter().enumerate().zip(pages) {
            page.extract = replace.parameters.extractions(index);
            let at = match known.get(&page) {
                Some(at) => *at,
                // What comes later may need values of the page that there is no room for.
                None if script.pages.len() == PAGES => {
                    (index..visits.len()).for_each(|_| left_out.add(Reason::TooMany));
                    break;
                }
                None => {
                    script.pages.push((name(&visit.request, &mut names), page.clone()));
                    known.insert(page, script.pages.len() - 1);
                    script.pages.len() - 1
                }
            };
            let think = ended.map_or(0.0, |ended| visit.request.begins - ended);
            script.steps.push((at, think.clamp(0.0, LONGEST_THINK)));
            ended = Some(visit.ends);
        }
        script
    }
}

/// `/login`, `POST /login`, `/login 2`: each once.
fn name(request: &Recorded, names: &mut HashMap<String, u32>) -> String {
    let method = match request.method {
        Method::Get => String::new(),
        other => format!("{} ", other.as_str()),
    };
    let name: String =
        format!("{method}{}", request.url.path()).chars().take(LONGEST_NAME).collect();
    loop {
        let times = names.entry(name.clone()).or_default();
        *times += 1;
        if *times == 1 {
            return name;
        }
        let numbered = format!("{name} {times}");
        if !names.contains_key(&numbered) {
            names.insert(numbered.clone(), 1);
            return numbered;
        }
    }
}

fn page(
    visit: &Visit,
    target: &str,
    replace: &mut Replace<'_>,
    credentials: &mut Credentials,
) -> ScriptPage {
    let request = &visit.request;
    let (mut fields, mut body) = (Vec::new(), None);
    match &request.body {
        Some(RecordedBody::Form(form)) if is_table(form) => {
            for (name, value) in form {
                fields.push((name.clone(), replace.field(name, value)));
            }
        }
        Some(RecordedBody::Form(form)) => {
            let pairs: Vec<String> = form.iter().map(|pair| replace.pair(pair)).collect();
            body = Some((FORM.to_owned(), BodyText::Text(pairs.join("&"))));
        }
        Some(RecordedBody::Text { content_type, text }) => {
            let text = replace.text(content_type, text);
            body = Some((content_type.clone(), BodyText::Text(text)));
        }
        Some(RecordedBody::Bytes { content_type, bytes }) => {
            body = Some((content_type.clone(), BodyText::Base64(STANDARD.encode(bytes))));
        }
        None => {}
    }
    let status = visit.answer.status;
    ScriptPage {
        method: request.method,
        path: replace.path(request),
        fields,
        body,
        headers: kept(request, target, credentials, |name, value| replace.name(name, value)),
        extract: Vec::new(),
        allow: (status >= 400).then_some(status),
        redirect: visit.leads_elsewhere,
        assets: visit.assets.iter().map(|path| literal_path(path)).collect(),
    }
}

/// Whether a scenario can have the body: JSON has another writing for braces that begin the name
/// of a parameter, forms are encoded.
pub(super) fn can_send(request: &Recorded) -> bool {
    match &request.body {
        Some(RecordedBody::Text { content_type, text }) => {
            !has_name(text) || json(content_type, text).is_some()
        }
        _ => true,
    }
}

fn json(content_type: &str, text: &str) -> Option<Value> {
    content_type.contains("json").then(|| serde_json::from_str(text).ok())?
}

/// Whether the fields can be keys of a table: each has a name, and no two the same.
fn is_table(form: &[(String, String)]) -> bool {
    let mut names: Vec<&str> = form.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let same = names.windows(2).any(|pair| pair[0] == pair[1]);
    !names.is_empty() && !names[0].is_empty() && !same
}

impl Replace<'_> {
    /// The name of the parameter in place of a value that a response issued.
    fn name(&mut self, field: &str, value: &str) -> Option<String> {
        let source = self.issued.source(self.visits, self.visit, field, value)?;
        self.parameters.name(&source, self.visit)
    }

    fn field(&mut self, name: &str, value: &str) -> FieldText {
        match self.name(name, value) {
            Some(parameter) => FieldText::Text(format!("{{{parameter}}}")),
            None if has_name(value) => FieldText::Literal(value.to_owned()),
            None => FieldText::Text(value.to_owned()),
        }
    }

    fn pair(&mut self, (name, value): &(String, String)) -> String {
        let encode = |text: &str| -> String {
            url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
        };
        let parameter = self.name(name, value).map(|parameter| format!("{{{parameter}}}"));
        format!("{}={}", encode(name), parameter.unwrap_or_else(|| encode(value)))
    }

    /// A body that is no form. Values of JSON are replaced.
    fn text(&mut self, content_type: &str, text: &str) -> String {
        let Some(json) = json(content_type, text) else { return text.to_owned() };
        // A brace of JSON that begins a name stands within a string, where it can be escaped.
        let mut text = without_names(text, "\\u007b");
        let mut strings = Vec::new();
        if text.len() <= LARGEST_JSON {
            strings_of(&json, "", &mut strings);
        }
        for (name, value) in strings {
            if let Some(parameter) = self.name(&name, &value) {
                let quoted = Value::from(value).to_string();
                text = text.replace(&quoted, &format!("\"{{{parameter}}}\""));
            }
        }
        text
    }

    /// Path and query, with issued values of the query replaced.
    fn path(&mut self, request: &Recorded) -> String {
        let path = literal_path(request.url.path());
        let Some(query) = request.url.query() else { return path };
        let mut piece = |piece: &str| {
            let (name, value) = url::form_urlencoded::parse(piece.as_bytes()).next()?;
            let parameter = self.name(&name, &value)?;
            Some(format!("{}={{{parameter}}}", literal_path(piece.split('=').next()?)))
        };
        let query = query.split('&').map(|text| piece(text).unwrap_or_else(|| literal_path(text)));
        format!("{path}?{}", query.collect::<Vec<_>>().join("&"))
    }
}

/// Most strings of a JSON document that are looked at.
const STRINGS: usize = 200;

/// The distinct strings of a JSON document, each with the name of its field.
fn strings_of(json: &Value, name: &str, found: &mut Vec<(String, String)>) {
    if found.len() == STRINGS {
        return;
    }
    match json {
        Value::String(text) if !found.iter().any(|(_, known)| known == text) => {
            found.push((name.to_owned(), text.clone()));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| strings_of(value, name, found));
        }
        Value::Array(items) => items.iter().for_each(|item| strings_of(item, name, found)),
        _ => {}
    }
}

/// Whether a text has what a scenario takes for the name of a parameter.
pub(super) fn has_name(text: &str) -> bool {
    text.match_indices('{').any(|(at, _)| begins_name(&text[at + 1..]))
}

fn begins_name(text: &str) -> bool {
    let length = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(0);
    length > 0 && text[length..].starts_with('}')
}

/// The text with another writing of the braces that begin names.
fn without_names(text: &str, brace: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if c == '{' && begins_name(&text[at + 1..]) {
            out.push_str(brace);
        } else {
            out.push(c);
        }
    }
    out
}

/// A path without parameters.
fn literal_path(path: &str) -> String {
    path.replace('{', "%7B").replace('}', "%7D")
}
