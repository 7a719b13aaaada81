//! The gate's files: the modules are private to their crate.

#[allow(dead_code)]
#[path = "../../../crates/gate/src/admission/session_cookie.rs"]
pub mod session_cookie;

#[allow(dead_code)]
#[path = "../../../crates/gate/src/admission/tickets.rs"]
pub mod tickets;
