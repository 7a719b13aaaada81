//! Goes through HTML from tag to tag. Linear, without a tree.

use std::borrow::Cow;

/// Goes from tag to tag.
pub(crate) struct Scanner<'h> {
    html: &'h [u8],
    at: usize,
    /// Where the last tag begins.
    begins: usize,
}

impl<'h> Scanner<'h> {
    pub(crate) fn new(html: &'h [u8]) -> Self {
        Self { html, at: 0, begins: 0 }
    }

    pub(crate) fn next(&mut self) -> Option<Tag<'h>> {
        loop {
            let rest = &self.html[self.at..];
            let open = memchr::memchr(b'<', rest)?;
            let rest = &rest[open + 1..];
            let start = self.at + open + 1;
            if rest.starts_with(b"!--") {
                let end = memchr::memmem::find(&rest[3..], b"-->")?;
                self.at = start + 3 + end + 3;
                continue;
            }
            if !rest.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'/') {
                self.at = start;
                continue;
            }
            let end = end_of_tag(rest)?;
            let tag = Tag::new(&rest[..end]);
            self.at = start + end + 1;
            self.begins = start - 1;
            for raw in ["script", "style"] {
                if tag.is(raw) {
                    self.skip_raw(raw);
                }
            }
            return Some(tag);
        }
    }

    /// Skips to the end tag of an element whose content is no HTML.
    fn skip_raw(&mut self, name: &str) {
        let rest = &self.html[self.at..];
        let end = memchr::memmem::find_iter(rest, b"</").find(|start| {
            let tail = rest.get(start + 2..start + 2 + name.len());
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(name.as_bytes()))
        });
        self.at += end.unwrap_or(rest.len());
    }

    /// Where the last tag begins, and where what follows it does.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.begins, self.at)
    }

    /// The text up to the next tag, trimmed, entities resolved.
    pub(crate) fn text(&self) -> Cow<'h, str> {
        let rest = &self.html[self.at..];
        let end = memchr::memchr(b'<', rest).unwrap_or(rest.len());
        decode(rest[..end].trim_ascii())
    }
}

/// Offset of the `>` that ends a tag, past quoted values. A quote counts only
/// after `=`: elsewhere it is a letter, as in `title=don't`.
fn end_of_tag(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr3(b'>', b'"', b'\'', &rest[at..])?;
        let before = rest[at.saturating_sub(8)..at].trim_ascii_end();
        at += match rest[at] {
            b'>' => return Some(at),
            quote if before.ends_with(b"=") => 2 + memchr::memchr(quote, &rest[at + 1..])?,
            _ => 1,
        };
    }
}

/// What stands between `<` and `>`.
pub(crate) struct Tag<'h> {
    name: &'h [u8],
    attributes: &'h [u8],
}

impl<'h> Tag<'h> {
    fn new(inner: &'h [u8]) -> Self {
        let end = inner.iter().position(u8::is_ascii_whitespace).unwrap_or(inner.len());
        let (name, attributes) = inner.split_at(end);
        let name = match name {
            [name @ .., b'/'] if !name.is_empty() => name,
            name => name,
        };
        Self { name, attributes }
    }

    /// The name as it stands; that of an end tag begins with `/`.
    pub(crate) fn name(&self) -> &'h [u8] {
        self.name
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// The value of an attribute, entities resolved; empty if it has none.
    pub(crate) fn attribute(&self, wanted: &str) -> Option<Cow<'h, str>> {
        let mut rest = self.attributes;
        loop {
            let skip = |b: &u8| !b.is_ascii_whitespace() && *b != b'/';
            rest = &rest[rest.iter().position(skip)?..];
            let end = rest.iter().position(|b| b.is_ascii_whitespace() || *b == b'=');
            let (name, tail) = rest.split_at(end.unwrap_or(rest.len()));
            let tail = tail.trim_ascii_start();
            let value: &'h [u8];
            if let [b'=', tail @ ..] = tail {
                let tail = tail.trim_ascii_start();
                match tail {
                    [quote @ (b'"' | b'\''), tail @ ..] => {
                        let end = memchr::memchr(*quote, tail)?;
                        value = &tail[..end];
                        rest = &tail[end + 1..];
                    }
                    _ => {
                        let end = tail.iter().position(u8::is_ascii_whitespace);
                        (value, rest) = tail.split_at(end.unwrap_or(tail.len()));
                    }
                }
                if name.is_empty() {
                    // A lone "=": step over it.
                    continue;
                }
            } else {
                value = b"";
                rest = tail;
            }
            if name.eq_ignore_ascii_case(wanted.as_bytes()) {
                return Some(decode(value));
            }
        }
    }
}

/// The text of a piece of HTML: without tags, comments, scripts and styles,
/// entities resolved, white space as a browser shows it.
pub(crate) fn text_of(html: &[u8]) -> String {
    let mut scanner = Scanner::new(html);
    let mut text = String::new();
    let mut from = 0;
    loop {
        let tag = scanner.next();
        let (ends, next) = if tag.is_some() { scanner.place() } else { (html.len(), 0) };
        let mut piece = html.get(from..ends).unwrap_or_default();
        while let Some(begins) = memchr::memmem::find(piece, b"<!--") {
            text.push_str(&decode(&piece[..begins]));
            let end = memchr::memmem::find(&piece[begins..], b"-->");
            piece = end.map_or(&[][..], |end| &piece[begins + end + 3..]);
        }
        text.push_str(&decode(piece));
        let Some(tag) = tag else { break };
        // Words of neighbouring elements do not run into each other.
        if !INLINE.iter().any(|name| tag.is(name.trim_start_matches('/')) || tag.is(name)) {
            text.push(' ');
        }
        from = next;
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Elements that may stand within a word, by their end tags.
const INLINE: [&str; 12] = [
    "/a", "/abbr", "/b", "/code", "/em", "/font", "/i", "/mark", "/small", "/span", "/strong", "/u",
];

/// Text with the entities resolved that occur in addresses and values; bytes
/// that are no UTF-8 are replaced.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if memchr::memchr(b'&', bytes).is_none() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(10).position(|b| b == b';');
        let resolved = end.and_then(|end| Some((entity(&rest[1..end])?, end + 1)));
        let (c, length) = resolved.unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}
