//! HTTP/1.1 between customer and upstream.

pub mod client_subject;
pub mod forwarding;
pub mod headers;
pub mod pages;
pub mod proxy;
pub mod request_body;
pub mod requests;
pub mod response_body;
pub mod stream;
pub mod stream_types;
mod trace_context;
pub mod trailers;
