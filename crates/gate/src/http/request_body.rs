//! A request's body on its way to the upstream. It streams: no more is read before what
//! was read has been sent.

use crate::connection::exchange::Exchange;
use crate::http::customer_body::{CustomerBody, CutBody};
use crate::http::expectation::Expectation;
use crate::http::trailers;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The body of a request to the upstream.
pub struct RequestBody {
    from: Option<(CustomerBody, Rc<Exchange>)>,
    waits: Option<Expectation>,
}

impl RequestBody {
    /// Forwards the customer's body.
    pub fn new(from: CustomerBody, exchange: &Rc<Exchange>) -> Self {
        if from.is_end_stream() {
            Self::empty()
        } else {
            Self { from: Some((from, exchange.clone())), waits: None }
        }
    }

    /// No body.
    pub fn empty() -> Self {
        Self { from: None, waits: None }
    }

    /// It is sent only when the upstream asks for it, or does not for a while.
    pub fn wait_for(&mut self, expectation: Expectation) {
        self.waits = Some(expectation);
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = CutBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutBody>>> {
        if let Some(expectation) = &mut self.waits {
            ready!(expectation.poll(cx));
            self.waits = None;
        }
        let Some((incoming, exchange)) = &mut self.from else { return Poll::Ready(None) };
        let mut polled = Pin::new(&mut *incoming).poll_frame(cx);
        match &mut polled {
            Poll::Ready(Some(Ok(frame))) => match frame.trailers_mut() {
                Some(trailers) => {
                    trailers::clean(trailers);
                    exchange.upload_end();
                }
                None => {
                    exchange.upload_progress(frame.data_ref().map_or(0, Bytes::len));
                    if incoming.is_end_stream() {
                        exchange.upload_end();
                    }
                }
            },
            Poll::Ready(Some(Err(_))) => exchange.upload_failed.set(true),
            Poll::Ready(None) => exchange.upload_end(),
            Poll::Pending => exchange.upload_waits(),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.from.as_ref().is_none_or(|(incoming, _)| incoming.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.from.as_ref().map_or(SizeHint::with_exact(0), |(incoming, _)| incoming.size_hint())
    }
}
