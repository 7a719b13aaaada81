//! Encodes the fields of a form as browsers do.

use std::fmt::Write as _;

use super::payload::Payload;
use crate::scenario::content::FilePart;

/// A field with its value.
pub(crate) struct Entry<'a> {
    pub(crate) name: String,
    /// Of a file input its file's name; empty without a file.
    pub(crate) value: String,
    pub(crate) file: Attached<'a>,
}

/// What a field attaches.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attached<'a> {
    /// It is no file input.
    Nothing,
    /// It has no file.
    Empty,
    File(&'a FilePart),
}

/// The media type of encoded fields.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// `application/x-www-form-urlencoded`.
pub(crate) fn url_encoded(entries: &[Entry<'_>]) -> String {
    let mut out = String::new();
    for Entry { name, value, .. } in entries.iter().filter(|entry| !entry.name.is_empty()) {
        if !out.is_empty() {
            out.push('&');
        }
        encode_part(name, "+", &mut out);
        out.push('=');
        encode_part(value, "+", &mut out);
    }
    out
}

/// `multipart/form-data` with its media type; `boundary` must occur in no value.
///
/// Source: RFC 7578, and the multipart/form-data encoding algorithm of the HTML standard, which
/// says how quotes and line breaks in names are escaped.
pub(crate) fn multipart(entries: &[Entry<'_>], boundary: &str) -> (String, Payload) {
    let mut payload = Payload::default();
    let mut text = String::new();
    for Entry { name, value, file } in entries.iter().filter(|entry| !entry.name.is_empty()) {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            escaped(name)
        );
        match file {
            Attached::Nothing => {
                let _ = write!(text, "\r\n\r\n{}", line_breaks(value));
            }
            Attached::Empty => {
                text.push_str("; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n");
            }
            Attached::File(file) => {
                let (name, kind) = (escaped(&file.name), &file.content_type);
                let _ = write!(text, "; filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n");
                payload.push(std::mem::take(&mut text));
                payload.push(file.content.bytes());
            }
        }
        text.push_str("\r\n");
    }
    let _ = write!(text, "--{boundary}--\r\n");
    payload.push(text);
    (format!("multipart/form-data; boundary={boundary}"), payload)
}

fn escaped(name: &str) -> String {
    line_breaks(name).replace("\r\n", "%0D%0A").replace('"', "%22")
}

/// Every line break becomes CR LF.
fn line_breaks(text: &str) -> String {
    if !text.contains(['\r', '\n']) {
        return text.to_owned();
    }
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n")
}

/// Escapes all that may mean something in a form, a path or a query; `space` is
/// what a space becomes there.
pub(crate) fn encode_part(text: &str, space: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => {
                out.push(byte as char);
            }
            b' ' => out.push_str(space),
            _ => {
                out.push('%');
                out.push(HEX[(byte >> 4) as usize] as char);
                out.push(HEX[(byte & 15) as usize] as char);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::content::Content;

    fn entry<'a>(name: &str, value: &str, file: Attached<'a>) -> Entry<'a> {
        Entry { name: name.to_owned(), value: value.to_owned(), file }
    }

    #[test]
    fn multipart_has_a_part_for_each_field_and_files_as_they_are() {
        let file = FilePart {
            name: "c\"at.png".to_owned(),
            content_type: "image/png".to_owned(),
            content: Content::from(b"\0\n\xff".to_vec()),
        };
        let entries = [
            entry("a\"b", "x\ny\rz", Attached::Nothing),
            entry("", "left out", Attached::Nothing),
            entry("photo", "c\"at.png", Attached::File(&file)),
            entry("none", "", Attached::Empty),
        ];
        let (kind, payload) = multipart(&entries, "XX");
        assert_eq!(kind, "multipart/form-data; boundary=XX");
        let mut bytes = Vec::new();
        payload.write(&mut bytes);
        let expected =
            b"--XX\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\nx\r\ny\r\nz\r\n\
            --XX\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"c%22at.png\"\r\n\
            Content-Type: image/png\r\n\r\n\0\n\xff\r\n\
            --XX\r\nContent-Disposition: form-data; name=\"none\"; filename=\"\"\r\n\
            Content-Type: application/octet-stream\r\n\r\n\r\n--XX--\r\n";
        assert_eq!(bytes.escape_ascii().to_string(), expected.escape_ascii().to_string());
        assert_eq!(payload.len(), bytes.len());
        assert_eq!(url_encoded(&entries), "a%22b=x%0Ay%0Dz&photo=c%22at.png&none=");
        assert_eq!(multipart(&[], "B").1.text(), "--B--\r\n");
    }
}
