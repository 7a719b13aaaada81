//! One request: from the customer to the upstream and the response back.

use crate::connection::state::Watch;
use crate::http::guard::Guard;
use crate::http::headers::{self, Origins};
use crate::http::pages::Answer;
use crate::http::pool::{Borrowed, Pool};
use crate::http::response_body::{Reply, UnderWay, Upload};
use crate::telemetry::clock;
use crate::telemetry::counters::UpstreamFault;
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

/// What serving one customer's requests takes.
pub struct Customer {
    /// What her connection is doing.
    pub watch: Rc<Watch>,
    /// Watches for conflicting lengths.
    pub guard: Rc<RefCell<Guard>>,
    /// What the upstream is told about her.
    pub origins: Origins,
    /// The way to the upstream.
    pub pool: Rc<Pool>,
}

/// Serves one request. Never fails: what goes wrong becomes an answer, or
/// breaks the response's body off.
pub async fn serve(
    customer: Rc<Customer>,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Infallible> {
    let watch = &customer.watch;
    let begun = watch.request(!request.body().is_end_stream());
    let under_way = UnderWay::begin(watch, begun);
    let response = match pass_on(&customer, request).await {
        Ok((response, lane)) => {
            let (mut parts, body) = response.into_parts();
            headers::remove_hop_by_hop(&mut parts.headers);
            parts.version = Version::HTTP_11;
            Response::from_parts(parts, Reply::upstream(body, lane, under_way))
        }
        Err(answer) => {
            if answer.closes() {
                watch.offend();
            }
            let fault = match answer {
                Answer::Late => Some(UpstreamFault::Timeout),
                Answer::BrokenUpstream => Some(UpstreamFault::Broken),
                _ => None,
            };
            if let Some(fault) = fault {
                watch.counters.upstream_faults[fault as usize].add(1);
            }
            answer.response().map(|page| Reply::page(page, under_way))
        }
    };
    watch.counters.code(response.status().as_u16());
    watch.reply(clock::now());
    Ok(response)
}

async fn pass_on(
    customer: &Customer,
    request: Request<Incoming>,
) -> Result<(Response<Incoming>, Borrowed), Answer> {
    let (mut parts, body) = request.into_parts();
    let chunked = parts.headers.contains_key(TRANSFER_ENCODING);
    if chunked && customer.guard.borrow_mut().conflict() {
        return Err(Answer::TwoLengths);
    }
    headers::to_upstream(&mut parts, &customer.origins, chunked)?;
    let again = body.is_end_stream().then(|| Again::of(&parts)).flatten();
    let request = Request::from_parts(parts, Upload::new(body, &customer.watch));

    let pooled = poll_fn(|cx| Poll::Ready(customer.pool.take(cx))).await;
    let Some(mut lane) = pooled else {
        return fresh(customer, request).await;
    };
    match exchange(&customer.watch, &mut lane, request).await {
        Ok(response) => Ok((response, lane)),
        Err(Trouble::Late) => Err(Answer::Late),
        Err(Trouble::Broken(unsent)) => {
            // The connection had died while it lay in the pool. What was not
            // sent, or may safely be sent twice, gets a second try.
            let unsent = unsent.map(|request| *request);
            let Some(request) = unsent.or_else(|| again.map(Again::request)) else {
                return Err(Answer::BrokenUpstream);
            };
            customer.watch.counters.upstream_retries[0].add(1);
            drop(lane);
            fresh(customer, request).await
        }
    }
}

/// Sends a request over a new connection.
async fn fresh(
    customer: &Customer,
    request: Request<Upload>,
) -> Result<(Response<Incoming>, Borrowed), Answer> {
    let mut lane = customer.pool.connect().await.map_err(|error| {
        tracing::debug!(%error, "the upstream takes no connection");
        Answer::Unreachable
    })?;
    match exchange(&customer.watch, &mut lane, request).await {
        Ok(response) => Ok((response, lane)),
        Err(Trouble::Late) => Err(Answer::Late),
        Err(Trouble::Broken(_)) => Err(Answer::BrokenUpstream),
    }
}

/// Why an exchange brought no response.
enum Trouble {
    Late,
    /// The connection broke; with the request if nothing of it was sent.
    Broken(Option<Box<Request<Upload>>>),
}

/// Sends a request and drives the connection until the response's head is there.
async fn exchange(
    watch: &Watch,
    lane: &mut Borrowed,
    request: Request<Upload>,
) -> Result<Response<Incoming>, Trouble> {
    let sent = clock::now();
    let mut response = pin!(lane.lane().sender.try_send_request(request));
    let response = poll_fn(|cx| {
        lane.lane().drive(cx);
        match response.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(result.map_err(|mut error| {
                tracing::debug!(error = %error.error(), "the upstream broke off");
                Trouble::Broken(error.take_message().map(Box::new))
            })),
            Poll::Pending if watch.upstream_late() => Poll::Ready(Err(Trouble::Late)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Trouble::Broken(None));
    }
    watch.counters.upstream(clock::now().saturating_duration_since(sent));
    Ok(response)
}

/// What a request without a body takes to be sent again.
struct Again {
    method: Method,
    uri: http::Uri,
    headers: HeaderMap,
}

impl Again {
    /// Keeps a request that may be sent twice.
    ///
    /// Source: RFC 9110, section 9.2.2.
    fn of(parts: &Parts) -> Option<Self> {
        parts.method.is_idempotent().then(|| Self {
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
        })
    }

    fn request(self) -> Request<Upload> {
        let mut request = Request::new(Upload::empty());
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.headers_mut() = self.headers;
        request
    }
}
