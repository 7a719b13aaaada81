//! A table of texts with names of columns.

use std::fmt;

/// Rows of values. All values stand in one text: a file of a million rows needs little more
/// memory than its size.
#[derive(PartialEq, Eq)]
pub struct Rows {
    names: Vec<String>,
    text: String,
    /// Where each value ends in the text, row by row.
    ends: Vec<u32>,
}

impl Rows {
    /// Without rows; there is at least one name.
    pub(super) fn new(names: Vec<String>) -> Self {
        Self { names, text: String::new(), ends: Vec::new() }
    }

    /// Adds the next value of the last row. All values together have less than 4 GiB.
    pub(super) fn push(&mut self, value: &str) {
        self.text.push_str(value);
        self.ends.push(self.text.len() as u32);
    }

    /// Releases memory that was reserved for more rows.
    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ends.len() / self.names.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A value.
    ///
    /// # Panics
    /// There is no such row or column.
    pub fn value(&self, row: usize, column: usize) -> &str {
        assert!(column < self.names.len(), "a column of the table");
        let index = row * self.names.len() + column;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[index] as usize]
    }
}

/// Shows a digest of the values in their place: there may be millions.
///
/// Source: G. Fowler, L. C. Noll and P. Vo, FNV-1a of 64 bits.
impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        let ends = self.ends.iter().flat_map(|end| end.to_le_bytes());
        let digest = self.text.bytes().chain(ends).fold(0xCBF2_9CE4_8422_2325, add);
        f.debug_struct("Rows").field("names", &self.names).field("digest", &digest).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_differs_where_a_value_does() {
        let rows = |values: [&str; 2]| {
            let mut rows = Rows::new(vec!["a".to_owned(), "b".to_owned()]);
            values.iter().for_each(|value| rows.push(value));
            rows
        };
        let shown = |values| format!("{:?}", rows(values));
        assert_eq!(rows(["x", "yz"]).value(0, 1), "yz");
        assert_eq!(shown(["x", "yz"]), shown(["x", "yz"]));
        assert_ne!(shown(["x", "yz"]), shown(["xy", "z"]));
        assert_ne!(shown(["x", "yz"]), shown(["x", "yy"]));
    }
}
