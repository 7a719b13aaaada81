//! HTTP/1.1 between customer and upstream.

pub mod client_subject;
pub mod guard;
pub mod headers;
pub mod pages;
pub mod pool;
pub mod proxy;
pub mod request_body;
pub mod requests;
pub mod response_body;
pub mod stream;
pub mod upstream;
