//! One request: from the customer to the upstream, and the response back.

use crate::connection::state::ConnectionState;
use crate::http::client_subject::ClientSubject;
use crate::http::guard::LengthGuard;
use crate::http::headers::{self, Forwarding};
use crate::http::pages::ErrorPage;
use crate::http::pool::{Pool, Pooled};
use crate::http::request_body::RequestBody;
use crate::http::response_body::{RequestGuard, ResponseBody};
use crate::telemetry::clock;
use crate::telemetry::labels::UpstreamFault;
use http::header::TRANSFER_ENCODING;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper::body::{Body as _, Incoming};
use std::cell::RefCell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

/// The reverse proxy of one connection.
pub struct Proxy {
    /// The state of the connection.
    pub state: Rc<ConnectionState>,
    /// Detects conflicting lengths.
    pub guard: Rc<RefCell<LengthGuard>>,
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
    let response = match forward(&proxy, request).await {
        Ok((response, connection)) => {
            let (mut parts, body) = response.into_parts();
            headers::remove_hop_by_hop(&mut parts.headers);
            parts.version = Version::HTTP_11;
            Response::from_parts(parts, ResponseBody::upstream(body, connection, request_guard))
        }
        Err(page) => {
            if page.closes() {
                state.note_malformed();
            }
            let fault = match page {
                ErrorPage::Late => Some(UpstreamFault::Timeout),
                ErrorPage::BrokenUpstream => Some(UpstreamFault::Broken),
                _ => None,
            };
            if let Some(fault) = fault {
                state.counters.upstream_faults[fault].add(1);
            }
            page.response().map(|body| ResponseBody::page(body, request_guard))
        }
    };
    state.counters.code(response.status().as_u16());
    state.response(clock::now());
    Ok(response)
}

async fn forward(
    proxy: &Proxy,
    request: Request<Incoming>,
) -> Result<(Response<Incoming>, Pooled), ErrorPage> {
    let (mut parts, body) = request.into_parts();
    let chunked = parts.headers.contains_key(TRANSFER_ENCODING);
    if chunked && proxy.guard.borrow_mut().conflict() {
        return Err(ErrorPage::TwoLengths);
    }
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
        Err(ExchangeError::Late) => Err(ErrorPage::Late),
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
    let mut connection = proxy.pool.connect().await.map_err(|error| {
        tracing::debug!(%error, "the upstream does not accept a connection");
        ErrorPage::Unreachable
    })?;
    match exchange(&proxy.state, &mut connection, request).await {
        Ok(response) => Ok((response, connection)),
        Err(ExchangeError::Late) => Err(ErrorPage::Late),
        Err(ExchangeError::Broken(_)) => Err(ErrorPage::BrokenUpstream),
    }
}

/// Why an exchange ended without a response.
enum ExchangeError {
    /// The upstream did not respond in time.
    Late,
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
    let mut response = pin!(connection.get().sender.try_send_request(request));
    let response = poll_fn(|cx| {
        connection.get().drive(cx);
        match response.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(result.map_err(|mut error| {
                tracing::debug!(error = %error.error(), "the connection to the upstream broke");
                ExchangeError::Broken(error.take_message().map(Box::new))
            })),
            Poll::Pending if state.upstream_late() => Poll::Ready(Err(ExchangeError::Late)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(ExchangeError::Broken(None));
    }
    state.counters.upstream_response(clock::now().saturating_duration_since(sent));
    Ok(response)
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
