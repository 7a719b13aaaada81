//! The values of a session: those that pages gave, and those of its rows.

use crate::feeder::Feeder;

/// Values seen last, by index of the parameter, and the rows of feeders.
#[derive(Debug, Default)]
pub(crate) struct LastUsed {
    seen: Vec<(u16, Value)>,
    /// One for each feeder; empty without feeders.
    rows: Box<[u32]>,
}

#[derive(Debug, Default)]
struct Value {
    text: String,
    /// It was extracted, so that nothing about it is known; values of links can
    /// stand in a path as they are.
    extracted: bool,
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen<'a> {
    pub(crate) text: &'a str,
    /// It is from a link or a draw, and can stand in a path as it is.
    pub(crate) is_path: bool,
}

impl LastUsed {
    /// With these rows, one for each feeder.
    pub(crate) fn with_rows(rows: Box<[u32]>) -> Self {
        Self { seen: Vec::new(), rows }
    }

    /// The value that a page gave last, else that of the session's row.
    pub(crate) fn get<'a>(&'a self, index: u16, feeders: &'a [Feeder]) -> Option<Seen<'a>> {
        if let Some((_, value)) = self.seen.iter().find(|(known, _)| *known == index) {
            return Some(Seen { text: &value.text, is_path: !value.extracted });
        }
        let mut fed = feeders.iter().zip(&self.rows);
        let text = fed.find_map(|(feeder, row)| feeder.value(*row, index))?;
        Some(Seen { text, is_path: false })
    }

    /// Keeps a value that was found in an answer.
    pub(crate) fn extract(&mut self, index: u16, text: &str) {
        self.put(index, text, true);
    }

    pub(crate) fn set(&mut self, index: u16, text: &str) {
        self.put(index, text, false);
    }

    fn put(&mut self, index: u16, text: &str, extracted: bool) {
        let known = self.seen.iter().position(|(known, _)| *known == index);
        let at = known.unwrap_or_else(|| {
            self.seen.push((index, Value::default()));
            self.seen.len() - 1
        });
        let value = &mut self.seen[at].1;
        value.extracted = extracted;
        value.text.clear();
        value.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeder::{Pick, read};

    #[test]
    fn what_a_page_gives_goes_before_the_value_of_the_row() {
        let rows = read::from_csv(b"a,b\n1,2\n3,4\n").unwrap();
        let parameters = vec![Some(5), Some(6)];
        let feeders = [Feeder { file: String::new(), pick: Pick::InTurn, rows, parameters }];
        let mut last = LastUsed::with_rows([1].into());
        let seen = |last: &LastUsed, index| {
            last.get(index, &feeders).map(|seen| (seen.text.to_owned(), seen.is_path))
        };
        assert_eq!(seen(&last, 5), Some(("3".to_owned(), false)));
        last.set(5, "8");
        assert_eq!(seen(&last, 5), Some(("8".to_owned(), true)));
        last.extract(5, "9");
        assert_eq!(seen(&last, 5), Some(("9".to_owned(), false)));
        assert_eq!(seen(&last, 6), Some(("4".to_owned(), false)));
        assert_eq!(seen(&last, 7), None);
        assert_eq!(LastUsed::default().get(5, &feeders), None);
    }
}
