//! How the gate reads the path of a request: for routes, and for files below a directory.
//!
//! Servers read unusual paths differently, and the gate passes a path on as it came. So a route
//! reads a path as most servers do, and a directory answers for plain paths only.

use percent_encoding::percent_decode;
use std::borrow::Cow;
use std::fmt;

/// Longest segment of a path that can be a file's name beside the longest ending that the gate
/// adds, `.html.br`: 255 bytes is the limit of Linux's file systems.
const SEGMENT: usize = 255 - ".html.br".len();
/// Longest path that can be a file's, in bytes: with the directory it is below `PATH_MAX`.
const LONGEST: usize = 2048;

/// The beginning of paths: whole segments, decoded. The path `/` begins all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathPrefix(String);

impl PathPrefix {
    /// Reads a prefix as an operator writes it: decoded, with a `/` in front; one at the end
    /// means nothing. `None` where it is not of this form.
    pub fn new(text: &str) -> Option<Self> {
        let strange = |byte: u8| byte.is_ascii_control() || b"?#%\\".contains(&byte);
        let plain = |segment: &str| !matches!(segment, "" | "." | "..");
        let prefix = text.strip_suffix('/').unwrap_or(text);
        let fits = prefix.is_empty() || prefix.strip_prefix('/')?.split('/').all(plain);
        let fits = fits && !text.is_empty() && text.len() <= LONGEST;
        (fits && !text.bytes().any(strange)).then(|| Self(prefix.to_owned()))
    }

    /// Its length in bytes: of two prefixes of a path the longer one is nearer to it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a path, as [`for_routes`] reads it, begins with it.
    pub fn begins(&self, path: &[u8]) -> bool {
        let rest = path.strip_prefix(self.0.as_bytes());
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
    }
}

impl fmt::Display for PathPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "/" } else { &self.0 })
    }
}

/// The path of a request's target as routes read it: percent-encoding decoded once, several `/`
/// as one, and the segments `.` and `..` resolved, also where they are encoded. An encoded `/`
/// is not a separator and stays encoded. What is not a valid encoding stays as it is.
///
/// Source: RFC 3986, sections 2.4 and 5.2.4; RFC 9110, section 4.2.3.
pub fn for_routes(path: &str) -> Cow<'_, [u8]> {
    let bytes = path.as_bytes();
    let pair = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    if !bytes.contains(&b'%') && !bytes.windows(2).any(pair) {
        return Cow::Borrowed(bytes);
    }
    let mut segments: Vec<Cow<'_, [u8]>> = Vec::new();
    for segment in path.split('/') {
        let decoded = Cow::from(percent_decode(segment.as_bytes()));
        match &*decoded {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            _ => segments.push(decoded),
        }
    }
    let mut read = Vec::with_capacity(bytes.len());
    for segment in segments {
        read.push(b'/');
        for byte in segment.iter() {
            match byte {
                b'/' => read.extend_from_slice(b"%2F"),
                byte => read.push(*byte),
            }
        }
    }
    if path.ends_with('/') || read.is_empty() {
        read.push(b'/');
    }
    Cow::Owned(read)
}

/// The name of a file below a directory that the path of a request's target means, without `/`
/// in front: a whole file's name, or one of a folder, which ends with `/` or is empty. `None`
/// where a server might read another path in it, where it is too long, and where a segment is
/// hidden: it begins with `.` (but for `.well-known`, RFC 8615), or is `@NAME=VALUE`, as folders
/// of variants are.
pub fn below_a_directory(path: &str) -> Option<Cow<'_, [u8]>> {
    let path = path.strip_prefix('/')?;
    if path.len() > LONGEST || !has_sound_escapes(path.as_bytes()) {
        return None;
    }
    let name: Cow<'_, [u8]> = if path.contains('%') {
        // Decoded segment by segment: an encoded `/` must not become a separator.
        let mut name = Vec::with_capacity(path.len());
        for (at, segment) in path.split('/').enumerate() {
            if at > 0 {
                name.push(b'/');
            }
            let decoded = Cow::from(percent_decode(segment.as_bytes()));
            if decoded.contains(&b'/') {
                return None;
            }
            name.extend_from_slice(&decoded);
        }
        name.into()
    } else {
        path.as_bytes().into()
    };
    let mut segments = name.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        if !(is_plain(segment) || (segment.is_empty() && last)) {
            return None;
        }
    }
    Some(name)
}

/// Whether each `%` begins an encoded byte.
fn has_sound_escapes(path: &[u8]) -> bool {
    let mut rest = path;
    while let Some(at) = memchr::memchr(b'%', rest) {
        match rest.get(at + 1..at + 3) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => rest = &rest[at + 3..],
            _ => return false,
        }
    }
    true
}

/// Whether a decoded segment names a file or folder that may be shown.
fn is_plain(segment: &[u8]) -> bool {
    let hidden = match segment {
        [b'.', ..] => segment != b".well-known",
        [b'@', ..] => segment.contains(&b'='),
        _ => false,
    };
    let strange = |byte: &u8| byte.is_ascii_control() || *byte == b'\\';
    !segment.is_empty() && segment.len() <= SEGMENT && !hidden && !segment.iter().any(strange)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str) -> PathPrefix {
        PathPrefix::new(text).unwrap()
    }

    #[test]
    fn a_prefix_begins_paths_by_whole_segments() {
        for (text, path, begins) in [
            ("/products/", "/products/1", true),
            ("/products", "/products/1", true),
            ("/products/", "/products", true),
            ("/products", "/products/", true),
            ("/products", "/productsx", false),
            ("/products", "/product", false),
            ("/", "/", true),
            ("/", "/anything", true),
            ("/", "*", false),
            ("/a/b", "/a/b/c", true),
            ("/a/b", "/a/bc", false),
        ] {
            assert_eq!(prefix(text).begins(path.as_bytes()), begins, "{text} {path}");
        }
        assert_eq!((prefix("/").to_string(), prefix("/a/").to_string()), ("/".into(), "/a".into()));
    }

    #[test]
    fn a_prefix_is_written_decoded_and_without_dot_segments() {
        for text in ["", "a", "a/", "//", "/a//b", "/./", "/a/..", "/a%20b", "/a?b", "/a#b", "/\\"]
        {
            assert_eq!(PathPrefix::new(text), None, "{text}");
        }
        assert!(PathPrefix::new("/caf\u{e9} au lait/").is_some());
    }

    #[test]
    fn routes_read_a_path_as_most_servers_do() {
        for (path, read) in [
            ("/a/b", "/a/b"),
            ("/a/b/", "/a/b/"),
            ("/a//b///c", "/a/b/c"),
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("/a/%2e%2E/b", "/b"),
            ("/../../b", "/b"),
            ("/a/..", "/"),
            ("/%61/b%20c", "/a/b c"),
            ("/a%2fb", "/a%2Fb"),
            ("/a%252fb", "/a%2fb"),
            ("/a%zz%", "/a%zz%"),
            ("//", "/"),
            ("*", "*"),
            ("/.hidden/x", "/.hidden/x"),
        ] {
            assert_eq!(String::from_utf8_lossy(&for_routes(path)), read, "{path}");
        }
    }

    #[test]
    fn a_directory_answers_for_plain_paths_only() {
        for (path, name) in [
            ("/", ""),
            ("/a", "a"),
            ("/a/b/", "a/b/"),
            ("/caf%C3%A9/x%20y", "caf\u{e9}/x y"),
            ("/.well-known/security.txt", ".well-known/security.txt"),
            ("/@alice", "@alice"),
            ("/a..b/...c", ""),
        ] {
            let expected = if name.is_empty() && path != "/" { None } else { Some(name) };
            let read = below_a_directory(path).map(|name| String::from_utf8(name.into()).unwrap());
            assert_eq!(read.as_deref(), expected, "{path}");
        }
        let long = format!("/{}", "a".repeat(248));
        let longer = format!("/{}", "a/".repeat(1100));
        for path in [
            "",
            "*",
            "a",
            "//",
            "//a",
            "/a//b",
            "/.",
            "/..",
            "/a/../b",
            "/a/./b",
            "/%2e%2e/b",
            "/a%2fb",
            "/a%2Fb",
            "/a%5cb",
            "/a\\b",
            "/a%00",
            "/a%0d%0a",
            "/a%7f",
            "/a%",
            "/a%4",
            "/a%zz",
            "/.git/config",
            "/%2egit/config",
            "/a/.htaccess",
            "/@zone=2/a",
            "/%40zone=2/a",
            "/@zone%3D2/a",
            "/a/@zone=2",
            &long,
            &longer,
        ] {
            assert_eq!(below_a_directory(path), None, "{path}");
        }
    }

    proptest! {
        /// Whatever is asked for, the name has no segment that leads up, is hidden or is empty
        /// in the middle, and no byte that ends a name.
        #[test]
        fn no_path_names_a_file_outside_the_directory(
            path in "(/|%2[fF]|%5c|%2[eE]|\\.|@|=|%|%00|[a-c]|%61|\\\\|\\PC){0,24}"
        ) {
            if let Some(name) = below_a_directory(&path) {
                prop_assert!(!name.starts_with(b"/") && !name.contains(&0));
                let segments: Vec<_> = name.split(|byte| *byte == b'/').collect();
                for (at, segment) in segments.iter().enumerate() {
                    let last = at + 1 == segments.len();
                    prop_assert!(is_plain(segment) || (last && segment.is_empty()), "{:?}", name);
                }
            }
        }

        /// A path that a route has read reads the same again, where nothing is left to decode.
        #[test]
        fn a_path_that_was_read_has_no_dot_segments(
            path in "/(/|%2[fF]|%2[eE]|\\.|[a-c]|%61|\\PC){0,24}"
        ) {
            let read = for_routes(&path);
            let dots = |segment: &[u8]| segment == b"." || segment == b"..";
            prop_assert!(!read.split(|byte| *byte == b'/').any(dots), "{:?}", read);
            prop_assert!(read.starts_with(b"/"));
        }
    }
}
