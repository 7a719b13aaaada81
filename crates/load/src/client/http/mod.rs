//! HTTP/1.1 and HTTP/2.

mod body;
pub(crate) mod exchange;
pub(crate) mod head;
pub(crate) mod http2;
