//! The one form that a document may have, byte by byte.
//!
//! A document is fixed text with slots between. A slot ends at the first `<`, or the first `"`
//! in an attribute, and every slot's value is checked by whoever takes it. So no markup fits
//! into a slot: elements, their order, namespaces, algorithms and attributes are those of the
//! outline, each once, and a document type, entity, comment, processing instruction or further
//! element fits nowhere. What passes has one reading, whichever parser reads it next.

use crate::refused::Refused;

/// A part of a document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Fixed text, and why a document is refused that differs from it here.
    Text(&'static str, Refused),
    /// A value inside of an element.
    Content,
    /// A value inside of double quotes.
    Attribute,
}

/// Fixed text whose absence makes a document malformed.
pub(super) const fn text(text: &'static str) -> Part {
    Part::Text(text, Refused::Malformed)
}

/// Fixed text that names an algorithm.
pub(super) const fn algorithm(text: &'static str) -> Part {
    Part::Text(text, Refused::Algorithm)
}

/// A document with `N` slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline<const N: usize> {
    parts: &'static [Part],
}

impl<const N: usize> Outline<N> {
    /// # Panics
    /// The parts do not have `N` slots. Outlines are constants, so this is an error of
    /// compilation.
    pub(super) const fn new(parts: &'static [Part]) -> Self {
        let (mut index, mut slots) = (0, 0);
        while index < parts.len() {
            if !matches!(parts[index], Part::Text(..)) {
                slots += 1;
            }
            index += 1;
        }
        assert!(slots == N, "an outline has as many slots as values");
        Self { parts }
    }

    /// The document with these values, which are written as they are.
    pub(super) fn write(&self, values: [&str; N]) -> String {
        let text = |part: &Part| if let Part::Text(text, _) = part { text.len() } else { 0 };
        let fixed: usize = self.parts.iter().map(text).sum();
        let slots: usize = values.iter().map(|value| value.len()).sum();
        let mut document = String::with_capacity(fixed + slots);
        let mut values = values.into_iter();
        for part in self.parts {
            match part {
                Part::Text(text, _) => document.push_str(text),
                Part::Content | Part::Attribute => document.extend(values.next()),
            }
        }
        document
    }

    /// The values of a document of this form.
    ///
    /// # Errors
    /// It differs from the fixed text: the reason is that of the first text it differs from;
    /// or more follows ([`Refused::Malformed`]).
    pub(super) fn read<'a>(&self, document: &'a str) -> Result<[&'a str; N], Refused> {
        let mut values = [""; N];
        let mut slots = values.iter_mut();
        let mut rest = document;
        for part in self.parts {
            let end = match part {
                Part::Text(text, otherwise) => {
                    rest = rest.strip_prefix(text).ok_or(*otherwise)?;
                    continue;
                }
                Part::Content => '<',
                Part::Attribute => '"',
            };
            let value;
            (value, rest) = rest.split_at(rest.find(end).ok_or(Refused::Malformed)?);
            if let Some(slot) = slots.next() {
                *slot = value;
            }
        }
        if rest.is_empty() { Ok(values) } else { Err(Refused::Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: Outline<2> = Outline::new(&[
        text("<note by=\""),
        Part::Attribute,
        text("\">"),
        Part::Content,
        algorithm("</note>"),
    ]);

    #[test]
    fn what_is_written_is_read() {
        let document = NOTE.write(["me", "a \"quoted\" word"]);
        assert_eq!(document, "<note by=\"me\">a \"quoted\" word</note>");
        assert_eq!(NOTE.read(&document), Ok(["me", "a \"quoted\" word"]));
        assert_eq!(NOTE.read(&NOTE.write(["", ""])), Ok(["", ""]));
    }

    #[test]
    fn no_other_way_to_write_a_document_is_read() {
        for bad in [
            "",
            "<note by=\"me\">",
            "<note by=\"me\">x</note >",
            "<note by='me'>x</note>",
            "<note  by=\"me\">x</note>",
            " <note by=\"me\">x</note>",
            "<note by=\"me\">x</note>\n",
            "<note by=\"me\" at=\"y\">x</note>",
            "<note by=\"me\">x<!-- y --></note>",
            "<note by=\"me\">x<note by=\"me\">y</note></note>",
            "<!DOCTYPE note><note by=\"me\">x</note>",
            "<?xml version=\"1.0\"?><note by=\"me\">x</note>",
        ] {
            assert!(NOTE.read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_reason_is_that_of_the_first_text_that_differs() {
        assert_eq!(NOTE.read("<other/>"), Err(Refused::Malformed));
        assert_eq!(NOTE.read("<note by=\"me\">x</other>"), Err(Refused::Algorithm));
        assert_eq!(NOTE.read("<note by=\"me\">x</note>y"), Err(Refused::Malformed));
    }
}
