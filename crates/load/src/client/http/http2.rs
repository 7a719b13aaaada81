//! HTTP/2 as a client, timed as over HTTP/1.1. Without a task of its own: the connection is
//! driven by the futures that use it, so that dropping them ends it at once. Several requests
//! at a time belong to one task, which each of them wakes.
//!
//! Source: RFC 9113, sections 3 (starting), 6.8 (GOAWAY), 8 (messages).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Reason, RecvStream};
use http::header::{
    CONNECTION, CONTENT_ENCODING, HOST, HeaderName, LOCATION, SET_COOKIE, TRANSFER_ENCODING,
    UPGRADE,
};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, Version};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::body::store;
use super::coding::Coding;
use super::exchange::{Answer, Exchange, ExchangeError, LARGEST_HEAD, Progress, failure};
use super::head::{Fields, WAITING_ROOM, WaitingPage, location, readable};
use crate::client::connections::Close;
use crate::client::transport::Transport;
use crate::outcome::{Failure, Stage};

/// What a server may send before what came is taken in: bounds the memory of a
/// connection, and is as much as a fast network holds in 10 ms at 800 Mbit/s.
const WINDOW: u32 = 1024 * 1024;
/// Headers of a request.
const HEADERS: usize = 128;

/// Fields about a connection, which have no place in HTTP/2: section 8.2.2.
static OF_CONNECTIONS: [HeaderName; 5] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TRANSFER_ENCODING,
    UPGRADE,
];

/// An open connection. Dropping the last clone resets it.
#[derive(Clone)]
pub(crate) struct Http2(Rc<RefCell<Inner>>);

struct Inner {
    requests: SendRequest<Bytes>,
    connection: h2::client::Connection<Watched, Bytes>,
    seen: Rc<Seen>,
    scheme: Scheme,
    /// The connection has ended and must not be polled any more.
    over: bool,
    /// Requests in flight, with the bytes that had come before the first of them, and those of
    /// bodies since then.
    in_flight: usize,
    before: u64,
    bodies: u64,
}

/// What was seen on the wire below.
#[derive(Debug, Default)]
struct Seen {
    received_bytes: Cell<u64>,
    /// How it broke, or was closed by the server.
    ended: Cell<Option<Failure>>,
    /// How to close it.
    close: Cell<Close>,
}

impl Http2 {
    /// Begins to speak HTTP/2: sends what a client begins with, and does not
    /// wait for an answer.
    pub(crate) async fn begin(wire: Transport) -> Result<Self, Failure> {
        let seen = Rc::<Seen>::default();
        let scheme = match wire {
            Transport::Clear(_) => Scheme::HTTP,
            Transport::Tls(_) => Scheme::HTTPS,
        };
        let begun = Builder::new()
            .enable_push(false)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_header_list_size(LARGEST_HEAD as u32)
            .handshake(Watched { wire, seen: seen.clone() })
            .await;
        match begun {
            Ok((requests, connection)) => {
                let inner = Inner {
                    requests,
                    connection,
                    seen,
                    scheme,
                    over: false,
                    in_flight: 0,
                    before: 0,
                    bodies: 0,
                };
                Ok(Self(Rc::new(RefCell::new(inner))))
            }
            Err(error) => Err(failed(&error, &seen)),
        }
    }

    /// Whether the server answers as one of HTTP/2 does: to a PING. Once only.
    ///
    /// # Errors
    /// What it does instead.
    pub(crate) async fn check(&self) -> Result<(), String> {
        let taken = self.0.borrow_mut().connection.ping_pong();
        let mut ping = taken.expect("it is taken once");
        let sent = ping.send_ping(h2::Ping::opaque());
        sent.map_err(|error| error.to_string())?;
        std::future::poll_fn(|cx| {
            let inner = &mut *self.0.borrow_mut();
            if !inner.over
                && let Poll::Ready(end) = Pin::new(&mut inner.connection).poll(cx)
            {
                inner.over = true;
                let why =
                    end.err().map_or("it closed the connection".to_owned(), |e| e.to_string());
                return Poll::Ready(Err(why));
            }
            ping.poll_pong(cx).map(|pong| pong.map(drop).map_err(|error| error.to_string()))
        })
        .await
    }

    /// Ready when no request can be sent on it any more. Answers PINGs and takes
    /// in what else comes.
    pub(crate) fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.0.borrow_mut();
        inner.work(cx);
        if inner.is_good(cx) { Poll::Pending } else { Poll::Ready(()) }
    }

    /// Closes the connection, if this is its last clone: GOAWAY, and the transport by `close`.
    /// Never waits.
    pub(crate) fn finish(self, close: Close) {
        let Some(inner) = Rc::into_inner(self.0) else { return };
        let Inner { requests, mut connection, seen, over, .. } = inner.into_inner();
        seen.close.set(close);
        drop(requests);
        if !over {
            let mut cx = Context::from_waker(Waker::noop());
            let _ = Pin::new(&mut connection).poll(&mut cx);
        }
    }

    /// Sends the request and takes in the answer.
    pub(crate) async fn run(&self, exchange: Exchange<'_>) -> Result<Answer, ExchangeError> {
        self.0.borrow_mut().begins();
        let result = self.answer(exchange).await;
        self.0.borrow_mut().in_flight -= 1;
        result
    }

    async fn answer(&self, exchange: Exchange<'_>) -> Result<Answer, ExchangeError> {
        let Exchange { bytes, sent, mut keep, stage, watch, headers, .. } = exchange;
        stage.set(Stage::FirstByte);
        let broken = |failure| ExchangeError { failure, progress: Progress::Answered };
        let (request, body) = request(bytes, &self.0.borrow().scheme).map_err(broken)?;
        let response = self.ask(request, body).await?;
        let first_byte = Instant::now();
        stage.set(Stage::LastByte);
        let (head, mut body) = response.into_parts();
        let shown = watch.head(head.status.as_u16(), |seen| write_head(&head, seen));
        keep = keep.or(shown);
        let mut length = 0;
        while let Some(piece) = self.piece(&mut body).await.map_err(broken)? {
            length += piece.len() as u64;
            self.0.borrow_mut().bodies += piece.len() as u64;
            store(&mut keep, &piece);
        }
        let last_byte = Instant::now();
        let texts =
            |name: &str| head.headers.get_all(name).into_iter().filter_map(|v| v.to_str().ok());
        let codings: Vec<&str> = texts(CONTENT_ENCODING.as_str()).collect();
        let coding = Coding::of(&codings.join(", "));
        let wanted = headers.iter();
        let fields = Fields {
            location: head.headers.get(LOCATION).map(|value| location(value.as_bytes())),
            cookies: texts(SET_COOKIE.as_str()).map(str::to_owned).collect(),
            waiting: head.headers.get(WAITING_ROOM).map(|value| WaitingPage::of(value.as_bytes())),
            headers: wanted
                .flat_map(|name| {
                    let values = head.headers.get_all(name).into_iter();
                    values.map(|value| (name.clone(), readable(value.as_bytes())))
                })
                .collect(),
        };
        let reusable = std::future::poll_fn(|cx| Poll::Ready(self.0.borrow_mut().is_good(cx)));
        Ok(Answer {
            status: head.status.as_u16(),
            reusable: reusable.await,
            coding,
            fields: fields.boxed(),
            sent,
            first_byte,
            last_byte,
            received_bytes: self.0.borrow().received(length),
        })
    }

    /// Sends a request, and gives the head of the answer.
    async fn ask(
        &self,
        request: Request<()>,
        body: Bytes,
    ) -> Result<Response<RecvStream>, ExchangeError> {
        let error = |progress, error: &h2::Error| ExchangeError {
            failure: failed(error, &self.0.borrow().seen),
            progress,
        };
        let ready = std::future::poll_fn(|cx| {
            let mut inner = self.0.borrow_mut();
            inner.work(cx);
            inner.requests.poll_ready(cx)
        });
        ready.await.map_err(|e| error(Progress::Unsent, &e))?;
        let sent = self.0.borrow_mut().requests.send_request(request, body.is_empty());
        let (mut response, mut stream) = sent.map_err(|e| error(Progress::Unsent, &e))?;
        if !body.is_empty() {
            // Held until the server's window takes it.
            let sent = stream.send_data(body, true);
            sent.map_err(|e| error(Progress::Unanswered, &e))?;
        }
        let answered = std::future::poll_fn(|cx| {
            self.0.borrow_mut().work(cx);
            Pin::new(&mut response).poll(cx)
        });
        answered.await.map_err(|e| error(Progress::Unanswered, &e))
    }

    /// The next piece of a body; `None` after its last byte and the trailer.
    async fn piece(&self, body: &mut RecvStream) -> Result<Option<Bytes>, Failure> {
        let next = std::future::poll_fn(|cx| {
            self.0.borrow_mut().work(cx);
            body.poll_data(cx)
        });
        let broken = |error| failed(&error, &self.0.borrow().seen);
        let next = next.await.transpose().map_err(broken)?;
        if let Some(piece) = next {
            // Fails only where the stream is over, which needs no window.
            let _ = body.flow_control().release_capacity(piece.len());
            return Ok(Some(piece));
        }
        let trailer = std::future::poll_fn(|cx| {
            self.0.borrow_mut().work(cx);
            body.poll_trailers(cx)
        });
        trailer.await.map_err(broken)?;
        Ok(None)
    }
}

impl Inner {
    /// Lets the connection work: write what is queued, read what has come.
    fn work(&mut self, cx: &mut Context<'_>) {
        if !self.over {
            self.over = Pin::new(&mut self.connection).poll(cx).is_ready();
        }
    }

    /// Whether another request is possible: neither closed nor after GOAWAY.
    fn is_good(&mut self, cx: &mut Context<'_>) -> bool {
        !self.over && !matches!(self.requests.poll_ready(cx), Poll::Ready(Err(_)))
    }

    /// Counts a request that begins.
    fn begins(&mut self) {
        if self.in_flight == 0 {
            (self.before, self.bodies) = (self.seen.received_bytes.get(), 0);
        }
        self.in_flight += 1;
    }

    /// The bytes of a response whose body has this length. Those of heads and frames count for
    /// the last of several that were in flight together.
    fn received(&self, length: u64) -> u64 {
        if self.in_flight > 1 {
            return length;
        }
        let rest = self.seen.received_bytes.get() - self.before;
        length + rest.saturating_sub(self.bodies)
    }
}

impl fmt::Debug for Http2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http2").field("seen", &self.0.borrow().seen).finish_non_exhaustive()
    }
}

/// Writes the head of a response as HTTP/1.1 would have it.
fn write_head(head: &http::response::Parts, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("HTTP/2 {}\r\n", head.status.as_u16()).as_bytes());
    for (name, value) in &head.headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// What an error of the protocol is counted as.
fn failed(error: &h2::Error, seen: &Seen) -> Failure {
    let by_server = error.is_remote();
    if by_server && error.is_reset() {
        return match error.reason() {
            Some(Reason::REFUSED_STREAM) => Failure::StreamRefused,
            _ => Failure::StreamReset,
        };
    }
    if by_server && error.is_go_away() {
        return Failure::GoAway;
    }
    seen.ended.get().unwrap_or(Failure::Http)
}

/// The same request in the fields of HTTP/2, from how it goes out over HTTP/1.1:
/// what customers ask for is put together in one place.
fn request(bytes: &[u8], scheme: &Scheme) -> Result<(Request<()>, Bytes), Failure> {
    let mut parsed = [httparse::EMPTY_HEADER; HEADERS];
    let mut read = httparse::Request::new(&mut parsed);
    let head = match read.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        _ => return Err(Failure::Other),
    };
    let (method, path) = (read.method.unwrap_or("GET"), read.path.unwrap_or("/"));
    let mut headers = HeaderMap::with_capacity(read.headers.len());
    let mut authority = None;
    for header in read.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(ours)?;
        if name == HOST {
            authority = Authority::try_from(header.value).ok();
        } else if !OF_CONNECTIONS.contains(&name) {
            let value = HeaderValue::from_bytes(header.value).map_err(ours)?;
            headers.append(name, value);
        }
    }
    let uri = Uri::builder()
        .scheme(scheme.clone())
        .authority(authority.ok_or(Failure::Other)?)
        // Stands in paths of pages, but not in those of this library.
        .path_and_query(path.replace('`', "%60"))
        .build()
        .map_err(ours)?;
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(method.as_bytes()).map_err(ours)?;
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_2;
    *request.headers_mut() = headers;
    Ok((request, Bytes::copy_from_slice(&bytes[head..])))
}

/// A request that cannot be put so is the driver's own mistake.
fn ours<E>(_: E) -> Failure {
    Failure::Other
}

/// The transport with counters: h2 reports neither the bytes nor how it ended.
struct Watched {
    wire: Transport,
    seen: Rc<Seen>,
}

impl Watched {
    fn note<T>(&self, result: &io::Result<T>) {
        if let Err(error) = result {
            self.seen.ended.set(Some(failure(error)));
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = std::task::ready!(self.wire.poll_read(cx, buf));
        self.note(&result);
        let count = buf.filled().len() - before;
        if result.is_ok() && count == 0 {
            self.seen.ended.set(Some(Failure::Closed));
        }
        self.seen.received_bytes.set(self.seen.received_bytes.get() + count as u64);
        Poll::Ready(result)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = std::task::ready!(self.wire.poll_write(cx, bytes));
        self.note(&result);
        Poll::Ready(result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = std::task::ready!(self.wire.poll_flush(cx));
        self.note(&result);
        Poll::Ready(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let close = self.seen.close.get();
        self.wire.finish(close);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_same_fields_in_both_versions() {
        let bytes = b"POST /bids?a=`b HTTP/1.1\r\nHost: shop:8443\r\nUser-Agent: x\r\n\
                      Connection: close\r\nCookie: a=1; b=2\r\nContent-Length: 3\r\n\r\nq=1";
        let (request, body) = request(bytes, &Scheme::HTTPS).unwrap();
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri(), "https://shop:8443/bids?a=%60b");
        assert_eq!(
            (request.headers()["cookie"].to_str().unwrap(), &body[..]),
            ("a=1; b=2", &b"q=1"[..])
        );
        let mut names: Vec<&str> = request.headers().keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-length", "cookie", "user-agent"]);
    }
}
