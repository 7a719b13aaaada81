//! Calls from one tier of a service to the next: `POST /OPERATION` over HTTP/1.1, with a
//! body that this module does not look into.
//!
//! How a link is secured is configuration ([`Spec`]): not at all, by mutual TLS 1.3 with
//! a private CA ([`authority`]), or message by message with a key that both tiers have
//! ([`KeyRing`]). Connections are persistent or made for each call. A [`Client`] has
//! deadlines for connecting and for the whole call, tries the servers that it knows in
//! turn, and says of every failure which tier, which address, and why.
//!
//! A call that failed may have been carried out, and a client repeats one whose
//! connection broke: operations must be safe to repeat.

pub mod authority;
mod client;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod pool;
mod sealed;
mod server;
mod side;
mod spec;
mod tls;

pub use client::{Client, Deadlines};
pub use error::{Error, Kind};
pub use sealed::{Cipher, KeyRing};
pub use server::{Handler, MOST_REQUEST, Reply, router};
pub use side::{ClientSide, Files, ServerSide};
pub use spec::{Protection, Spec};
