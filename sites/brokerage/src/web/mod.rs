//! The web tier: pages and forms for a browser. It keeps nothing: a session is a cookie that
//! the application tier knows, so several of these may run.
//!
//! A page is made in this process, or as in the paper by a program of its own for each
//! request (CGI): [`Stub`]. Files that never change, the price stream and the front page are
//! always served by this process.

mod assets;
mod card_events;
mod cgi;
mod chart;
mod failure;
mod headers;
mod layout;
mod measured;
mod options;
mod pages;
mod service;
mod session;
mod sign_in_form;
mod site;
mod stream;

#[cfg(feature = "fuzzing")]
pub use cgi::read_output;
pub use cgi::{STUB_ENVIRONMENT, stub_call};
pub use options::{Options, Program, Stub};
pub use service::start;
