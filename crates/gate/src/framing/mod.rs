//! Where messages of HTTP/1.1 begin and end, read strictly.
//!
//! The HTTP library accepts more than the grammar allows, such as a line that ends with
//! a bare LF. A proxy before the gate, or the upstream behind it, may read the same bytes
//! differently, and a part of one message then becomes another (request smuggling). This
//! reader sees all bytes before the library does and stops at the first that breaks the
//! grammar. It is pure: no I/O, no clock.

mod fault;
mod head;
mod reader;

pub use fault::{Fault, Part, Rule};
pub use reader::{Limits, Reader};
