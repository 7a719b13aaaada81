//! What pages are made with: the frame of a page, forms and what was wrong with them, who sent
//! them and from where, the cookie of a session, and the files that browsers cache.

pub mod asset;
pub mod body;
pub mod client;
pub mod cookie;
pub mod field;
pub mod form;
pub mod origin;
pub mod page;
pub mod picture;
