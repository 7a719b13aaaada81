//! HTTP/1.1 and HTTP/2. Every byte of a response is timed.

pub(crate) mod body;
pub(crate) mod coding;
pub(crate) mod exchange;
pub(crate) mod head;
mod http1;
pub(crate) mod http2;
