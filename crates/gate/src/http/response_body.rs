//! Bodies on their way through the gate. Both directions stream, and neither
//! reads on before what it read has gone.

use crate::connection::state::Watch;
use crate::http::pool::Borrowed;
use crate::telemetry::clock;
use crate::telemetry::counters::UpstreamFault;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

/// A request's body on its way to the upstream.
pub struct Upload {
    from: Option<(Incoming, Rc<Watch>)>,
}

impl Upload {
    /// Passes on what the customer sends.
    pub fn new(from: Incoming, watch: &Rc<Watch>) -> Self {
        if from.is_end_stream() {
            Self::empty()
        } else {
            Self { from: Some((from, watch.clone())) }
        }
    }

    /// No body.
    pub fn empty() -> Self {
        Self { from: None }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some((incoming, watch)) = &mut self.from else { return Poll::Ready(None) };
        let polled = Pin::new(&mut *incoming).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) if !incoming.is_end_stream() => {
                watch.upload_progress(frame.data_ref().map_or(0, Bytes::len));
            }
            Poll::Ready(_) => watch.upload_end(),
            Poll::Pending => {}
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

/// A request under way, from its head to the end of its response: counts
/// itself out when dropped.
pub struct UnderWay {
    watch: Rc<Watch>,
    begun: Instant,
}

impl UnderWay {
    /// Counts a request in.
    pub fn begin(watch: &Rc<Watch>, begun: Instant) -> Self {
        watch.counters.in_requests[0].add(1);
        Self { watch: watch.clone(), begun }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.watch.counters.in_requests[0].sub(1);
        self.watch.counters.requests[self.watch.class as usize].add(1);
        self.watch.counters.duration(clock::now().saturating_duration_since(self.begun));
        self.watch.reply_end();
    }
}

/// A response's body on its way to the customer.
pub struct Reply {
    from: From,
    under_way: UnderWay,
}

enum From {
    /// The gate's own page.
    Page(Option<Bytes>),
    /// The upstream, over a connection that goes back to its pool at the end.
    Upstream(Incoming, Option<Borrowed>),
}

impl Reply {
    /// The gate's own page.
    pub fn page(page: Bytes, under_way: UnderWay) -> Self {
        Self { from: From::Page(Some(page)), under_way }
    }

    /// What the upstream sends.
    pub fn upstream(incoming: Incoming, lane: Borrowed, under_way: UnderWay) -> Self {
        let mut reply = Self { from: From::Upstream(incoming, Some(lane)), under_way };
        reply.return_if_over();
        reply
    }

    fn return_if_over(&mut self) {
        if let From::Upstream(incoming, lane) = &mut self.from
            && incoming.is_end_stream()
        {
            finish(lane, &self.under_way.watch);
        }
    }
}

/// Gives a connection back whose response is over, or closes it where the
/// upstream answered before it had the whole request.
fn finish(lane: &mut Option<Borrowed>, watch: &Watch) {
    if let Some(lane) = lane.take()
        && !watch.uploading()
    {
        lane.give_back();
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        let (incoming, lane) = match &mut this.from {
            From::Page(page) => return Poll::Ready(page.take().map(|page| Ok(Frame::data(page)))),
            From::Upstream(incoming, lane) => (incoming, lane),
        };
        let mut polled = Pin::new(&mut *incoming).poll_frame(cx);
        if let (Poll::Pending, Some(borrowed)) = (&polled, lane.as_mut()) {
            borrowed.lane().drive(cx);
            polled = Pin::new(&mut *incoming).poll_frame(cx);
        }
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(_))) => {
                this.under_way.watch.reply_progress();
                this.return_if_over();
            }
            Poll::Ready(None) => finish(lane, &this.under_way.watch),
            Poll::Ready(Some(Err(_))) => {
                let watch = &this.under_way.watch;
                watch.truncate();
                watch.counters.upstream_faults[UpstreamFault::Truncated as usize].add(1);
                lane.take();
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.from {
            From::Page(page) => page.is_none(),
            From::Upstream(incoming, _) => incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.from {
            From::Page(page) => {
                SizeHint::with_exact(page.as_ref().map_or(0, |page| page.len() as u64))
            }
            From::Upstream(incoming, _) => incoming.size_hint(),
        }
    }
}
