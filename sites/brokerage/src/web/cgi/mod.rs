//! Pages that a program makes, one process for each request, by the Common Gateway
//! Interface: as in the paper, whose web server called programs in C. The program is this
//! one, called by the server ([`Gateway`]) and answering once ([`stub_call`]); it opens a
//! connection of its own to the application tier.
//!
//! Source: RFC 3875.

mod environment;
mod gateway;
mod output;
mod stub;

pub use gateway::Gateway;
#[cfg(feature = "fuzzing")]
pub use output::response as read_output;
pub use stub::{STUB_ENVIRONMENT, stub_call};
