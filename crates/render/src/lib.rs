//! Renders pages of a site ahead of time: fetches them, and writes them as files whose links lead
//! to each other.

mod charset;
mod hash;
pub mod html;
mod key;
mod media;
mod name;
mod robots;
mod scope;

pub use key::Key;
pub use name::{Name, Names};
pub use scope::{Pattern, Scope};
