//! The URLs of a style sheet.
//!
//! Source: CSS Syntax Level 3, section 4 (tokens); CSS Values Level 4, section 4.5 (`url()`), CSS
//! Cascade Level 4, section 2 (`@import`), CSS Images Level 4, section 2.4 (`image-set()`).

use std::ops::Range;

/// A URL of a style sheet.
#[derive(Debug, PartialEq, Eq)]
pub struct Url {
    /// What is replaced: the string with its quotes, or what stands between the parentheses.
    pub place: Range<usize>,
    /// The URL without escapes.
    pub value: String,
}

/// The URLs of `url()`, of `@import` and of `image-set()`.
pub fn urls(css: &str) -> Vec<Url> {
    let mut reader = Reader { css: css.as_bytes(), text: css, at: 0 };
    let mut urls = Vec::new();
    // The functions that are open: whether strings in them are URLs.
    let mut open: Vec<bool> = Vec::new();
    let mut imports = false;
    while let Some(byte) = reader.peek() {
        match byte {
            b'/' if reader.css[reader.at..].starts_with(b"/*") => {
                let rest = &reader.css[reader.at + 2..];
                let length = memchr::memmem::find(rest, b"*/").map_or(rest.len(), |it| it + 2);
                reader.at += 2 + length;
            }
            b'"' | b'\'' => {
                let url = reader.string();
                if imports || open.last() == Some(&true) {
                    urls.push(url);
                }
                imports = false;
            }
            b'(' => {
                reader.at += 1;
                push(&mut open, false);
            }
            b')' => {
                reader.at += 1;
                open.pop();
            }
            b'{' | b'}' | b';' => {
                reader.at += 1;
                open.clear();
                imports = false;
            }
            b'@' => {
                reader.at += 1;
                imports = reader.name().eq_ignore_ascii_case("import");
            }
            byte if is_name(byte) => {
                let name = reader.name().to_ascii_lowercase();
                if reader.peek() != Some(b'(') {
                    continue;
                }
                reader.at += 1;
                match name.as_str() {
                    "url" => {
                        urls.extend(reader.url());
                        imports = false;
                    }
                    name => push(&mut open, name.ends_with("image-set")),
                }
            }
            _ => reader.at += 1,
        }
    }
    urls
}

/// Deeper functions than anybody writes are not looked at.
fn push(open: &mut Vec<bool>, strings_are_urls: bool) {
    if open.len() < 256 {
        open.push(strings_are_urls);
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'-' | b'_' | b'\\')
}

struct Reader<'c> {
    css: &'c [u8],
    text: &'c str,
    at: usize,
}

impl<'c> Reader<'c> {
    fn peek(&self) -> Option<u8> {
        self.css.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn name(&mut self) -> &'c str {
        let start = self.at;
        while let Some(byte) = self.peek().filter(|byte| is_name(*byte)) {
            self.at += 1;
            if byte == b'\\' {
                self.step();
            }
        }
        &self.text[start..self.at]
    }

    /// Steps over a character.
    fn step(&mut self) {
        self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
    }

    /// A string, from its quote.
    fn string(&mut self) -> Url {
        let start = self.at;
        let quote = self.css[start];
        self.at += 1;
        let mut end = self.css.len();
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => {
                    self.at += 1;
                    self.step();
                    continue;
                }
                // A string that does not end ends with its line.
                b'\n' => {
                    end = self.at;
                    break;
                }
                byte if byte == quote => {
                    end = self.at;
                    self.at += 1;
                    break;
                }
                _ => self.at += 1,
            }
        }
        Url { place: start..self.at.max(end), value: unescaped(&self.text[start + 1..end]) }
    }

    /// The content of `url(`; nothing if it does not end.
    fn url(&mut self) -> Option<Url> {
        self.skip_space();
        if matches!(self.peek(), Some(b'"' | b'\'')) {
            let url = self.string();
            self.skip_space();
            // Its parenthesis; modifiers may stand before it.
            let rest = &self.css[self.at..];
            let close = rest.iter().position(|byte| matches!(byte, b')' | b';' | b'}'))?;
            self.at += close + usize::from(rest[close] == b')');
            return Some(url);
        }
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => {
                    self.at += 1;
                    self.step();
                }
                b')' => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    let length = text.trim_ascii_end().len();
                    return Some(Url {
                        place: start..start + length,
                        value: unescaped(&text[..length]),
                    });
                }
                _ => self.at += 1,
            }
        }
        None
    }
}

/// A text without its escapes.
fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let digits = after.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        rest = match u32::from_str_radix(&after[..digits], 16) {
            Ok(code) => {
                plain.push(char::from_u32(code).filter(|it| *it != '\0').unwrap_or('\u{fffd}'));
                let after = &after[digits..];
                after.strip_prefix("\r\n").unwrap_or_else(|| {
                    after.strip_prefix([' ', '\t', '\n', '\r', '\x0c']).unwrap_or(after)
                })
            }
            // A line that goes on, or a letter as it is.
            Err(_) => {
                let mut letters = after.chars();
                plain.extend(letters.next().filter(|it| *it != '\n'));
                letters.as_str()
            }
        };
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(css: &str) -> Vec<(&str, String)> {
        urls(css).into_iter().map(|url| (&css[url.place], url.value)).collect()
    }

    fn pairs(expected: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        expected.iter().map(|(place, value)| (*place, (*value).to_owned())).collect()
    }

    #[test]
    fn urls_stand_in_functions_imports_and_image_sets() {
        assert_eq!(
            of(
                "@import 'a.css' screen; @IMPORT url( b.css ) ; a { content: 'no'; background: URL(\"c d.png\"), url(e.png) }"
            ),
            pairs(&[
                ("'a.css'", "a.css"),
                ("b.css", "b.css"),
                ("\"c d.png\"", "c d.png"),
                ("e.png", "e.png")
            ])
        );
        assert_eq!(
            of("a { background: -webkit-image-set('f.png' 1x, \"g.png\" type('image/png') 2x) }"),
            pairs(&[("'f.png'", "f.png"), ("\"g.png\"", "g.png")])
        );
    }

    #[test]
    fn comments_strings_and_other_names_hold_no_urls() {
        assert_eq!(
            of("/* url(a) */ a::after { content: 'url(b)' } my-url(c) @import-x 'd'; e { f: 'g'"),
            []
        );
        assert_eq!(of("url(a"), []);
        assert_eq!(of("@import 'a"), pairs(&[("'a", "a")]));
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(of(r"url(a\29 b\(c.png)"), pairs(&[(r"a\29 b\(c.png", "a)b(c.png")]));
        assert_eq!(
            of(r"@import 'a\'b\
c';"),
            pairs(&[("'a\\'b\\\nc'", "a'bc")])
        );
    }
}
