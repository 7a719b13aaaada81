//! Connections of customers: sockets, TLS with tickets per customer, HTTP/1.1 and HTTP/2.
//! Leaner than a general client, because the load generator must be faster than the
//! service it measures and must know the time of every byte.

pub(crate) mod addresses;
pub(crate) mod allow;
pub(crate) mod channel;
pub(crate) mod connection;
pub(crate) mod connections;
pub(crate) mod event_stream;
pub(crate) mod http;
pub(crate) mod resolve;
pub(crate) mod target;
pub(crate) mod tls;
pub(crate) mod transport;
