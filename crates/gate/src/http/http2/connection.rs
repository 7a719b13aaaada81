//! A customer's connection with HTTP/2, from the first request to its end.

use super::stream;
use super::wire::{Shared, Wire};
use crate::connection::exchange::Expiry;
use crate::connection::state::ConnectionState;
use crate::connection::transport::Transport;
use crate::context::CoreContext;
use crate::framing::{Excess, FrameLimits, Frames};
use crate::http::proxy::Proxy;
use crate::http::timer::poll_deadline;
use crate::linger::LINGER;
use crate::places::Place;
use crate::shutdown::Stage;
use crate::telemetry::clock;
use crate::telemetry::labels::{End, Flood, Malformed};
use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, Stream as _};
use h2::server::{Builder, Connection, Handshake};
use h2::{Reason, RecvStream};
use http::Request;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tidegate_trace::{Phase, Traced};
use tokio::time::sleep_until;

/// The window of all requests' bodies of a connection together. The library bounds what small
/// frames of data cost by it: below 1 MiB it takes honest uploads for an attack.
const CONNECTION_WINDOW: u32 = 1 << 20;
/// The window of one request's body: an upstream that does not read it holds back no others.
const STREAM_WINDOW: u32 = 256 << 10;
/// Bytes of one response that the library keeps at most.
const SEND_BUFFER: usize = 64 << 10;
/// Streams that the customer reset before they were served, and those that the library reset
/// since they break HTTP; with more of them it ends the connection.
const LIBRARY_RESETS: usize = 100;

type Streams = FuturesUnordered<Traced<Pin<Box<dyn Future<Output = ()>>>>>;

/// Serves a connection until it ends. Returns why it ended.
pub async fn serve(
    context: &CoreContext,
    transport: Transport,
    state: Rc<ConnectionState>,
    place: &Place,
    proxy: Rc<Proxy>,
) -> End {
    let limits = &context.config.limits;
    let allowed = FrameLimits { resets: limits.http2_resets, control: limits.http2_control_frames };
    let shared = Rc::new(Shared {
        state,
        pacing: Default::default(),
        excess: Cell::new(None),
        lingers: Cell::new(false),
        resets: Cell::new(false),
    });
    let wire = Wire::new(transport, Frames::new(allowed, clock::now()), shared.clone());
    let mut library = Builder::new();
    library
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(u32::try_from(limits.head_max_bytes).unwrap_or(u32::MAX))
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_window_size(STREAM_WINDOW)
        .max_send_buffer_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(LIBRARY_RESETS)
        .max_local_error_reset_streams(Some(LIBRARY_RESETS));
    let mut server = Server {
        library: Library::Begins(library.handshake(wire)),
        streams: FuturesUnordered::new(),
        shared,
        proxy,
    };
    let end = server.until_end(context, place).await;
    tidegate_trace::enter(Phase::Close);
    let Server { library, streams, shared, .. } = server;
    // What is under way ends with the connection.
    drop(streams);
    finish(library, &shared, end).await;
    end
}

/// The library's part of a connection.
enum Library {
    /// The preface has not arrived.
    Begins(Handshake<Wire, Bytes>),
    /// Requests arrive.
    Serves(Connection<Wire, Bytes>),
}

struct Server {
    library: Library,
    streams: Streams,
    shared: Rc<Shared>,
    proxy: Rc<Proxy>,
}

impl Server {
    async fn until_end(&mut self, context: &CoreContext, place: &Place) -> End {
        let shutdown = &context.shutdown;
        let counters = &context.counters;
        let mut sleep = pin!(sleep_until(clock::now().into()));
        let (mut subscription, mut draining) = (None, false);
        poll_fn(|cx| {
            clock::read();
            if place.is_displaced(cx) {
                return Poll::Ready(End::Displaced);
            }
            subscription.get_or_insert_with(|| shutdown.subscribe(cx.waker()));
            let mut measured = false;
            loop {
                let over = self.poll(cx);
                if let Some(excess) = self.shared.excess.get() {
                    let flood = match excess {
                        Excess::Resets => Flood::Resets,
                        Excess::ControlFrames => Flood::ControlFrames,
                    };
                    counters.http2_floods[flood].add(1);
                    return Poll::Ready(End::Flood);
                }
                if let Poll::Ready(over) = over {
                    return Poll::Ready(self.why(over, context));
                }
                if shutdown.stage() != Stage::Open {
                    // Requests may be under way until the customer has the GOAWAY.
                    let waits = shutdown.stage() == Stage::Leaving;
                    if shutdown.stage() == Stage::Closed || (!waits && self.is_quiet()) {
                        return Poll::Ready(End::Drain);
                    }
                    if let Library::Serves(library) = &mut self.library
                        && !std::mem::replace(&mut draining, true)
                    {
                        library.graceful_shutdown();
                        continue;
                    }
                }
                if self.proxy.leaves.get()
                    && let Library::Serves(library) = &mut self.library
                    && !std::mem::replace(&mut draining, true)
                {
                    library.graceful_shutdown();
                    continue;
                }
                // Streams have deadlines of their own.
                let deadline = self.shared.state.deadline_of_streams();
                let deadline = deadline.unwrap_or_else(|| clock::now() + FAR);
                ready!(poll_deadline(sleep.as_mut(), deadline, cx));
                match self.shared.state.expire_streams(measured) {
                    // The last response has not left; what it waits for wakes the task.
                    Expiry::Close(End::Idle) if !self.is_quiet() => return Poll::Pending,
                    Expiry::Close(end) => return Poll::Ready(end),
                    Expiry::Measure => measured = true,
                    Expiry::Answer => {}
                }
            }
        })
        .await
    }

    /// Takes up requests and serves those under way, until all wait.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        loop {
            let over = match &mut self.library {
                Library::Begins(handshake) => match ready!(Pin::new(handshake).poll(cx)) {
                    Ok(library) => {
                        self.library = Library::Serves(library);
                        continue;
                    }
                    Err(error) => return Poll::Ready(Err(error)),
                },
                Library::Serves(library) => library.poll_accept(cx),
            };
            match over {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    self.begin(request, respond);
                    continue;
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending => {}
            }
            // What they hand over wakes the library.
            while let Poll::Ready(Some(())) = Pin::new(&mut self.streams).poll_next(cx) {}
            return Poll::Pending;
        }
    }

    fn begin(&mut self, request: Request<RecvStream>, respond: h2::server::SendResponse<Bytes>) {
        let line = tidegate_trace::Line::begin_request(Phase::ReadRequest);
        let stream = stream::serve(self.shared.clone(), self.proxy.clone(), request, respond);
        self.streams.push(Traced::new(line, Box::pin(stream)));
    }

    /// Whether no request is under way, and all responses have left.
    fn is_quiet(&self) -> bool {
        let answered = match &self.library {
            Library::Begins(_) => true,
            Library::Serves(library) => !library.has_streams(),
        };
        answered && self.streams.is_empty() && !self.shared.state.is_blocked()
    }

    /// Why the library ended.
    fn why(&self, over: Result<(), h2::Error>, context: &CoreContext) -> End {
        let counters = &context.counters;
        let idle = self.streams.is_empty();
        match over {
            Ok(()) if context.shutdown.stage() != Stage::Open => End::Drain,
            Ok(()) if self.proxy.leaves.get() => End::Finished,
            Ok(()) if idle => End::Customer,
            Ok(()) => End::Broken,
            Err(error) if error.is_io() && idle => End::Customer,
            Err(error) if error.is_io() => End::Broken,
            // The customer's own GOAWAY.
            Err(error) if error.is_remote() => End::Customer,
            Err(error) if error.reason() == Some(Reason::ENHANCE_YOUR_CALM) => {
                counters.http2_floods[Flood::Library].add(1);
                End::Flood
            }
            Err(error) => {
                tracing::debug!(%error, "a connection breaks HTTP/2");
                counters.malformed_requests[Malformed::Frame].add(1);
                End::BadRequest
            }
        }
    }
}

/// While nothing has a deadline.
const FAR: Duration = Duration::from_secs(86_400);

/// Ends a connection in the way that its end demands: with a GOAWAY that names the reason.
async fn finish(library: Library, shared: &Shared, end: End) {
    let Library::Serves(mut library) = library else { return };
    let reason = match end {
        End::Flood => Reason::ENHANCE_YOUR_CALM,
        End::Idle | End::Drain | End::Displaced | End::HeadDeadline => Reason::NO_ERROR,
        // The kernel would keep what the customer does not read.
        End::BodyDeadline => return shared.resets.set(true),
        // The library has ended.
        _ => return,
    };
    // The customer may still be sending, and a reset would overtake the GOAWAY.
    shared.lingers.set(matches!(end, End::Flood | End::Drain));
    library.abrupt_shutdown(reason);
    let patience: Instant =
        Instant::now() + if end == End::Displaced { Duration::ZERO } else { LINGER };
    let closed = poll_fn(|cx| library.poll_closed(cx));
    let _ = tokio::time::timeout_at(patience.into(), closed).await;
}
