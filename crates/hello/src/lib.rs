//! The ClientHello reader: bytes in, claims out; no I/O, no clock.
//!
//! A [`Reader`] is fed whatever arrives on a connection and says at each step
//! whether it needs more, holds a whole [`ClientHello`], or faces something
//! else. Every claim in a hello is the client's word and proves nothing: a
//! ticket is worth something only after it was opened with our own key.
//!
//! [`negotiate`] foretells what a rustls server makes of a hello, so that a
//! ticket which it would not resume is known before the handshake.
//!
//! ```
//! use tidegate_hello::{Limits, Looks, Progress, Reader};
//!
//! let mut reader = Reader::new(Limits::default());
//! assert_eq!(reader.push(&[0x16, 0x03]), Progress::NeedsMore);
//!
//! let mut reader = Reader::new(Limits::default());
//! assert_eq!(reader.push(b"GET / HTTP/1.1\r\n"), Progress::NotTls(Looks::HttpInClear));
//! ```

mod client_hello;
mod codes;
mod cursor;
mod limits;
mod looks;
mod malformed;
pub mod negotiate;
mod parse;
mod reader;
mod records;
mod server_name;

pub use client_hello::{ClientHello, Ech};
pub use codes::{Codes, is_grease};
pub use limits::Limits;
pub use looks::Looks;
pub use malformed::{Fault, Field, Malformed};
pub use reader::{Progress, Reader};
