//! One request: from the customer to the upstream, and the response back.

use crate::admission::sessions::SessionConnection;
use crate::connection::exchange::{Activity, Exchange};
use crate::connection::interim::Interim;
use crate::connection::own_session::OwnSession;
use crate::connection::state::ConnectionState;
use crate::context::CoreContext;
use crate::framing::{Fault, Part, Rule};
use crate::http::asked_tunnel::AskedTunnel;
use crate::http::attempt::{Answer, RetryCopy, send_to};
use crate::http::client_subject::ClientSubject;
use crate::http::cookie_field;
use crate::http::customer_body::CustomerBody;
use crate::http::expectation::{Continue, Expectation};
use crate::http::forwarding::Customer;
use crate::http::headers;
use crate::http::pages::ErrorPage;
use crate::http::priority;
use crate::http::request_body::RequestBody;
use crate::http::response_body::{RequestGuard, ResponseBody};
use crate::http::service_fields::{self, Told};
use crate::http::sessions::{Cookies, Visit};
use crate::http::stream_types::StreamTypes;
use crate::http::trace_context;
use crate::http::websocket::Opening;
use crate::static_tier::{Body, StaticTier};
use crate::telemetry::clock;
use crate::telemetry::labels::{Malformed, UpstreamFault};
use crate::telemetry::usage::load::orca;
use crate::tunnel::Tunnel;
use crate::upstream::balance::Upstream;
use crate::upstream::connector::UpstreamConnection;
use crate::upstream::error::in_words;
use crate::upstream::pool::Pooled;
use crate::upstream::routes::Routes;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Version, response};
use hyper::body::{Body as _, Incoming};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;
use tidegate_trace::Phase;

/// The reverse proxy of one connection.
pub struct Proxy {
    /// Most fields of a request's head.
    pub max_fields: usize,
    /// The gate's cookies, if it sets any.
    pub cookies: Option<Cookies>,
    /// The session of the connection, if it has one.
    pub session: Rc<OwnSession>,
    /// The customer, as the upstream learns of them.
    pub customer: Customer,
    /// The field for the subject of the client's certificate, if the upstream receives it.
    pub subject: Option<ClientSubject>,
    /// Where requests go.
    pub routes: Rc<Routes>,
    /// What the connections of the core share.
    pub context: Rc<CoreContext>,
    /// What follows the response: the upstream has agreed to a WebSocket.
    pub tunnel: RefCell<Option<Box<Tunnel>>>,
    /// With HTTP/2: the connection ends after the responses that are under way, since its customer
    /// waits in the room.
    pub leaves: Cell<bool>,
}

impl Proxy {
    /// Does what the service says of a session and of the line.
    fn obey(&self, told: Told, visit: Option<&Visit>) {
        let apply = |session: &SessionConnection| told.apply_to(session, &self.context);
        match visit.and_then(Visit::session) {
            Some(session) => apply(session),
            None => self.session.with(apply),
        }
        told.apply_to_line(&self.context.shared);
    }
}

/// Serves one request of a connection with HTTP/1. Never fails: an error becomes an error page, or cuts the
/// response's body.
///
/// The request is under way when this returns, not only when the future is polled: in
/// between the library reads on, and may find that what follows is malformed.
pub fn serve(
    proxy: Rc<Proxy>,
    state: Rc<ConnectionState>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<ResponseBody>, Infallible>> {
    let exchange = state.request(!request.body().is_end_stream());
    exchange.asked.note(&request);
    let is_http_1_0 = request.version() < Version::HTTP_11;
    let request_id = exchange.log().map(|log| log.begin(&request));
    let answered = (request.map(CustomerBody::Http1), request_id);
    let guard = RequestGuard::new(exchange.clone());
    async move {
        let (mut response, streams) = answer_with(&proxy, &exchange, answered, guard).await;
        if is_http_1_0 && response.body().size_hint().exact().is_none() {
            // Its end is the end of the connection. For a response of HTTP/1.1 the library would
            // keep it.
            *response.version_mut() = Version::HTTP_10;
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if exchange.activity() != Activity::Tunnel {
            state.response(&exchange, streams, clock::now());
        }
        Ok(response)
    }
}

/// Serves one request. Never fails. Returns whether the response begins a stream of events as
/// well.
pub fn answer<'a>(
    proxy: &'a Proxy,
    exchange: &'a Rc<Exchange>,
    request: Request<CustomerBody>,
) -> impl Future<Output = (Response<ResponseBody>, bool)> + 'a {
    let request_id = exchange.log().map(|log| log.begin(&request));
    let guard = RequestGuard::new(exchange.clone());
    answer_with(proxy, exchange, (request, request_id), guard)
}

async fn answer_with(
    proxy: &Proxy,
    exchange: &Rc<Exchange>,
    request: (Request<CustomerBody>, Option<u128>),
    mut guard: RequestGuard,
) -> (Response<ResponseBody>, bool) {
    let (mut streams, mut by_gate) = (false, false);
    let answered = serve_by_route(proxy, exchange, request, &mut guard.visit).await;
    let set_cookies = guard.visit.as_mut().map(|visit| visit.take_cookies());
    let mut response = match answered {
        Ok(Answered::Gate(page)) => {
            by_gate = true;
            page.map(|body| ResponseBody::page(body, guard))
        }
        Ok(Answered::File(file)) => file.map(|body| match body {
            Body::Memory(bytes) => ResponseBody::page(bytes, guard),
            Body::File(file) => ResponseBody::file(file, guard),
        }),
        Ok(Answered::Upstream(parts, body, connection, is_stream)) => {
            streams = is_stream;
            Response::from_parts(parts, ResponseBody::upstream(body, connection, guard))
        }
        Ok(Answered::WebSocket(parts, mut tunnel)) => {
            tunnel.visit = guard.visit.take();
            exchange.tunnel_begins();
            proxy.tunnel.replace(Some(tunnel));
            Response::from_parts(parts, ResponseBody::page(Bytes::new(), guard))
        }
        Err(Unanswered { page, why }) => {
            by_gate = true;
            if let Some(part) = page.malformed() {
                tracing::debug!(part = part.name(), "a request is malformed");
                exchange.note_malformed(part);
            }
            if let Some(fault) = page.upstream_fault() {
                exchange.upstream_failed(fault, &why);
            }
            page.response().map(|body| ResponseBody::page(body, guard))
        }
    };
    cookie_field::set_for_one(response.headers_mut(), set_cookies.unwrap_or_default());
    let status = response.status().as_u16();
    exchange.counters.code(status);
    exchange.log().inspect(|log| log.answered(status, by_gate));
    tidegate_trace::with_line(|line| line.set_status(status));
    (response, streams)
}

/// A response.
enum Answered {
    /// Of the gate itself: nobody is admitted.
    Gate(Response<Bytes>),
    /// From a file.
    File(Response<Body>),
    /// Of the upstream; whether it begins a stream of events.
    Upstream(response::Parts, Incoming, Pooled, bool),
    /// Of the upstream, which has agreed to a WebSocket.
    WebSocket(response::Parts, Box<Tunnel>),
}

/// A request that the gate answers itself.
pub struct Unanswered {
    /// What the customer gets.
    pub page: ErrorPage,
    /// What the operator should know, where it is the upstream's fault.
    pub why: String,
}

impl Unanswered {
    /// For the upstream's fault.
    pub fn new(page: ErrorPage, why: impl Into<String>) -> Self {
        Self { page, why: why.into() }
    }
}

/// For the customer's fault.
impl From<ErrorPage> for Unanswered {
    fn from(page: ErrorPage) -> Self {
        Self::new(page, "")
    }
}

/// Makes the upstream's response the customer's.
fn to_customer(
    exchange: &Exchange,
    (response, mut connection): (Response<Incoming>, Pooled),
    to_head: bool,
    types: &StreamTypes,
) -> Result<Answered, Unanswered> {
    let (mut parts, body) = response.into_parts();
    match headers::to_customer(&mut parts, to_head) {
        Ok(true) => {}
        Ok(false) => connection.close_after_response(),
        Err(part) => {
            exchange.counters.malformed_responses[part].add(1);
            let why = "its response has a transfer coding other than chunked";
            return Err(Unanswered::new(ErrorPage::BrokenUpstream, why));
        }
    }
    let streams = types.begins_stream(&parts.headers, &body);
    Ok(Answered::Upstream(parts, body, connection, streams))
}

/// Serves a request from where its route leads.
async fn serve_by_route(
    proxy: &Proxy,
    exchange: &Rc<Exchange>,
    (request, request_id): (Request<CustomerBody>, Option<u128>),
    visit: &mut Option<Box<Visit>>,
) -> Result<Answered, Unanswered> {
    let to_head = request.method() == Method::HEAD;
    let (mut parts, body) = request.into_parts();
    let traceparent = trace_context::pass_on(&mut parts.headers, request_id.is_some());
    if let (Some(log), Some(traceparent)) = (exchange.log(), traceparent) {
        log.traced(traceparent);
    }
    let chunked = match parts.version {
        Version::HTTP_2 => {
            if let Err(page) = headers::accept_http2(&mut parts, proxy.max_fields) {
                if let ErrorPage::Malformed(rule) = page {
                    exchange.note_malformed(Malformed::of(Fault { part: Part::Head, rule }));
                }
                return Err(page.into());
            }
            !body.is_end_stream() && !parts.headers.contains_key(CONTENT_LENGTH)
        }
        _ => parts.headers.contains_key(TRANSFER_ENCODING),
    };
    headers::accept(&mut parts, chunked)?;
    match &proxy.cookies {
        Some(cookies) if cookies.are_read() => {
            match Box::pin(cookies.admit(exchange, &mut parts)).await {
                Ok(admitted) => *visit = admitted,
                Err(page) => {
                    proxy.leaves.set(page.headers().contains_key(CONNECTION));
                    return Ok(Answered::Gate(page));
                }
            }
        }
        Some(cookies) => _ = cookies.take(&mut parts.headers),
        None => {}
    }
    let way = proxy.routes.find(&parts);
    exchange.takes(way.counts);
    exchange.within(way.rules.times);
    exchange.log().inspect(|log| log.routed(way.route));
    let websocket = match parts.headers.contains_key(UPGRADE) {
        true => AskedTunnel::of(&proxy.context, &parts, way.rules)?,
        false => None,
    };
    if let Some(tier) = way.tier
        && websocket.is_none()
        && body.is_end_stream()
        && let Some(file) = file(tier, exchange, &parts).await
    {
        exchange.answered_by_file();
        return Ok(Answered::File(file));
    }
    if let Some(priority) = way.priority {
        priority::judge(proxy, exchange, priority, visit.as_deref())?;
    }
    exchange.passed_to(way.upstream.name());
    let by_http2 = parts.version == Version::HTTP_2;
    headers::to_upstream(&mut parts, &way.upstream.forwarding, &proxy.customer, chunked);
    if let Some(id) = request_id {
        headers::identify(&mut parts.headers, id);
    }
    if let Some(asked) = &websocket {
        asked.opening.ask(&mut parts.headers);
        parts.extensions.insert(asked.opening.clone());
    }
    let body = RequestBody::new(body, exchange);
    let mut answer = forward(proxy, exchange, way.upstream, (parts, body), by_http2).await?;
    if way.upstream.reports_load
        && let Some(utilization) = orca::take(answer.0.headers_mut())
    {
        exchange.counters.load_report(utilization);
    }
    if let Some(told) = service_fields::take(answer.0.headers_mut()) {
        proxy.obey(told, visit.as_deref());
    }
    answer.1.counts().responded(answer.0.status().as_u16());
    if let Some(asked) = websocket
        && answer.0.status() == StatusCode::SWITCHING_PROTOCOLS
    {
        if exchange.early.get() {
            exchange.note_malformed(Malformed::Upgrade);
            return Err(ErrorPage::Malformed(Rule::EarlyBytes).into());
        }
        let (parts, tunnel) = asked.open(answer);
        return Ok(Answered::WebSocket(parts, tunnel));
    }
    to_customer(exchange, answer, to_head, &way.rules.stream_types)
}

/// The response of a static tier, if it has one.
async fn file(tier: &StaticTier, exchange: &Exchange, request: &Parts) -> Option<Response<Body>> {
    let name = tier.name_of(request)?;
    let answer = tier.answer(request, &name, exchange).await;
    answer.unwrap_or_else(|error| {
        exchange.file_failed(&error.to_string());
        None
    })
}

/// Passes a request to an upstream.
async fn forward(
    proxy: &Proxy,
    exchange: &Rc<Exchange>,
    upstream: &Upstream,
    (mut parts, mut body): (Parts, RequestBody),
    by_http2: bool,
) -> Result<Answer, Unanswered> {
    if let Some(subject) = &proxy.subject {
        subject.set(&mut parts.headers);
    }
    let copy = body.is_end_stream().then(|| RetryCopy::of(&parts)).flatten();
    let expects = parts.headers.contains_key(EXPECT) && !body.is_end_stream();
    let asked = expects.then(Continue::default);
    if let Some(asked) = &asked {
        body.wait_for(Expectation::new(asked.clone()));
    }
    let mut request = Request::from_parts(parts, body);
    if by_http2 || expects {
        let interim = by_http2.then(|| exchange.interim.clone());
        note_interim(&mut request, interim, asked);
    }

    send_to(upstream, exchange, request, copy.as_ref()).await
}

/// Notes the interim responses (1xx) to a request: a customer with HTTP/2 receives them, and a
/// 100 lets the body go. With HTTP/1 the library can send the customer none but 100, which it does
/// when the body is read.
fn note_interim(
    request: &mut Request<RequestBody>,
    interim: Option<Interim>,
    asked: Option<Continue>,
) {
    hyper::ext::on_informational(request, move |response| {
        if let Some(interim) = &interim
            && (response.status() != StatusCode::CONTINUE || asked.is_some())
        {
            interim.push(response.status(), response.headers().iter());
        }
        if let Some(asked) = &asked
            && response.status() == StatusCode::CONTINUE
        {
            asked.arrived();
        }
    });
}

/// What follows for the request where the upstream was given up, if it was.
pub fn late(exchange: &Exchange) -> Option<Unanswered> {
    Some(match exchange.upstream_late()? {
        UpstreamFault::Stalled => Unanswered::new(
            ErrorPage::Stalled,
            "it read nothing more of the request within limits.body_progress_deadline",
        ),
        _ => Unanswered::new(
            ErrorPage::Late,
            "nothing within response_timeout (or exchange_timeout)",
        ),
    })
}

/// Why sending a request ended without a response.
pub enum SendError {
    /// For a reason that another connection would not change.
    Final(Unanswered),
    /// The connection broke.
    Broken {
        /// The request, if nothing of it was sent.
        unsent: Option<Box<Request<RequestBody>>>,
        /// The reason.
        why: String,
        /// Nothing of an answer came.
        repeatable: bool,
    },
}

/// Sends a request and drives the connection until the response's head has arrived. `queued` tells
/// since when it waited for the connection, if it did.
pub async fn send(
    exchange: &Exchange,
    connection: &mut Pooled,
    request: Request<RequestBody>,
    queued: Option<Instant>,
) -> Result<Response<Incoming>, SendError> {
    let sent = clock::now();
    // A request with a body is read as it is sent.
    if exchange.activity() == Activity::Waiting {
        tidegate_trace::enter(Phase::Upstream);
    }
    connection.get().expect_response(request.method() == Method::HEAD);
    let opening = request.extensions().get::<Opening>().cloned();
    let mut response = pin!(connection.get().sender.try_send_request(request));
    let response = poll_fn(|cx| {
        let connection = connection.get();
        if exchange.take_upload_measurement() {
            connection.unacked.demand();
        }
        connection.drive(cx);
        if let Some(unacknowledged) = connection.unacked.take() {
            exchange.upload_measured(unacknowledged);
        }
        match response.as_mut().poll(cx) {
            Poll::Ready(Ok(response)) => Poll::Ready(Ok(response)),
            Poll::Ready(Err(mut error)) => {
                let unsent = error.take_message().map(Box::new);
                Poll::Ready(Err(match blame(exchange, connection) {
                    Some(unanswered) => SendError::Final(unanswered),
                    None => SendError::Broken {
                        unsent,
                        why: in_words(&error.into_error()),
                        repeatable: connection.awaits_response(),
                    },
                }))
            }
            Poll::Pending => match late(exchange) {
                Some(late) => Poll::Ready(Err(SendError::Final(late))),
                None => Poll::Pending,
            },
        }
    })
    .await?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let why = match opening {
            None => "it changed to another protocol (101), which nobody had asked for",
            Some(opening) if !opening.is_accepted(response.headers()) => {
                "its 101 does not agree to the WebSocket: Upgrade, Connection and \
                 Sec-WebSocket-Accept must fit the request"
            }
            Some(_) if !connection.get().has_ended() => "its 101 has a body",
            Some(_) => "",
        };
        if !why.is_empty() {
            return Err(SendError::Final(Unanswered::new(ErrorPage::BrokenUpstream, why)));
        }
    }
    // What it waited for a connection is a part of what the service takes.
    let took = clock::now().saturating_duration_since(queued.unwrap_or(sent));
    exchange.counters.upstream_response(took);
    exchange.route(|route| route.upstream_response(took));
    Ok(response)
}

/// Whose fault it is that an exchange broke, where that is known.
fn blame(exchange: &Exchange, connection: &mut UpstreamConnection) -> Option<Unanswered> {
    if exchange.upload_failed.get() {
        let malformed = |fault: Fault| ErrorPage::Malformed(fault.rule);
        return Some(exchange.fault().map_or(ErrorPage::CutBody, malformed).into());
    }
    let fault = connection.take_fault()?;
    exchange.counters.malformed_responses[Malformed::of(fault)].add(1);
    Some(Unanswered::new(ErrorPage::BrokenUpstream, fault.to_string()))
}
