//! The customer's side of the wire: sockets, TLS with tickets of one's own,
//! HTTP/1.1 and HTTP/2. A leaner client than a general one, because the instrument must
//! be faster than what it measures, and must know every byte's time.

mod address;
mod body;
mod connection;
mod forger;
mod head;
mod http;
mod http2;
mod mix;
mod one_ticket;
mod secure;
mod tickets;
mod tls;
mod wire;

pub(crate) use address::Target;
pub(crate) use connection::{Connection, Connector, Shaken, Trouble};
pub(crate) use head::LastHead;
pub(crate) use http::{Answer, Broken, Exchange};
pub(crate) use tickets::Tickets;
pub(crate) use tls::Tls;
pub use tls::trusted_roots;
