//! The rules that several kinds of files use.

mod numbers;
mod places;
mod quantities;
mod tables;
mod words;

pub use numbers::{Number, Pair, Whole};
pub use places::{Address, FilePath, OrOff};
pub(crate) use quantities::duration_between;
pub use quantities::{Bytes, Time};
pub use tables::{List, OneOrMore, OrTable, PlainOrTable, Subtable};
pub(crate) use words::one_of;
pub use words::{Boolean, Choice, Other, Text, Word, Words};
