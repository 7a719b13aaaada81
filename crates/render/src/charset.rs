//! Which charset a page is in, and its text.
//!
//! Source: HTML Standard, section 13.2.3, "The input byte stream".

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::html::charset_of;

/// As far as browsers look for the name of the charset, in bytes.
const PRESCAN: usize = 1024;

/// The text of a page, and its charset: by its byte order mark, else as its content type says,
/// else as it says itself, else UTF-8 if it is valid, else windows-1252. Bytes that are none of
/// the charset's become U+FFFD, as in browsers.
pub fn decode(bytes: &[u8], content_type: &str) -> (String, &'static Encoding) {
    let encoding = Encoding::for_bom(bytes)
        .map(|(encoding, _)| encoding)
        .or_else(|| Encoding::for_label(charset_of(content_type)?.as_bytes()))
        .or_else(|| declared(&bytes[..bytes.len().min(PRESCAN)]))
        .unwrap_or_else(|| match std::str::from_utf8(bytes) {
            Ok(_) => UTF_8,
            Err(_) => WINDOWS_1252,
        });
    let (text, encoding, _) = encoding.decode(bytes);
    // Forms are never sent as UTF-16.
    (text.into_owned(), encoding.output_encoding())
}

/// The charset that a page names in its head.
fn declared(start: &[u8]) -> Option<&'static Encoding> {
    let text = String::from_utf8_lossy(start);
    let metas = text.to_ascii_lowercase();
    let mut at = 0;
    while let Some(found) = metas[at..].find("<meta") {
        at += found + 5;
        let tag = &metas[at..at + metas[at..].find('>').unwrap_or(metas.len() - at)];
        let tag = tag.replace(" =", "=").replace("= ", "=");
        if let Some(encoding) = charset_of(&tag).and_then(|it| Encoding::for_label(it.as_bytes())) {
            // A page that could be read so far is not UTF-16.
            return Some(if [UTF_16LE, UTF_16BE].contains(&encoding) { UTF_8 } else { encoding });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_before_the_content_type_and_that_before_the_page() {
        let of = |bytes: &[u8], kind: &str| {
            let (text, encoding) = decode(bytes, kind);
            (text, encoding.name())
        };
        let meta = b"<meta http-equiv=content-type content='text/html; charset=koi8-r'>\xc1";
        assert_eq!(of(b"\xef\xbb\xbfa", "text/html; charset=koi8-r"), ("a".into(), "UTF-8"));
        assert_eq!(of(b"\xe4", "text/html; Charset=\"iso-8859-1\""), ("ä".into(), "windows-1252"));
        assert_eq!(of(meta, "text/html").1, "KOI8-R");
        assert!(of(meta, "text/html").0.ends_with('а'), "a Cyrillic letter");
        assert_eq!(of(b"\xff\xfea\0", "text/html"), ("a".into(), "UTF-8"));
        assert_eq!(of("ä".as_bytes(), "text/html"), ("ä".into(), "UTF-8"));
        assert_eq!(of(b"\xe4", "text/html"), ("ä".into(), "windows-1252"));
        assert_eq!(of(b"<meta charset = utf-16>", "text/html").1, "UTF-8");
    }
}
