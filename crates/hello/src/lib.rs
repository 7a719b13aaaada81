//! The ClientHello reader: bytes in, claims out; no I/O, no clock.
//!
//! A [`Reader`] takes the bytes of a connection as they arrive and returns at
//! each step whether it needs more, holds a whole [`ClientHello`], or received
//! something else. The claims of a hello are unauthenticated: a ticket proves
//! something only after it was opened with the server's key.
//!
//! [`negotiate`] predicts the choices of a rustls server for a hello, so that a
//! ticket that it would not resume is known before the handshake.
//!
//! ```
//! use tidegate_hello::{Limits, OtherProtocol, Progress, Reader};
//!
//! let mut reader = Reader::new(Limits::default());
//! assert_eq!(reader.push(&[0x16, 0x03]), Progress::NeedsMore);
//!
//! let mut reader = Reader::new(Limits::default());
//! assert_eq!(reader.push(b"GET / HTTP/1.1\r\n"), Progress::NotTls(OtherProtocol::PlainHttp));
//! ```

mod client_hello;
mod codes;
mod cursor;
mod limits;
mod malformed;
pub mod negotiate;
mod other_protocol;
mod parse;
mod reader;
mod records;
mod server_name;
mod unusable_name;

pub use client_hello::{ClientHello, Ech};
pub use codes::{Codes, is_grease};
pub use limits::Limits;
pub use malformed::{Fault, Field, Malformed};
pub use other_protocol::OtherProtocol;
pub use reader::{Progress, Reader};
pub use unusable_name::UnusableName;
