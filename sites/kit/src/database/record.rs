//! Values that go into a query and rows that come out of it.

use super::Result;

/// A value bound to a placeholder. Never part of the statement's text.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A number, an id, cents, or seconds since 1970.
    Int(i64),
    /// Text of any content.
    Text(&'a str),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

/// The columns of one row, by position from 0.
pub trait Fields {
    /// The integer in this column.
    ///
    /// # Errors
    /// The column is missing, null, or of another type.
    fn int(&self, column: usize) -> Result<i64>;

    /// The text in this column.
    ///
    /// # Errors
    /// The column is missing, null, or of another type.
    fn text(&self, column: usize) -> Result<String>;
}

/// A type that a row is read into.
pub trait Record: Sized {
    /// Reads the columns in the order in which the query names them.
    ///
    /// # Errors
    /// A column is missing, null, or of another type.
    fn read(fields: &impl Fields) -> Result<Self>;
}

impl Record for i64 {
    fn read(fields: &impl Fields) -> Result<Self> {
        fields.int(0)
    }
}

impl Record for String {
    fn read(fields: &impl Fields) -> Result<Self> {
        fields.text(0)
    }
}

impl Record for (i64, i64) {
    fn read(fields: &impl Fields) -> Result<Self> {
        Ok((fields.int(0)?, fields.int(1)?))
    }
}

impl Record for (i64, String) {
    fn read(fields: &impl Fields) -> Result<Self> {
        Ok((fields.int(0)?, fields.text(1)?))
    }
}
