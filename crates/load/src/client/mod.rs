//! The customer's side of the wire: sockets, TLS with tickets of one's own,
//! HTTP/1.1 and HTTP/2. A leaner client than a general one, because the instrument must
//! be faster than what it measures, and must know every byte's time.

mod address;
mod connection;
mod http;
pub(crate) mod tls;
mod wire;

pub(crate) use address::Target;
pub(crate) use connection::{Connection, Connector, Shaken, Trouble};
pub(crate) use http::exchange::{Answer, Broken, Exchange};
pub(crate) use http::head::LastHead;
pub(crate) use tls::config::Tls;
pub use tls::config::trusted_roots;
pub(crate) use tls::tickets::Tickets;
