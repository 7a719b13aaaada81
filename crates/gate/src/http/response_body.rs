//! A response's body on its way to the customer. It streams: no more is read before what
//! was read has been sent.

use crate::connection::exchange::Exchange;
use crate::http::sessions::Visit;
use crate::http::trailers;
use crate::static_tier::FileBody;
use crate::telemetry::clock;
use crate::telemetry::labels::{Malformed, UpstreamFault};
use crate::upstream::error::in_words;
use crate::upstream::pool::Pooled;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// A request under way, from its head to the end of its response, as long as this lives.
pub struct RequestGuard {
    exchange: Rc<Exchange>,
    /// The request as one of its session, where that is known by a cookie.
    pub visit: Option<Box<Visit>>,
}

impl RequestGuard {
    /// Counts a request as under way.
    pub fn new(exchange: Rc<Exchange>) -> Self {
        exchange.counters.in_requests.add(1);
        Self { exchange, visit: None }
    }
}

impl RequestGuard {
    /// A piece of a file was read, or could not be.
    fn piece(&self, piece: io::Result<Bytes>) -> Result<Frame<Bytes>, BodyError> {
        match piece {
            Ok(piece) => {
                self.exchange.response_progress();
                sent(&self.exchange, &piece);
                Ok(Frame::data(piece))
            }
            Err(error) => {
                self.exchange.truncated.set(true);
                self.exchange.file_failed(&error.to_string());
                Err(BodyError::File(error))
            }
        }
    }
}

/// Why a response breaks off.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The upstream broke off.
    #[error(transparent)]
    Upstream(hyper::Error),
    /// A file cannot be read to its end.
    #[error(transparent)]
    File(io::Error),
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let counters = &self.exchange.counters;
        let took = clock::now().saturating_duration_since(self.exchange.begun());
        if !self.exchange.in_room.get() {
            counters.requests[self.exchange.class].add(1);
            counters.duration(took);
        }
        self.exchange.route(|route| route.request(took));
        self.exchange.response_end();
        if let Some(visit) = self.visit.take() {
            visit.end();
        }
        // Last: who sees that none is under way finds the session free for the next.
        counters.in_requests.sub(1);
    }
}

/// A part of the response's body was handed over.
fn sent(exchange: &Exchange, bytes: &Bytes) {
    exchange.log().inspect(|log| log.sent(bytes.len()));
}

/// The body of a response to the customer.
pub struct ResponseBody {
    from: From,
    request: RequestGuard,
}

enum From {
    /// The gate's own page, or a file in memory.
    Page(Option<Bytes>),
    /// A file.
    File(FileBody),
    /// The upstream, over a connection that returns to its pool at the end.
    Upstream(Incoming, Option<Pooled>),
}

impl ResponseBody {
    /// The gate's own page, or a file in memory.
    pub fn page(page: Bytes, request: RequestGuard) -> Self {
        Self { from: From::Page(Some(page).filter(|page| !page.is_empty())), request }
    }

    /// A file.
    pub fn file(file: FileBody, request: RequestGuard) -> Self {
        Self { from: From::File(file), request }
    }

    /// The upstream's body.
    pub fn upstream(incoming: Incoming, connection: Pooled, request: RequestGuard) -> Self {
        let mut body = Self { from: From::Upstream(incoming, Some(connection)), request };
        body.release_if_over();
        body
    }

    fn release_if_over(&mut self) {
        if let From::Upstream(incoming, connection) = &mut self.from
            && incoming.is_end_stream()
        {
            release(connection, &self.request.exchange);
        }
    }
}

/// Returns a connection whose response is over to its pool, or closes it where the
/// upstream responded before it had the whole request.
fn release(connection: &mut Option<Pooled>, exchange: &Exchange) {
    if let Some(connection) = connection.take()
        && !exchange.uploading()
    {
        connection.release();
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let (incoming, connection) = match &mut this.from {
            From::Page(page) => {
                let page = page.take().inspect(|page| sent(&this.request.exchange, page));
                return Poll::Ready(page.map(|page| Ok(Frame::data(page))));
            }
            From::File(file) => {
                let piece = ready!(file.poll_piece(cx));
                return Poll::Ready(piece.map(|piece| this.request.piece(piece)));
            }
            From::Upstream(incoming, connection) => (incoming, connection),
        };
        let mut polled = Pin::new(&mut *incoming).poll_frame(cx);
        if let (Poll::Pending, Some(connection)) = (&polled, connection.as_mut()) {
            connection.get().drive(cx);
            polled = Pin::new(&mut *incoming).poll_frame(cx);
        }
        match &mut polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(frame))) => {
                this.request.exchange.response_progress();
                frame.data_ref().inspect(|data| sent(&this.request.exchange, data));
                match frame.trailers_mut() {
                    Some(trailers) => {
                        trailers::clean(trailers);
                        release(connection, &this.request.exchange);
                    }
                    None => this.release_if_over(),
                }
            }
            Poll::Ready(None) => release(connection, &this.request.exchange),
            Poll::Ready(Some(Err(error))) => {
                let exchange = &this.request.exchange;
                exchange.truncated.set(true);
                let mut why = in_words(error);
                let fault = connection.take().and_then(|mut at| at.get().take_fault());
                if let Some(fault) = fault {
                    exchange.counters.malformed_responses[Malformed::of(fault)].add(1);
                    why = fault.to_string();
                }
                // The library gives a response up as well where the request breaks off.
                if !exchange.upload_failed.get() {
                    exchange.upstream_failed(UpstreamFault::Truncated, &why);
                }
            }
        }
        polled.map_err(BodyError::Upstream)
    }

    fn is_end_stream(&self) -> bool {
        match &self.from {
            From::Page(page) => page.is_none(),
            From::File(file) => file.remaining() == 0,
            From::Upstream(incoming, _) => incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.from {
            From::Page(page) => {
                SizeHint::with_exact(page.as_ref().map_or(0, |page| page.len() as u64))
            }
            From::File(file) => SizeHint::with_exact(file.remaining()),
            From::Upstream(incoming, _) => incoming.size_hint(),
        }
    }
}
