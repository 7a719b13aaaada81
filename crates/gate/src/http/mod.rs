//! HTTP between customer and upstream: by HTTP/1.1 or HTTP/2 with the customer, by HTTP/1.1 with
//! the upstream.

mod accept;
mod asked_tunnel;
pub mod attempt;
pub mod client_subject;
mod cookie_field;
pub mod customer_body;
pub mod expectation;
pub mod forwarding;
pub mod headers;
pub mod http2;
mod idle;
pub mod pages;
mod priority;
pub mod proxy;
pub mod request_body;
pub mod requests;
pub mod response_body;
mod service_fields;
pub mod sessions;
pub mod stream;
pub mod stream_types;
pub mod timer;
mod trace_context;
pub mod trailers;
mod waiting;
pub mod waiting_page;
mod websocket;
