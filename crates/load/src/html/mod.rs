//! Reads pages: links, forms, elements by selector.

pub mod css;
pub(crate) mod links;
pub(crate) mod scan;

pub(crate) use links::{Field, FieldKind, forms, links};
