//! The gate's reader of HTTP and hyper on the same bytes.

#![allow(dead_code, reason = "each target uses a part of it")]

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};

use crate::framing::{Limits, Reader};

pub const LIMITS: Limits = Limits { head_bytes: 8192, fields: 20 };

/// The messages that the reader finds: where each ends. The last is incomplete, or
/// empty; `None` for it where the reader refuses it.
pub struct Messages {
    pub ends: Vec<usize>,
    pub broken: bool,
}

/// Divides bytes into messages, byte by byte, and checks that other pieces give the same.
pub fn divide(bytes: &[u8], reader: impl Fn() -> Reader) -> Messages {
    let mut ends = Vec::new();
    let mut single = reader();
    let mut broken = false;
    for at in 0..bytes.len() {
        if single.feed(&bytes[at..=at]).is_err() {
            broken = true;
            break;
        }
        if single.is_between_messages() {
            ends.push(at + 1);
        }
    }
    let mut whole = reader();
    match whole.feed(bytes) {
        Ok(()) => assert!(!broken),
        Err(found) => {
            assert!(broken && found.clean <= bytes.len());
            assert!(whole.feed(b"x").is_err(), "it stays broken");
            // What is clean is accepted on its own.
            assert!(reader().feed(&bytes[..found.clean]).is_ok());
        }
    }
    let step = usize::from(bytes.first().copied().unwrap_or(0)) + 2;
    let mut pieces = reader();
    let refused = bytes.chunks(step).any(|piece| pieces.feed(piece).is_err());
    assert_eq!(refused, broken);
    Messages { ends, broken }
}

/// The body of a message, and its trailers.
#[derive(Debug, PartialEq)]
pub struct Body {
    pub data: Vec<u8>,
    pub trailers: usize,
}

/// What hyper's server makes of the bytes of a connection: the requests that it read to
/// their end, and whether it refused something.
pub fn serve(bytes: &[u8]) -> (Vec<(Method, Body)>, bool) {
    let done = Rc::new(RefCell::new(Vec::new()));
    let seen = done.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let seen = seen.clone();
        async move {
            let method = request.method().clone();
            if let Ok(body) = request.into_body().collect().await {
                let trailers = body.trailers().map_or(0, |fields| fields.len());
                let data = body.to_bytes().to_vec();
                seen.borrow_mut().push((method, Body { data, trailers }));
            }
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"ok"))))
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.max_header_size(LIMITS.head_bytes).max_headers(LIMITS.fields);
    let written = Rc::new(RefCell::new(Vec::new()));
    let wire = Wire { rest: bytes.to_vec(), written: written.clone(), answers: false };
    let result = run(pin!(builder.serve_connection(wire, service)));
    // Of its own accord hyper answers with an error only.
    let error = written.borrow().windows(10).any(|part| part == b"HTTP/1.1 4");
    let refused = error || matches!(result, Some(Err(_)));
    (done.take(), refused)
}

/// What hyper's client makes of a response, after which the connection stays open: its
/// body; `None` if it refuses it, or waits for more.
pub fn fetch(method: &Method, bytes: &[u8]) -> Option<Body> {
    let written = Rc::new(RefCell::new(Vec::new()));
    let wire = Wire { rest: bytes.to_vec(), written, answers: true };
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.max_headers(LIMITS.fields);
    let (mut sender, connection) = run(pin!(builder.handshake(wire)))?.ok()?;
    let request = Request::builder().method(method).uri("/").body(Empty::<Bytes>::new());
    let response = async {
        let response = sender.send_request(request.expect("it is valid")).await.ok()?;
        let body = response.into_body().collect().await.ok()?;
        let trailers = body.trailers().map_or(0, |fields| fields.len());
        Some(Body { data: body.to_bytes().to_vec(), trailers })
    };
    let mut connection = pin!(connection);
    let mut response = pin!(response);
    let both = std::future::poll_fn(|cx| {
        let _ = connection.as_mut().poll(cx);
        response.as_mut().poll(cx)
    });
    run(pin!(both)).flatten()
}

/// Polls until the end, or until nothing moves any more.
fn run<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..20 {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Some(output);
        }
    }
    None
}

/// A connection that stays open after these bytes.
struct Wire {
    rest: Vec<u8>,
    written: Rc<RefCell<Vec<u8>>>,
    /// The bytes arrive only after something was written.
    answers: bool,
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.rest.is_empty() || self.answers && self.written.borrow().is_empty() {
            return Poll::Pending;
        }
        let part = buf.remaining().min(self.rest.len());
        buf.put_slice(&self.rest[..part]);
        self.rest.drain(..part);
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.written.borrow_mut().extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
