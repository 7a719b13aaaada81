//! Writes a scenario as TOML.

use std::fmt::Write as _;

use super::issued::Extraction;
use super::script::{BodyText, FieldText, Script, ScriptPage};
use crate::scenario::page::Method;

/// What the file says about itself.
pub(super) struct Heading<'a> {
    /// The recording, as the user named it.
    pub(super) recording: &'a str,
    /// Name of the scenario.
    pub(super) name: &'a str,
    /// The origin that was recorded.
    pub(super) origin: &'a str,
    /// The origin that customers will request.
    pub(super) target: &'a str,
    pub(super) http2: bool,
    /// The browser accepted compressed responses.
    pub(super) compressed: bool,
}

/// The text of the file.
pub(super) fn scenario(script: &Script, heading: &Heading<'_>) -> String {
    let mut out = String::new();
    let recording: String = heading.recording.chars().filter(|c| !c.is_control()).collect();
    let Heading { origin, target, .. } = heading;
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "# A session on {origin}, made from {recording} by `tidegate load import`.\n\
         # What was typed into forms, passwords included, is here as it was recorded.\n\
         # Run it with --target {target}\n\n\
         name = {}\ndescription = {}\n\n",
        quoted(heading.name),
        quoted(&format!("A session on {origin} that was recorded in a browser.")),
    );
    out.push_str("[session]\nsteps = [\n");
    for (number, (page, think)) in script.steps.iter().enumerate() {
        let name = quoted(&script.pages[*page].0);
        let _ = match number {
            0 => writeln!(out, "    {name},"),
            _ => writeln!(out, "    {{ page = {name}, think = \"{}\" }},", duration(*think)),
        };
    }
    out.push_str(
        "]\n\n[arrivals]\nrate = 1             # customers per second; --rate and --closed replace it\n",
    );
    if heading.http2 || heading.compressed {
        out.push_str("\n[connections]\n");
    }
    if heading.compressed {
        out.push_str("accept_encoding = true\n");
    }
    if heading.http2 {
        out.push_str("http = \"2\"           # as recorded; --http 1.1 replaces it\n");
    }
    for (name, page) in &script.pages {
        let _ = write!(out, "\n[pages.{}]\n", quoted(name));
        write_page(page, &mut out);
    }
    out
}

fn write_page(page: &ScriptPage, out: &mut String) {
    let default = if page.body.is_some() { Method::Post } else { Method::Get };
    if page.method != default {
        let _ = writeln!(out, "method = {}", quoted(page.method.as_str()));
    }
    let _ = writeln!(out, "path = {}", quoted(&page.path));
    if let Some((content_type, content)) = &page.body {
        let _ = match content {
            BodyText::Text(text) => writeln!(out, "body = {}", quoted(text)),
            BodyText::Base64(text) => writeln!(out, "body_base64 = {}", quoted(text)),
        };
        let _ = writeln!(out, "content_type = {}", quoted(content_type));
    }
    if let Some(status) = page.allow {
        let _ = writeln!(out, "allow = [{status}]          # as recorded");
    }
    if let Some(status) = page.redirect {
        let _ = writeln!(out, "check = {{ status = [{status}] }} # it redirects to another origin");
    }
    if !page.assets.is_empty() {
        let assets: Vec<String> =
            page.assets.iter().map(|path| format!("    {},\n", quoted(path))).collect();
        let _ = writeln!(out, "assets = [\n{}]", assets.concat());
    }
    table(out, "fields", &page.fields, |value| match value {
        FieldText::Text(text) => quoted(text),
        FieldText::Literal(text) => format!("{{ one_of = [{}] }}", quoted(text)),
    });
    table(out, "headers", &page.headers, |value| quoted(value));
    table(out, "extract", &page.extract, |extraction| match extraction {
        Extraction::Css { selector, attribute } => {
            format!("{{ css = {}, attribute = {} }}", quoted(selector), quoted(attribute))
        }
        Extraction::Json(pointer) => format!("{{ json = {} }}", quoted(pointer)),
    });
}

/// Names and values as an inline table; nothing if there are none.
fn table<V>(out: &mut String, key: &str, entries: &[(String, V)], show: impl Fn(&V) -> String) {
    if entries.is_empty() {
        return;
    }
    let entries: Vec<String> = entries
        .iter()
        .map(|(name, value)| {
            let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            let is_bare = !name.is_empty() && name.bytes().all(bare);
            let name = if is_bare { name.clone() } else { quoted(name) };
            format!("{name} = {}", show(value))
        })
        .collect();
    let _ = writeln!(out, "{key} = {{ {} }}", entries.join(", "));
}

/// A string of TOML in one line.
fn quoted(text: &str) -> String {
    let escaped = text.contains(['"', '\\']);
    if escaped && !text.contains('\'') && !text.contains(char::is_control) {
        return format!("'{text}'");
    }
    // Each escape of JSON is one of TOML, which requires one more.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A duration in ms, as `250ms` or `3.2s`.
fn duration(ms: f64) -> String {
    if ms < 1000.0 { format!("{}ms", ms.round()) } else { format!("{:.1}s", ms / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_string_of_toml() {
        for text in ["", "a", "it's \"x\"", "\\", "{\"a\": 1}", "\u{0}\u{7f}\r\n\t", "é\u{2028}"] {
            let line = format!("k = {}\n", quoted(text));
            let read = tidegate_config::read(&line, "x.toml", |root| {
                Some(root.get("k")?.string()?.to_owned())
            });
            assert_eq!(read.unwrap(), text, "{line}");
        }
    }

    #[test]
    fn think_times_are_durations_of_a_scenario() {
        let shown = [0.0, 12.4, 999.6, 3249.0, 86_400_000.0].map(duration);
        assert_eq!(shown, ["0ms", "12ms", "1000ms", "3.2s", "86400.0s"]);
        assert!(shown.iter().all(|text| tidegate_config::parse_duration(text).is_some()));
    }
}
