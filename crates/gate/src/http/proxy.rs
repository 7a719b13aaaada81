//! One request: from the customer to the upstream, and the response back.

use crate::connection::state::{Activity, ConnectionState};
use crate::framing::Fault;
use crate::http::client_subject::ClientSubject;
use crate::http::forwarding::Forwarding;
use crate::http::headers;
use crate::http::pages::ErrorPage;
use crate::http::pool::{Pool, Pooled};
use crate::http::request_body::RequestBody;
use crate::http::response_body::{RequestGuard, ResponseBody};
use crate::http::stream_types::StreamTypes;
use crate::http::trace_context;
use crate::http::upstream::UpstreamConnection;
use crate::telemetry::clock;
use crate::telemetry::labels::{Malformed, UpstreamFault};
use http::header::TRANSFER_ENCODING;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, response};
use hyper::body::{Body as _, Incoming};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use tidegate_trace::Phase;

/// The reverse proxy of one connection.
pub struct Proxy {
    /// The state of the connection.
    pub state: Rc<ConnectionState>,
    /// Content types of streams of events.
    pub stream_types: Rc<StreamTypes>,
    /// What the upstream learns about the customer.
    pub forwarding: Forwarding,
    /// The field for the subject of the client's certificate, if the upstream receives it.
    pub subject: Option<ClientSubject>,
    /// Connections to the upstream.
    pub pool: Rc<Pool>,
}

/// Serves one request. Never fails: an error becomes an error page, or cuts the
/// response's body.
pub async fn serve(
    proxy: Rc<Proxy>,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    let state = &proxy.state;
    let begun = state.request(!request.body().is_end_stream());
    let request_guard = RequestGuard::new(state, begun);
    let to_head = request.method() == Method::HEAD;
    let answered = forward(&proxy, request).await;
    let answered = answered.and_then(|answer| to_customer(state, answer, to_head));
    let mut streams = false;
    let response = match answered {
        Ok((parts, body, connection)) => {
            streams = proxy.stream_types.begins_stream(&parts.headers, &body);
            Response::from_parts(parts, ResponseBody::upstream(body, connection, request_guard))
        }
        Err(page) => {
            if let Some(part) = page.malformed() {
                tracing::debug!(part = part.name(), "a request is malformed");
                state.note_malformed(part);
            }
            let fault = match page {
                ErrorPage::Late => Some(UpstreamFault::Timeout),
                ErrorPage::Stalled => Some(UpstreamFault::Stalled),
                ErrorPage::BrokenUpstream => Some(UpstreamFault::Broken),
                _ => None,
            };
            if let Some(fault) = fault {
                state.counters.upstream_faults[fault].add(1);
            }
            page.response().map(|body| ResponseBody::page(body, request_guard))
        }
    };
    let status = response.status().as_u16();
    state.counters.code(status);
    tidegate_trace::with_line(|line| line.set_status(status));
    state.response(streams, clock::now());
    Ok(response)
}

/// Makes the upstream's response the customer's.
fn to_customer(
    state: &ConnectionState,
    (response, mut connection): (Response<Incoming>, Pooled),
    to_head: bool,
) -> Result<(response::Parts, Incoming, Pooled), ErrorPage> {
    let (mut parts, body) = response.into_parts();
    match headers::to_customer(&mut parts, to_head) {
        Ok(true) => {}
        Ok(false) => connection.close_after_response(),
        Err(part) => {
            tracing::debug!("the upstream's response has a transfer coding other than chunked");
            state.counters.malformed_responses[part].add(1);
            return Err(ErrorPage::BrokenUpstream);
        }
    }
    Ok((parts, body, connection))
}

async fn forward(
    proxy: &Proxy,
    request: Request<Incoming>,
) -> Result<(Response<Incoming>, Pooled), ErrorPage> {
    let (mut parts, body) = request.into_parts();
    trace_context::pass_on(&mut parts.headers);
    let chunked = parts.headers.contains_key(TRANSFER_ENCODING);
    headers::to_upstream(&mut parts, &proxy.forwarding, chunked)?;
    if let Some(subject) = &proxy.subject {
        subject.set(&mut parts.headers);
    }
    let copy = body.is_end_stream().then(|| RetryCopy::of(&parts)).flatten();
    let request = Request::from_parts(parts, RequestBody::new(body, &proxy.state));

    let pooled = poll_fn(|cx| Poll::Ready(proxy.pool.pop(cx))).await;
    let Some(mut connection) = pooled else {
        return on_new_connection(proxy, request).await;
    };
    match exchange(&proxy.state, &mut connection, request).await {
        Ok(response) => Ok((response, connection)),
        Err(ExchangeError::Final(page)) => Err(page),
        Err(ExchangeError::Broken(unsent)) => {
            // The connection had gone stale in the pool. A request that was not sent, or
            // may safely be sent twice, is tried a second time.
            let unsent = unsent.map(|request| *request);
            let Some(request) = unsent.or_else(|| copy.map(RetryCopy::request)) else {
                return Err(ErrorPage::BrokenUpstream);
            };
            proxy.state.counters.upstream_retries.add(1);
            drop(connection);
            on_new_connection(proxy, request).await
        }
    }
}

/// Sends a request over a new connection.
async fn on_new_connection(
    proxy: &Proxy,
    request: Request<RequestBody>,
) -> Result<(Response<Incoming>, Pooled), ErrorPage> {
    let mut connect = pin!(proxy.pool.connect());
    let connected = poll_fn(|cx| match connect.as_mut().poll(cx) {
        Poll::Pending => {
            late_page(&proxy.state).map_or(Poll::Pending, |page| Poll::Ready(Err(page)))
        }
        Poll::Ready(connected) => Poll::Ready(connected.map_err(|error| {
            tracing::debug!(%error, "the upstream does not accept a connection");
            ErrorPage::Unreachable
        })),
    });
    let mut connection = connected.await?;
    match exchange(&proxy.state, &mut connection, request).await {
        Ok(response) => Ok((response, connection)),
        Err(ExchangeError::Final(page)) => Err(page),
        Err(ExchangeError::Broken(_)) => Err(ErrorPage::BrokenUpstream),
    }
}

/// The page for an upstream that was given up, if it was.
fn late_page(state: &ConnectionState) -> Option<ErrorPage> {
    let fault = state.upstream_late()?;
    tracing::debug!(fault = fault.name(), "the upstream is late");
    Some(match fault {
        UpstreamFault::Stalled => ErrorPage::Stalled,
        _ => ErrorPage::Late,
    })
}

/// Why an exchange ended without a response.
enum ExchangeError {
    /// For a reason that another connection would not change.
    Final(ErrorPage),
    /// The connection broke; with the request if nothing of it was sent.
    Broken(Option<Box<Request<RequestBody>>>),
}

/// Sends a request and drives the connection until the response's head has arrived.
async fn exchange(
    state: &ConnectionState,
    connection: &mut Pooled,
    request: Request<RequestBody>,
) -> Result<Response<Incoming>, ExchangeError> {
    let sent = clock::now();
    // A request with a body is read as it is sent.
    if state.activity() == Activity::Waiting {
        tidegate_trace::enter(Phase::Upstream);
    }
    connection.get().expect_response(request.method() == Method::HEAD);
    let mut response = pin!(connection.get().sender.try_send_request(request));
    let response = poll_fn(|cx| {
        let connection = connection.get();
        if state.take_upload_look() {
            connection.probe.demand();
        }
        connection.drive(cx);
        if let Some(unacknowledged) = connection.probe.take() {
            state.upload_rest(unacknowledged);
        }
        match response.as_mut().poll(cx) {
            Poll::Ready(Ok(response)) => Poll::Ready(Ok(response)),
            Poll::Ready(Err(mut error)) => {
                let unsent = error.take_message().map(Box::new);
                tracing::debug!(error = %error.into_error(), "the exchange with the upstream broke");
                Poll::Ready(Err(match blame(state, connection) {
                    Some(page) => ExchangeError::Final(page),
                    None => ExchangeError::Broken(unsent),
                }))
            }
            Poll::Pending => match late_page(state) {
                Some(page) => Poll::Ready(Err(ExchangeError::Final(page))),
                None => Poll::Pending,
            },
        }
    })
    .await?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(ExchangeError::Final(ErrorPage::BrokenUpstream));
    }
    state.counters.upstream_response(clock::now().saturating_duration_since(sent));
    Ok(response)
}

/// Whose fault it is that an exchange broke, where that is known.
fn blame(state: &ConnectionState, connection: &mut UpstreamConnection) -> Option<ErrorPage> {
    if state.upload_failed() {
        let malformed = |fault: Fault| ErrorPage::Malformed(fault.rule);
        return Some(state.fault().map_or(ErrorPage::CutBody, malformed));
    }
    let fault = connection.take_fault()?;
    tracing::debug!(%fault, "the upstream's response is malformed");
    state.counters.malformed_responses[Malformed::of(fault)].add(1);
    Some(ErrorPage::BrokenUpstream)
}

/// A copy of a request without a body, to be sent again.
struct RetryCopy {
    method: Method,
    uri: http::Uri,
    headers: HeaderMap,
}

impl RetryCopy {
    /// A copy of a request that may be sent twice.
    ///
    /// Source: RFC 9110, section 9.2.2.
    fn of(parts: &Parts) -> Option<Self> {
        parts.method.is_idempotent().then(|| Self {
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
        })
    }

    fn request(self) -> Request<RequestBody> {
        let mut request = Request::new(RequestBody::empty());
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.headers_mut() = self.headers;
        request
    }
}
