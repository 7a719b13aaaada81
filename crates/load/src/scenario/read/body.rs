//! Reads what a page sends: a body as text, in base64 or from a file, or the fields of a form.

use super::Refuse;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tidegate_config::{Section, Value};

use super::fields::{OCTETS, field_rules, media_type, text};
use super::files::Files;
use super::names::Names;
use super::pages::PAGE;
use crate::scenario::content::Content;
use crate::scenario::field::FieldRule;
use crate::scenario::page::{Body, BodySource, Method};

/// What a page sends.
pub(super) struct Sent {
    /// As stated, else by what is sent.
    pub(super) method: Option<Method>,
    pub(super) body: Option<Body>,
    pub(super) fields: Vec<(String, FieldRule)>,
    /// The fields are sent as `multipart/form-data`.
    pub(super) multipart: bool,
}

pub(super) fn sent(section: &Section<'_>, names: &Names, files: &Files) -> Sent {
    let has = |key: &str| section.get(key).is_some();
    let stated = method(section, has(PAGE.form.name));
    let body = body(section, stated, names, files);
    let given = section.given(&PAGE.fields);
    let fields = given.as_ref().and_then(|value| value.section());
    let fields: Vec<(String, FieldRule)> =
        fields.map(|section| field_rules(&section, names, files)).unwrap_or_default();
    if let Some(value) = given.filter(|_| has(PAGE.link.name)) {
        value.wrong("does not go with link", "write them into path, or into form");
    }
    let sends = has_body(section) || (has(PAGE.path.name) && !fields.is_empty());
    let method = stated.or(sends.then_some(Method::Post));
    let multipart = multipart(section, method, &fields);
    Sent { method, body, fields, multipart }
}

fn method(section: &Section<'_>, sends_form: bool) -> Option<Method> {
    let value = section.get(PAGE.method.name)?;
    let known: &[Method] = if sends_form { &[Method::Get, Method::Post] } else { &Method::ALL };
    let given = value.string()?;
    let found = known.iter().find(|method| method.as_str() == given).copied();
    if found.is_none() {
        let known: Vec<_> = known.iter().map(|method| method.as_str()).collect();
        let known = known.join(", ");
        value.wrong(format!("must be one of {known}"), "write \"GET\"");
    }
    found
}

/// The keys that give a body.
fn bodies() -> [&'static str; 3] {
    [PAGE.body.name, PAGE.body_base64.name, PAGE.body_file.name]
}

fn has_body(section: &Section<'_>) -> bool {
    bodies().iter().any(|key| section.get(key).is_some())
}

fn body(
    section: &Section<'_>,
    method: Option<Method>,
    names: &Names,
    files: &Files,
) -> Option<Body> {
    let mut given = bodies().into_iter().filter_map(|key| Some((key, section.get(key)?)));
    let Some((key, value)) = given.next() else {
        if let Some(value) = section.get(PAGE.content_type.name)
            && section.get(PAGE.send.name).is_none()
        {
            value.wrong("goes with a body", "add body = '{\"id\": 1}', or remove it");
        }
        return None;
    };
    if let Some((_, other)) = given.next() {
        other.wrong(format!("does not go with {key}"), "write one of them");
    }
    for other in [PAGE.form.name, PAGE.fields.name] {
        if section.get(other).is_some() {
            value.wrong(format!("does not go with {other}"), "write one of them");
        }
    }
    if method.is_some_and(Method::is_safe) {
        value.wrong("does not go with this method", "write method = \"POST\"");
    }
    let source = if key == PAGE.body.name {
        text(&value, names).map(BodySource::Text)
    } else if key == PAGE.body_file.name {
        files.content(&value).map(BodySource::Bytes)
    } else {
        decoded(&value).map(BodySource::Bytes)
    };
    let content_type = match section.get(PAGE.content_type.name) {
        Some(value) => media_type(&value),
        None if key == PAGE.body.name => Some("application/json".to_owned()),
        None => Some(OCTETS.to_owned()),
    };
    Some(Body { content_type: content_type?, source: source? })
}

fn decoded(value: &Value<'_>) -> Option<Content> {
    let text: String = value.string()?.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(text).map_err(|error| format!("is not base64: {error}"));
    value.accept(bytes.map(Content::from), "write what `base64 FILE` prints")
}

/// Whether the fields of a `path` are sent as `multipart/form-data`.
fn multipart(
    section: &Section<'_>,
    method: Option<Method>,
    fields: &[(String, FieldRule)],
) -> bool {
    let value = section.get(PAGE.multipart.name);
    let stated = value.as_ref().and_then(|_| section.given(&PAGE.multipart));
    let has_file = fields.iter().any(|(_, rule)| matches!(rule, FieldRule::File(_)));
    if section.get(PAGE.path.name).is_none() || fields.is_empty() {
        if let Some(value) = value {
            let remedy = "remove it: the page says how its form is sent";
            value.wrong("goes with the fields of a path", remedy);
        }
        return false;
    }
    let multipart = stated.unwrap_or(has_file);
    match value {
        Some(value) if has_file && !multipart => {
            value.wrong("does not go with a file", "remove it, or send no file");
        }
        _ if multipart && method.is_some_and(Method::is_safe) => {
            section.wrong("sends multipart/form-data with this method", "write method = \"POST\"");
        }
        _ => {}
    }
    multipart
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::scenario::{Method, Scenario};

    fn read(page: &str) -> Result<Scenario, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cat.png"), b"\x89PNG\0\xff").unwrap();
        let text = format!("[session]\nsteps = [\"A\"]\n[pages.A]\n{page}\n");
        Scenario::from_toml(&text, &folder.path().join("s.toml").to_string_lossy()).map_err(
            |found| {
                let lines = found.lines().into_iter();
                let name = |line: String| {
                    let prefix = format!("{}/", Path::new(folder.path()).display());
                    line.replace(&prefix, "")
                };
                lines.map(name).collect()
            },
        )
    }

    #[test]
    fn fields_of_a_path_are_posted_unless_the_method_says_otherwise() {
        let method = |page: &str| {
            let page = read(page).unwrap().pages()[0].clone();
            (page.method, page.repeat)
        };
        let fields = "path = \"/a\"\nfields = { a = \"1\" }";
        assert_eq!(method(fields), (Some(Method::Post), false));
        assert_eq!(method(&format!("{fields}\nmethod = \"PUT\"")), (Some(Method::Put), false));
        assert_eq!(method(&format!("{fields}\nmethod = \"GET\"")), (Some(Method::Get), true));
        assert_eq!(method("path = \"/a\"\nfields = {}"), (None, true));
        let form = "path = \"/\"\n[pages.B]\nform = \"/a\"\nfields = { a = \"1\" }";
        assert_eq!(read(form).unwrap().pages()[1].method, None, "as the page says");
    }

    #[test]
    fn every_mistake_about_what_is_sent_has_its_place_and_remedy() {
        for (page, expected) in [
            (
                "path = \"/a\"\nbody = \"1\"\nbody_file = \"cat.png\"",
                "body_file = \"cat.png\": does not go with body; write one of them",
            ),
            ("path = \"/a\"\nbody_base64 = \"%\"", "body_base64 = \"%\": is not base64: "),
            (
                "path = \"/a\"\nbody_file = \"dog.png\"",
                "dog.png cannot be read: No such file or directory (os error 2); the path is relative",
            ),
            (
                "path = \"/a\"\nbody_file = \"/dev/zero\"",
                "/dev/zero has more than 16 MiB; send a smaller file",
            ),
            (
                "path = \"/a\"\nmethod = \"GET\"\nbody_file = \"cat.png\"",
                "does not go with this method; write method = \"POST\"",
            ),
            ("link = \"/a\"\nfields = { a = \"1\" }", "does not go with link;"),
            (
                "path = \"/a\"\nmultipart = true",
                "multipart = true: goes with the fields of a path;",
            ),
            (
                "form = \"/a\"\nfields = { a = \"1\" }\nmultipart = true",
                "goes with the fields of a path; remove it: the page says",
            ),
            (
                "path = \"/a\"\nfields = { a = { file = \"cat.png\" } }\nmultipart = false",
                "does not go with a file;",
            ),
            (
                "path = \"/a\"\nfields = { a = { file = \"cat.png\" } }\nmethod = \"GET\"",
                "sends multipart/form-data with this method; write method = \"POST\"",
            ),
            (
                "path = \"/a\"\nfields = { a = { file = \"cat.png\", content_type = \"png\" } }",
                "is not a media type; write \"application/json\"",
            ),
            ("path = \"/a\"\nfields = { a = { name = \"cat.png\" } }", "goes with file;"),
        ] {
            let found = read(page).unwrap_err();
            assert!(found.iter().any(|line| line.contains(expected)), "{expected}\n{found:#?}");
        }
    }
}
