//! Where the attributes of a start tag stand.
//!
//! Source: HTML Standard, section 13.2.5, "Before attribute name state" to "After attribute value
//! (quoted) state".

use std::ops::Range;

/// The place of an attribute within the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name, as it stands.
    pub name: Range<usize>,
    /// The value without its quotes; none for a name alone.
    pub value: Option<Range<usize>>,
    /// The value is in these quotes.
    pub quote: Option<u8>,
}

impl Place {
    /// The value with its quotes, or the place for one after the name.
    pub fn whole(&self) -> Range<usize> {
        let quotes = usize::from(self.quote.is_some());
        match &self.value {
            Some(value) => value.start - quotes..value.end + quotes,
            None => self.name.end..self.name.end,
        }
    }
}

/// The attributes of the tag that stands at `tag`, from its `<` to after its `>`. Returns the end
/// of its name, and them.
pub fn places(page: &[u8], tag: Range<usize>) -> (usize, Vec<Place>) {
    let end = tag.end - 1;
    let find = |from: usize, stops: &dyn Fn(u8) -> bool| {
        page[from..end].iter().position(|byte| stops(*byte)).map_or(end, |at| from + at)
    };
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c);
    let name_end = find(tag.start + 1, &|byte| is_space(byte) || byte == b'/');
    let mut places = Vec::new();
    let mut at = name_end;
    loop {
        let name = find(at, &|byte| !is_space(byte) && byte != b'/');
        if name >= end {
            return (name_end, places);
        }
        // A "=" in the first place is a letter of the name.
        let after =
            find((name + 1).min(end), &|byte| is_space(byte) || byte == b'/' || byte == b'=');
        let equals = find(after, &|byte| !is_space(byte));
        let mut place = Place { name: name..after, value: None, quote: None };
        at = after;
        if page.get(equals) == Some(&b'=') && equals < end {
            let start = find(equals + 1, &|byte| !is_space(byte));
            match page[start] {
                quote @ (b'"' | b'\'') if start < end => {
                    let close = find(start + 1, &|byte| byte == quote);
                    place.value = Some(start + 1..close);
                    place.quote = Some(quote);
                    at = (close + 1).min(end);
                }
                _ => {
                    at = find(start, &is_space);
                    place.value = Some(start..at);
                }
            }
        }
        places.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and values of a tag.
    fn of(tag: &str) -> Vec<(&str, Option<&str>)> {
        let (_, places) = places(tag.as_bytes(), 0..tag.len());
        places.into_iter().map(|it| (&tag[it.name], it.value.map(|it| &tag[it]))).collect()
    }

    #[test]
    fn values_may_be_quoted_unquoted_and_absent() {
        assert_eq!(
            of("<a b=xyz c = \"q>\" d='r'e f= g/ =h=i j=>"),
            [
                ("b", Some("xyz")),
                ("c", Some("q>")),
                ("d", Some("r")),
                ("e", None),
                ("f", Some("g/")),
                ("=h", Some("i")),
                ("j", Some(""))
            ]
        );
        assert_eq!(of("<a>"), []);
        assert_eq!(of("<br/>"), []);
        assert_eq!(of("<img src=a/b/>"), [("src", Some("a/b/"))]);
    }
}
