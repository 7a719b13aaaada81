//! The header fields of a recorded request that a scenario keeps.

use std::collections::BTreeSet;

use super::recorded::Recorded;
use super::script::has_name;

/// Longest value of a header field, in bytes.
const LONGEST: usize = 8000;

/// Fields of a connection, of the browser's cache or of the browser itself, and those that the
/// load generator sets.
const LEFT: [&str; 32] = [
    "accept-encoding",
    "alt-used",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "dnt",
    "downlink",
    "dpr",
    "ect",
    "expect",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "pragma",
    "priority",
    "purpose",
    "range",
    "rtt",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "x-client-data",
];

/// What of the recording a reader of the scenario should know.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    /// Requests with an Authorization that is kept as it was recorded.
    pub(super) authorizations: u64,
    /// Header fields that are not kept because of a name in braces.
    pub(super) braces: u64,
}

impl Credentials {
    /// A line for each.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.authorizations > 0 {
            notes.push(format!(
                "{} requests have an Authorization as it was recorded: it may have ended by now",
                self.authorizations
            ));
        }
        if self.braces > 0 {
            notes.push(format!(
                "left out: {} header fields with a name in braces, which would be a parameter",
                self.braces
            ));
        }
        notes
    }
}

/// The fields to keep. `replace` knows the parameter in place of a value.
pub(super) fn kept(
    request: &Recorded,
    target: &str,
    credentials: &mut Credentials,
    mut replace: impl FnMut(&str, &str) -> Option<String>,
) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = Vec::new();
    let mut seen: BTreeSet<(String, &str)> = BTreeSet::new();
    for (name, value) in &request.headers {
        let lower = name.to_ascii_lowercase();
        let value = value.trim();
        // Some recorders write a field twice: as the page gave it and as the network sent it.
        if !seen.insert((lower.clone(), value)) {
            continue;
        }
        if !is_kept(request, &lower) || value.len() > LONGEST || value.contains(char::is_control) {
            continue;
        }
        if let Some((_, known)) = kept.iter_mut().find(|(own, _)| own.eq_ignore_ascii_case(name)) {
            // Source: RFC 9110, section 5.3.
            if !has_name(value) && known.len() + value.len() < LONGEST {
                *known = format!("{known}, {value}");
            }
            continue;
        }
        let value = match lower.as_str() {
            "origin" => target.to_owned(),
            "referer" => referer(value, request, target),
            _ => match replaced(&lower, value, &mut replace) {
                Some(value) => value,
                None if has_name(value) => {
                    credentials.braces += 1;
                    continue;
                }
                None => {
                    credentials.authorizations += u64::from(lower == "authorization");
                    value.to_owned()
                }
            },
        };
        kept.push((name.clone(), value));
    }
    kept
}

fn is_kept(request: &Recorded, lower: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if lower.is_empty() || !lower.bytes().all(token) || LEFT.contains(&lower) {
        return false;
    }
    match lower {
        // Servers check them against forged requests, which are not safe ones.
        "origin" | "referer" => !request.method.is_safe(),
        _ => !lower.starts_with("sec-") && !lower.starts_with("proxy-"),
    }
}

/// The value with a parameter in it: as a whole, or behind the scheme of an Authorization.
fn replaced(
    name: &str,
    value: &str,
    replace: &mut impl FnMut(&str, &str) -> Option<String>,
) -> Option<String> {
    if name.starts_with("accept") {
        return None;
    }
    if let Some(parameter) = replace(name, value) {
        return Some(format!("{{{parameter}}}"));
    }
    let (scheme, token) = value.split_once(' ')?;
    let parameter = replace(name, token)?;
    (!has_name(scheme)).then(|| format!("{scheme} {{{parameter}}}"))
}

/// The address of the page on the target, if it was on the recorded origin.
fn referer(value: &str, request: &Recorded, target: &str) -> String {
    let rest = value.strip_prefix(&request.origin()).filter(|rest| rest.starts_with('/'));
    let rest = rest.unwrap_or("/");
    format!("{target}{}", rest.replace('{', "%7B").replace('}', "%7D"))
}
