//! Content types, and the extensions by which servers know them again.

/// What is done with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A page: its links are rewritten.
    Page,
    /// A style sheet: its URLs are rewritten.
    Style,
    /// Anything else: it stays as it is.
    File,
}

/// Types and their extensions, of which the first is given to files that have none of them.
const EXTENSIONS: &[(&str, &[&str])] = &[
    ("text/html", &["html", "htm"]),
    ("text/css", &["css"]),
    ("text/javascript", &["js", "mjs"]),
    ("application/javascript", &["js", "mjs"]),
    ("application/x-javascript", &["js", "mjs"]),
    ("application/json", &["json", "map"]),
    ("application/ld+json", &["jsonld"]),
    ("application/manifest+json", &["webmanifest", "json"]),
    ("application/xml", &["xml"]),
    ("text/xml", &["xml"]),
    ("application/rss+xml", &["rss", "xml"]),
    ("application/atom+xml", &["atom", "xml"]),
    ("application/xhtml+xml", &["xhtml", "xht"]),
    ("application/wasm", &["wasm"]),
    ("application/pdf", &["pdf"]),
    ("application/zip", &["zip"]),
    ("application/gzip", &["tgz"]),
    ("text/plain", &["txt", "text", "md", "log", "ini", "conf"]),
    ("text/markdown", &["md"]),
    ("text/csv", &["csv"]),
    ("text/calendar", &["ics"]),
    ("text/vtt", &["vtt"]),
    ("image/png", &["png"]),
    ("image/jpeg", &["jpg", "jpeg", "jpe"]),
    ("image/gif", &["gif"]),
    ("image/webp", &["webp"]),
    ("image/avif", &["avif"]),
    ("image/svg+xml", &["svg"]),
    ("image/bmp", &["bmp"]),
    ("image/x-icon", &["ico"]),
    ("image/vnd.microsoft.icon", &["ico"]),
    ("font/woff", &["woff"]),
    ("font/woff2", &["woff2"]),
    ("font/ttf", &["ttf"]),
    ("font/otf", &["otf"]),
    ("application/font-woff", &["woff"]),
    ("video/mp4", &["mp4", "m4v"]),
    ("video/webm", &["webm"]),
    ("audio/mpeg", &["mp3"]),
    ("audio/ogg", &["ogg", "oga"]),
    ("audio/wav", &["wav"]),
];

/// A content type without its parameters, in lower case.
pub fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// What is done with an answer of this type.
pub fn kind(content_type: &str) -> Kind {
    match essence(content_type).as_str() {
        "text/html" => Kind::Page,
        "text/css" => Kind::Style,
        _ => Kind::File,
    }
}

/// Whether a compressed variant is of use.
pub fn compresses(file: &str) -> bool {
    const TEXT: [&str; 17] = [
        "html",
        "htm",
        "css",
        "js",
        "mjs",
        "json",
        "map",
        "jsonld",
        "webmanifest",
        "xml",
        "rss",
        "atom",
        "txt",
        "csv",
        "svg",
        "ics",
        "vtt",
    ];
    const BINARY: [&str; 5] = ["wasm", "ttf", "otf", "ico", "bmp"];
    let extension = split(file).1.to_ascii_lowercase();
    TEXT.contains(&extension.as_str()) || BINARY.contains(&extension.as_str())
}

/// The extension to add to a file's name, so that servers know its type; none if its own says it.
pub fn extension_to_add(name: &str, content_type: &str) -> Option<&'static str> {
    let own = split(name).1.to_ascii_lowercase();
    let essence = essence(content_type);
    // Taken for a compressed variant of another file.
    if ["br", "gz", "zst"].contains(&own.as_str()) {
        return Some("bin");
    }
    match EXTENSIONS.iter().find(|(known, _)| *known == essence) {
        Some((_, extensions)) if extensions.contains(&own.as_str()) => None,
        Some((_, extensions)) => Some(extensions[0]),
        // An extension that says another type.
        None => EXTENSIONS.iter().any(|(_, it)| it.contains(&own.as_str())).then_some("bin"),
    }
}

/// A name before and after its last dot; without an extension the second is empty.
pub fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !extension.contains('/') => {
            (stem, extension)
        }
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_says_the_type_or_is_added() {
        for (name, content_type, added) in [
            ("a", "text/html; charset=utf-8", Some("html")),
            ("a.HTM", "text/html", None),
            ("a.php", "Text/HTML", Some("html")),
            ("a.html", "text/plain", Some("txt")),
            ("a.html", "application/octet-stream", Some("bin")),
            ("a.foo", "application/x-foo", None),
            ("a", "application/octet-stream", None),
            ("a.txt.gz", "application/gzip", Some("bin")),
        ] {
            assert_eq!(extension_to_add(name, content_type), added, "{name} {content_type}");
        }
    }
}
