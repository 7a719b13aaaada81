//! Renders pages of a site ahead of time: requests them all, and writes them as files whose links
//! lead to each other. Any server can serve these; the gate does so before it asks the site.

mod charset;
mod check;
mod crawl;
mod error;
mod fetch;
mod hash;
pub mod html;
mod key;
mod layout;
mod media;
mod name;
mod options;
mod outcome;
mod robots;
mod run;
mod scope;
mod sitemap;
mod store;
mod summary;
mod tree;

pub use check::{Checked, Difference, check};
pub use crawl::Watch;
pub use error::Error;
pub use key::Key;
pub use name::{Name, Names};
pub use options::{Options, Vary};
pub use run::render;
pub use scope::{Pattern, Scope};
pub use summary::{Skipped, Summary, VariantFiles};
