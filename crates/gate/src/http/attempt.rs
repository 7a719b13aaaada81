//! One request to the servers of an upstream: which one gets it, over which connection, and where
//! it may be sent again.
//!
//! Source: RFC 9110, section 9.2.2 (what may be repeated).

use crate::connection::exchange::Exchange;
use crate::http::pages::ErrorPage;
use crate::http::proxy::{SendError, Unanswered, late, send};
use crate::http::request_body::RequestBody;
use crate::http::websocket::Opening;
use crate::telemetry::clock;
use crate::upstream::balance::{Busy, Upstream};
use crate::upstream::health::MemberCounts;
use crate::upstream::pool::{Pooled, Slot};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

/// An answer, and the connection that it came over.
pub type Answer = (Response<Incoming>, Pooled);

/// Sends a request to a server of the upstream, and if nothing comes of it, and that is safe, to
/// another one.
pub async fn send_to(
    upstream: &Upstream,
    exchange: &Exchange,
    request: Request<RequestBody>,
    copy: Option<&RetryCopy>,
) -> Result<Answer, Unanswered> {
    let (slot, queued) = match upstream.slot() {
        Some(slot) => (slot, None),
        None => {
            let since = clock::now();
            (Box::pin(wait_for_slot(exchange, upstream)).await?, Some(since))
        }
    };
    let pool = slot.pool().clone();
    let first = attempt(exchange, slot, request, copy, queued).await;
    let Failed { unanswered, again } = match first {
        Ok(answer) => return Ok(answer),
        Err(failed) => failed,
    };
    let second = again.and_then(|request| Some((upstream.slot_beside(&pool)?, request)));
    let Some((slot, request)) = second else { return Err(unanswered) };
    upstream.counts().retries.add(1);
    // What is rare has a box of its own: each connection of a customer has room for the rest.
    let second = Box::pin(attempt(exchange, slot, *request, None, queued)).await;
    second.map_err(|failed| failed.unanswered)
}

/// Waits for a place at an upstream all of whose servers are at their limit of connections.
async fn wait_for_slot(exchange: &Exchange, upstream: &Upstream) -> Result<Slot, Unanswered> {
    match unless_late(exchange, upstream.wait_for_slot()).await? {
        Ok(slot) => Ok(slot),
        Err(busy) => {
            let why = match busy {
                Busy::Full => "all connections are in use and upstream.queue_length requests wait",
                Busy::Late => "all connections were in use for upstream.queue_time",
            };
            Err(Unanswered::new(ErrorPage::Busy, why))
        }
    }
}

/// An attempt that failed.
struct Failed {
    unanswered: Unanswered,
    /// The request, if it may be sent to another server: nothing was sent, or it has no body and
    /// may safely be sent twice, and nothing of an answer came.
    again: Option<Box<Request<RequestBody>>>,
}

impl From<Unanswered> for Failed {
    fn from(unanswered: Unanswered) -> Self {
        Self { unanswered, again: None }
    }
}

/// Sends a request to a server: over a kept connection if there is one, and if that turns out to
/// have gone stale over a new one.
async fn attempt(
    exchange: &Exchange,
    slot: Slot,
    mut request: Request<RequestBody>,
    copy: Option<&RetryCopy>,
    queued: Option<Instant>,
) -> Result<Answer, Failed> {
    let mut taken = Some(slot);
    let popped = poll_fn(|cx| Poll::Ready(taken.take().map(|slot| slot.pop(cx)))).await;
    let slot = match popped.expect("polled once") {
        Err(slot) => slot,
        Ok(mut connection) => match send(exchange, &mut connection, request, queued).await {
            Ok(response) => return Ok((response, connection)),
            Err(SendError::Final(unanswered)) => {
                return Err(failed(connection.counts(), unanswered).into());
            }
            Err(SendError::Broken { unsent, why, repeatable }) => {
                let copy = copy.filter(|_| repeatable).map(RetryCopy::request);
                let Some(again) = unsent.or_else(|| copy.map(Box::new)) else {
                    let unanswered = Unanswered::new(ErrorPage::BrokenUpstream, why);
                    return Err(failed(connection.counts(), unanswered).into());
                };
                exchange.counters.upstream_retries.add(1);
                request = *again;
                connection.into_slot()
            }
        },
    };
    Box::pin(on_new_connection(exchange, slot, request, copy, queued)).await
}

/// Counts what a server failed.
fn failed(counts: &MemberCounts, unanswered: Unanswered) -> Unanswered {
    if unanswered.page.upstream_fault().is_some() {
        counts.failed(&unanswered.why);
    }
    unanswered
}

/// Sends a request over a new connection.
async fn on_new_connection(
    exchange: &Exchange,
    slot: Slot,
    request: Request<RequestBody>,
    copy: Option<&RetryCopy>,
    queued: Option<Instant>,
) -> Result<Answer, Failed> {
    let pool = slot.pool().clone();
    let connected = match unless_late(exchange, slot.connect()).await {
        Ok(connected) => connected,
        Err(late) => return Err(failed(pool.counts(), late).into()),
    };
    let mut connection = match connected {
        Ok(connection) => connection,
        Err(error) => {
            let unanswered = Unanswered::new(ErrorPage::Unreachable, error.to_string());
            let unanswered = failed(pool.counts(), unanswered);
            return Err(Failed { unanswered, again: Some(Box::new(request)) });
        }
    };
    match send(exchange, &mut connection, request, queued).await {
        Ok(response) => Ok((response, connection)),
        Err(SendError::Final(unanswered)) => Err(failed(pool.counts(), unanswered).into()),
        Err(SendError::Broken { unsent, why, repeatable }) => {
            let copy = copy.filter(|_| repeatable).map(RetryCopy::request);
            let again = unsent.or_else(|| copy.map(Box::new));
            let unanswered = Unanswered::new(ErrorPage::BrokenUpstream, why);
            Err(Failed { unanswered: failed(pool.counts(), unanswered), again })
        }
    }
}

/// What comes of `work`, unless the upstream is given up before.
async fn unless_late<T>(
    exchange: &Exchange,
    work: impl Future<Output = T>,
) -> Result<T, Unanswered> {
    let mut work = pin!(work);
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Pending => late(exchange).map_or(Poll::Pending, |late| Poll::Ready(Err(late))),
        Poll::Ready(done) => Poll::Ready(Ok(done)),
    })
    .await
}

/// A copy of a request without a body, to be sent again.
pub struct RetryCopy {
    method: Method,
    uri: http::Uri,
    headers: HeaderMap,
    opening: Option<Opening>,
}

impl RetryCopy {
    /// A copy of a request that may be sent twice.
    ///
    /// Source: RFC 9110, section 9.2.2.
    pub fn of(parts: &Parts) -> Option<Self> {
        parts.method.is_idempotent().then(|| Self {
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
            opening: parts.extensions.get::<Opening>().cloned(),
        })
    }

    fn request(&self) -> Request<RequestBody> {
        let mut request = Request::new(RequestBody::empty());
        request.method_mut().clone_from(&self.method);
        request.uri_mut().clone_from(&self.uri);
        request.headers_mut().clone_from(&self.headers);
        self.opening.clone().and_then(|opening| request.extensions_mut().insert(opening));
        request
    }
}
