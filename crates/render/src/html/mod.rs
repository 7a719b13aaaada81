//! Reads a page and writes it with other links. What is not a link stays byte for byte.

mod attributes;
mod css;
mod edits;
mod elements;
mod page;
mod srcset;
mod tokens;

pub(crate) use page::charset_of;
pub use page::{Links, Source, rewrite, rewrite_css};
