//! Goes through a page from tag to tag.

use std::convert::Infallible;
use std::ops::Range;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::attributes::{Place, places};

/// A start tag.
#[derive(Debug, Default)]
pub struct Tag {
    /// Its name in lower case.
    pub name: String,
    /// From its `<` to after its `>`.
    pub place: Range<usize>,
    /// The end of its name.
    pub name_end: usize,
    /// Its attributes, each name once.
    pub attributes: Vec<Attribute>,
}

/// An attribute.
#[derive(Debug)]
pub struct Attribute {
    /// Its name in lower case.
    pub name: String,
    /// Its value without character references.
    pub value: String,
    /// Where it stands.
    pub place: Place,
}

impl Tag {
    /// The value of an attribute.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|it| it.name == name).map(|it| it.value.as_str())
    }
}

/// A part of a page.
#[derive(Debug)]
pub enum Piece {
    /// A start tag.
    Tag(Tag),
    /// The content of an element whose content is text for the tokenizer: its name and place.
    Raw(String, Range<usize>),
}

/// Elements whose content is passed on.
const RAW: [&str; 2] = ["style", "noscript"];

/// Calls `found` for each part.
pub fn each(page: &str, mut found: impl FnMut(Piece)) {
    let mut reader = Reader { page: page.as_bytes(), ..Reader::default() };
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, span: Span<usize>| {
        reader.take(event, span, &mut found);
        None::<Infallible>
    });
    let mut emitter = emitter;
    emitter.naively_switch_states(true);
    let Ok(()) = Tokenizer::new_with_emitter(page, emitter).finish();
    reader.end(page.len(), &mut found);
}

#[derive(Default)]
struct Reader<'p> {
    page: &'p [u8],
    name: String,
    begins: usize,
    values: Vec<(String, String)>,
    in_start_tag: bool,
    /// The raw element that is open, and where its content begins.
    raw: Option<(String, usize)>,
}

impl Reader<'_> {
    fn take(&mut self, event: CallbackEvent<'_>, span: Span<usize>, found: &mut impl FnMut(Piece)) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.end(span.start, found);
                self.name = text(name);
                self.begins = span.start;
                self.values.clear();
                self.in_start_tag = true;
            }
            CallbackEvent::AttributeName { name } if self.in_start_tag => {
                self.values.push((text(name), String::new()));
            }
            CallbackEvent::AttributeValue { value } if self.in_start_tag => {
                if let Some((_, last)) = self.values.last_mut() {
                    *last = text(value);
                }
            }
            CallbackEvent::CloseStartTag { .. } => {
                self.in_start_tag = false;
                if let Some(tag) = self.tag(span.end) {
                    found(Piece::Tag(tag));
                }
                if RAW.contains(&self.name.as_str()) {
                    self.raw = Some((self.name.clone(), span.end));
                }
            }
            CallbackEvent::EndTag { .. } => self.end(span.start, found),
            _ => {}
        }
    }

    /// The content of a raw element ends.
    fn end(&mut self, at: usize, found: &mut impl FnMut(Piece)) {
        if let Some((name, start)) = self.raw.take()
            && start <= at
        {
            found(Piece::Raw(name, start..at));
        }
    }

    /// The tag that ends here; none if the page does not have there what was read, so that
    /// nothing is written at a wrong place.
    fn tag(&self, end: usize) -> Option<Tag> {
        let place = self.begins..end;
        let source = self.page.get(place.clone())?;
        let [b'<', .., b'>'] = source else { return None };
        let (name_end, places) = places(self.page, place.clone());
        let is = |range: &Range<usize>, name: &str| {
            // A NUL is read as U+FFFD.
            self.page.get(range.clone()).is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()))
        };
        if !is(&(place.start + 1..name_end), &self.name) || places.len() != self.values.len() {
            return None;
        }
        let mut attributes: Vec<Attribute> = Vec::with_capacity(places.len());
        for (at, (name, value)) in places.into_iter().zip(&self.values) {
            // Of several of one name the first counts.
            if is(&at.name, name) && !attributes.iter().any(|it| it.name == *name) {
                attributes.push(Attribute { name: name.clone(), value: value.clone(), place: at });
            }
        }
        Some(Tag { name: self.name.clone(), place, name_end, attributes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(page: &str) -> Vec<String> {
        let mut all = Vec::new();
        each(page, |piece| {
            all.push(match piece {
                Piece::Raw(name, place) => format!("{name}:{}", &page[place]),
                Piece::Tag(tag) => {
                    let values = tag.attributes.iter().map(|it| {
                        let raw = it.place.value.clone().map_or("", |place| &page[place]);
                        format!(" {}={}|{raw}", it.name, it.value)
                    });
                    format!("{}{}", tag.name, values.collect::<String>())
                }
            });
        });
        all
    }

    #[test]
    fn values_are_read_without_references_and_placed_as_they_stand() {
        assert_eq!(
            pieces(
                "é\r\n<A HREF='x?a=1&amp;b=2'>&amp;<!-- <a href=no> --><img src=é&eacute; src=2 alt>"
            ),
            ["a href=x?a=1&b=2|x?a=1&amp;b=2", "img src=éé|é&eacute; alt=|"]
        );
    }

    #[test]
    fn scripts_and_titles_hold_no_tags_and_styles_and_noscript_are_passed_on() {
        assert_eq!(
            pieces(
                "<title><a></title><script>\"<a href=x>\"</script><style>a{}</style><b>\
                 <noscript><img src=y></noscript><template><i></template>"
            ),
            [
                "title",
                "script",
                "style",
                "style:a{}",
                "b",
                "noscript",
                "noscript:<img src=y>",
                "template",
                "i"
            ]
        );
        assert_eq!(pieces("<style>a{} <p>"), ["style", "style:a{} <p>"]);
    }

    #[test]
    fn a_tag_that_does_not_end_is_left_alone() {
        assert_eq!(pieces("<p><a href='x"), ["p"]);
        assert_eq!(pieces("<p><a href=x"), ["p"]);
        assert_eq!(pieces("</a href=x><p>"), ["p"]);
    }
}
