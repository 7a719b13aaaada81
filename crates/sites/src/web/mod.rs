//! What the pages of several sites are made with: submitted forms, who sent them, and the
//! files that browsers cache.

pub mod asset;
pub mod client;
pub mod form;
