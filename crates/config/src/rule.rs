//! Rules: what values a key may have, how the reference shows that, and which
//! rule a wrong value breaks.

use crate::mistake::Problem;
use crate::tree::Value;

/// What values a key may have.
pub trait Rule {
    /// What is read.
    type Read<'r>;

    /// Reads a value.
    ///
    /// # Errors
    /// The rule that the value breaks.
    fn read<'r>(&self, value: &Value<'r>) -> Result<Self::Read<'r>, Problem>;

    /// The type in a word or two.
    fn kind(&self) -> String;

    /// Which values of the type are allowed; empty where all are.
    fn range(&self) -> String;

    /// A default, which is text without a type, as TOML.
    fn toml(&self, bare: &str) -> String {
        format!("{bare:?}")
    }
}

/// The type of a field that is made of what a rule reads.
pub trait Field<Read>: Sized {
    /// The field; none if the value does not fit the type.
    fn of(read: Read) -> Option<Self>;

    /// The field of a key that is not set, where that is allowed.
    fn absent() -> Option<Self> {
        None
    }
}

impl<R: Rule> Rule for &R {
    type Read<'r> = R::Read<'r>;

    fn read<'r>(&self, value: &Value<'r>) -> Result<Self::Read<'r>, Problem> {
        (**self).read(value)
    }

    fn kind(&self) -> String {
        (**self).kind()
    }

    fn range(&self) -> String {
        (**self).range()
    }

    fn toml(&self, bare: &str) -> String {
        (**self).toml(bare)
    }
}

impl<T> Field<T> for T {
    fn of(read: T) -> Option<Self> {
        Some(read)
    }
}

impl<T> Field<T> for Option<T> {
    fn of(read: T) -> Option<Self> {
        Some(Some(read))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

macro_rules! whole_fields {
    ($($whole:ty),*) => {$(
        impl Field<i64> for $whole {
            fn of(read: i64) -> Option<Self> {
                read.try_into().ok()
            }
        }
    )*};
}
whole_fields!(u8, u16, u32, u64, usize);

/// The text of a value that must be text; `example` shows how to write it.
///
/// # Errors
/// The value is not text.
pub fn text_of<'r>(value: &Value<'r>, example: &str) -> Result<&'r str, Problem> {
    value
        .text()
        .ok_or_else(|| Problem::new("must be text in quotes", format!("write it as {example:?}")))
}

/// `must be a number of 1 to 10`, or without a range `must be a number`.
pub(crate) fn must_be(what: &str, range: &str) -> String {
    if range.is_empty() { format!("must be {what}") } else { format!("must be {what} of {range}") }
}
