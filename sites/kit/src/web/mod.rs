//! What the pages of several sites are made with: submitted forms, who sent them and from where, the files
//! that browsers cache, and the header fields of pages.

pub mod asset;
pub mod client;
pub mod form;
pub mod origin;
pub mod page;
