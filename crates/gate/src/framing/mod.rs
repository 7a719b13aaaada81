//! Where messages of HTTP/1.1 begin and end, read strictly; and which frames of HTTP/2 a
//! customer sends.
//!
//! The HTTP library accepts more than the grammar allows, such as a line that ends with
//! a bare LF. A proxy before the gate, or the upstream behind it, may read the same bytes
//! differently, and a part of one message then becomes another (request smuggling). This
//! reader sees all bytes before the library does and stops at the first that breaks the
//! grammar. It is pure: no I/O, no clock. HTTP/2 delimits messages in one way only: there the
//! frames are counted.

mod fault;
mod frames;
mod head;
mod reader;

pub use fault::{Fault, Part, Rule};
pub use frames::{Excess, FrameLimits, Frames};
pub use reader::{Limits, Reader};
