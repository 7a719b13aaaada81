//! The gate's files: the modules are private to their crate.

#[allow(dead_code)]
#[path = "../../../crates/gate/src/admission/session_cookie.rs"]
pub mod session_cookie;

#[allow(dead_code)]
#[path = "../../../crates/gate/src/admission/tickets.rs"]
pub mod tickets;

#[allow(dead_code)]
#[path = "../../../crates/gate/src/admission/sealed_value.rs"]
pub mod sealed_value;

#[allow(dead_code)]
#[path = "../../../crates/gate/src/admission/waiting_token.rs"]
pub mod waiting_token;
