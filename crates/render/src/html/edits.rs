//! Replacements of parts of a text.

use std::borrow::Cow;
use std::ops::Range;

/// Replacements, in the order of their places.
#[derive(Debug, Default)]
pub struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    /// Replaces a part that begins at or after the end of the last one. An empty part inserts.
    /// A part that overlaps the last one is left alone.
    pub fn replace(&mut self, part: Range<usize>, by: String) {
        let free = self.0.last().is_none_or(|(last, _)| last.end <= part.start);
        if free && part.start <= part.end {
            self.0.push((part, by));
        }
    }

    /// The text with the replacements.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.0.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut whole = String::with_capacity(text.len() + 64);
        let mut at = 0;
        for (part, by) in &self.0 {
            // A part that does not stand on characters is of another text.
            let (Some(before), Some(_)) = (text.get(at..part.start), text.get(part.clone())) else {
                continue;
            };
            whole.push_str(before);
            whole.push_str(by);
            at = part.end;
        }
        whole.push_str(&text[at..]);
        Cow::Owned(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_replaced_and_inserted_and_an_overlap_is_left_alone() {
        let mut edits = Edits::default();
        edits.replace(0..1, "A".into());
        edits.replace(1..1, "+".into());
        edits.replace(0..2, "no".into());
        edits.replace(3..4, String::new());
        assert_eq!(edits.apply("abcd"), "A+bc");
        assert_eq!(Edits::default().apply("abcd"), "abcd");
    }
}
