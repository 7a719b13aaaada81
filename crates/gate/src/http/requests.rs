//! The requests of a connection, from the first to the end: HTTP, its deadlines, and how
//! the connection closes.

use crate::access_log::ExchangeLog;
use crate::admission::entrance::Entrance;
use crate::connection::client::Client;
use crate::connection::deadlines::RequestDeadlines;
use crate::connection::exchange::{Activity, Expiry};
use crate::connection::state::ConnectionState;
use crate::connection::transport::Transport;
use crate::context::CoreContext;
use crate::framing::{Limits, Part};
use crate::http::client_subject::ClientSubject;
use crate::http::forwarding::Customer;
use crate::http::http2;
use crate::http::idle::{Due, Leave, Leaves, Timer};
use crate::http::pages::ErrorPage;
use crate::http::proxy::{self, Proxy};
use crate::http::sessions::{Cookies, RequestSessions};
use crate::http::stream::Stream;
use crate::http::timer::poll_deadline;
use crate::places::Place;
use crate::shutdown::Stage;
use crate::socket;
use crate::telemetry::clock;
use crate::telemetry::labels::{End, Malformed, TunnelEnd};
use crate::tunnel::Tunnel;
use crate::upstream::connector::Connector;
use crate::upstream::routes::Routes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Poll, ready};
use tokio::time::sleep_until;

/// Serves the requests of a core's connections.
pub struct HttpServer {
    context: Rc<CoreContext>,
    /// Where requests go.
    pub routes: Rc<Routes>,
    deadlines: RequestDeadlines,
    /// Knows sessions by their cookies.
    sessions: Option<Rc<RequestSessions>>,
    limits: Limits,
}

impl HttpServer {
    /// A server for requests that take these routes.
    pub fn new(context: Rc<CoreContext>, routes: Rc<Routes>, entrance: Entrance) -> Rc<Self> {
        let config = &context.config;
        Rc::new(Self {
            routes,
            sessions: RequestSessions::new(&context, entrance),
            deadlines: RequestDeadlines::of(config),
            limits: Limits {
                head_bytes: config.limits.head_max_bytes,
                fields: config.limits.head_max_fields,
            },
            context,
        })
    }

    /// The server for connections that begin from now on. Connections to upstreams that stay
    /// the same are kept.
    pub fn renewed(
        &self,
        context: Rc<CoreContext>,
        connectors: &[Vec<Connector>],
        entrance: Entrance,
    ) -> Rc<Self> {
        let routes = self.routes.renewed(&context, connectors, &self.context.config);
        Self::new(context, routes, entrance)
    }

    /// Serves requests until the connection ends. Returns why it ended.
    pub async fn serve(&self, transport: Transport, client: Client) -> End {
        let config = &self.context.config;
        let counters = self.context.counters.clone();
        let state = ConnectionState::new(client.class, self.deadlines, counters, clock::read());
        let state = Rc::new(state);
        if let Some(sink) = &self.context.access_log {
            let log =
                ExchangeLog::new(sink.clone(), client.peer.ip(), client.class, client.opening);
            state.exchange.log_to(log);
        }
        let place = client.place.clone();
        place.serve(&state);
        state.is_of(client.session.clone());
        let subject = config.tls.client_subject_header.as_ref();
        let subject = subject.map(|name| ClientSubject::new(name, transport.client_certificate()));
        let cookies = self.sessions.as_ref().map(|sessions| sessions.on(&client));
        if cookies.as_ref().is_some_and(Cookies::decide) {
            state.is_of_proxy();
        }
        let proxy = Rc::new(Proxy {
            cookies,
            session: client.session.clone(),
            subject,
            max_fields: config.limits.head_max_fields,
            customer: Customer::new(client.peer, client.scheme),
            routes: self.routes.clone(),
            context: self.context.clone(),
            tunnel: RefCell::default(),
            leaves: Cell::new(false),
        });
        // What serves a connection has a box of its own, so that one which rests takes no room for
        // it.
        if transport.speaks_http2() {
            let serve = http2::connection::serve(&self.context, transport, state, &place, proxy);
            return Box::pin(serve).await;
        }
        let mut stream = Stream::new(transport, state.clone(), self.limits);
        loop {
            let ended;
            (stream, ended) = Box::pin(self.serve_awake(stream, &proxy, &state, &place)).await;
            let ended = match ended {
                Some(ended) => ended,
                None => match self.rest(stream.transport(), &state, &place).await {
                    Some(end) => Ended::Closed(end),
                    None => continue,
                },
            };
            if let (Ended::Over(Ok(())), Some(tunnel)) = (&ended, proxy.tunnel.take()) {
                drop(proxy);
                let transport = stream.into_transport();
                return Box::pin(self.tunnel(*tunnel, transport, &state, &place)).await;
            }
            tidegate_trace::enter(tidegate_trace::Phase::Close);
            return Box::pin(self.close(&state, stream, ended)).await;
        }
    }

    /// Serves requests until the connection ends, or is to rest: `None`.
    async fn serve_awake(
        &self,
        stream: Stream,
        proxy: &Rc<Proxy>,
        state: &Rc<ConnectionState>,
        place: &Place,
    ) -> (Stream, Option<Ended>) {
        let (served, by) = (state.clone(), proxy.clone());
        let service = service_fn(move |request| proxy::serve(by.clone(), served.clone(), request));
        let mut connection = self.builder().serve_connection(TokioIo::new(stream), service);
        let ended = self.until_end(state, place, &mut connection).await;
        let parts = connection.into_parts();
        debug_assert!(
            ended.is_some() || parts.read_buf.is_empty(),
            "idle, with bytes of a request"
        );
        (parts.io.into_inner(), ended)
    }

    fn builder(&self) -> http1::Builder {
        let limits = &self.context.config.limits;
        let mut builder = http1::Builder::new();
        // `ConnectionState` has the deadlines: no timer per request.
        builder.header_read_timeout(None);
        builder.preserve_header_case(true);
        builder.max_buf_size(limits.head_max_bytes.max(64 * 1024));
        builder.max_header_size(limits.head_max_bytes);
        if limits.head_max_fields != 100 {
            builder.max_headers(limits.head_max_fields);
        }
        builder
    }

    /// Serves requests until the HTTP library has finished, or the gate closes the connection, or it
    /// is to rest: `None`.
    async fn until_end<S, B>(
        &self,
        state: &ConnectionState,
        place: &Place,
        connection: &mut http1::Connection<TokioIo<Stream>, S>,
    ) -> Option<Ended>
    where
        S: hyper::service::HttpService<hyper::body::Incoming, ResBody = B>,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        B: http_body::Body + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut timer = pin!(Timer::new(state));
        let mut leaves = Leaves::new(&self.context.shutdown);
        let mut draining = false;
        poll_fn(|cx| {
            clock::read();
            state.exchange.runs();
            if place.is_displaced(cx) {
                return Poll::Ready(Some(Ended::Closed(End::Displaced)));
            }
            match leaves.poll(state, cx) {
                Leave::No => {}
                Leave::Now => return Poll::Ready(Some(Ended::Closed(End::Drain))),
                Leave::Next => {
                    if !std::mem::replace(&mut draining, true) {
                        Pin::new(&mut *connection).graceful_shutdown();
                    }
                }
            }
            let mut measured = false;
            loop {
                if let Poll::Ready(over) = Pin::new(&mut *connection).poll(cx) {
                    return Poll::Ready(Some(Ended::Over(over)));
                }
                if let Due::Rest = ready!(timer.as_mut().poll(state, cx)) {
                    return Poll::Ready(None);
                }
                match state.expire(measured) {
                    Expiry::Close(end) => return Poll::Ready(Some(Ended::Closed(end))),
                    Expiry::Measure => measured = true,
                    Expiry::Answer => {}
                }
            }
        })
        .await
    }

    /// Waits with nothing but the transport until the customer sends something: `None`. Else
    /// returns why the connection ends.
    async fn rest(
        &self,
        transport: &mut Transport,
        state: &ConnectionState,
        place: &Place,
    ) -> Option<End> {
        let _resting = self.context.count(|counters| &counters.resting);
        let mut sleep = pin!(sleep_until(state.deadline().into()));
        let mut leaves = Leaves::new(&self.context.shutdown);
        poll_fn(|cx| {
            clock::read();
            state.exchange.runs();
            if place.is_displaced(cx) {
                return Poll::Ready(Some(End::Displaced));
            }
            if let Leave::Now = leaves.poll(state, cx) {
                return Poll::Ready(Some(End::Drain));
            }
            if transport.socket().poll_read_ready(cx).is_ready() {
                return Poll::Ready(None);
            }
            let mut measured = false;
            loop {
                ready!(poll_deadline(sleep.as_mut(), state.deadline(), cx));
                match state.expire(measured) {
                    Expiry::Close(end) => return Poll::Ready(Some(end)),
                    Expiry::Measure => {
                        measured = true;
                        state.measured(socket::unacknowledged(transport.socket()));
                    }
                    Expiry::Answer => {}
                }
            }
        })
        .await
    }

    /// Serves a connection that has changed to a WebSocket. Returns why it ended.
    async fn tunnel(
        &self,
        tunnel: Tunnel,
        mut transport: Transport,
        state: &Rc<ConnectionState>,
        place: &Place,
    ) -> End {
        let end = tunnel.run(&self.context, &mut transport, state, place).await;
        tidegate_trace::enter(tidegate_trace::Phase::Close);
        match end {
            TunnelEnd::Customer => End::Customer,
            TunnelEnd::Upstream => End::Finished,
            TunnelEnd::Idle => {
                close(&mut transport, state).await;
                End::Idle
            }
            TunnelEnd::Drain => {
                close(&mut transport, state).await;
                End::Drain
            }
            TunnelEnd::Stalled => {
                // The kernel would keep what the customer does not read.
                socket::reset_on_close(transport.socket());
                End::BodyDeadline
            }
            TunnelEnd::Broken => {
                transport.cut();
                End::Broken
            }
            TunnelEnd::Displaced => {
                transport.cut();
                End::Displaced
            }
        }
    }

    /// Closes a connection in the way that its end demands. Returns why it ended.
    async fn close(&self, state: &ConnectionState, stream: Stream, ended: Ended) -> End {
        let exchange = &state.exchange;
        if let (Ended::Over(_), Some(fault)) = (&ended, exchange.fault())
            && fault.part == Part::Head
        {
            let page = ErrorPage::Malformed(fault.rule);
            let code = page.code().as_u16();
            exchange.counters.code(code);
            exchange.log().inspect(|log| log.malformed(code));
            stream.refuse(page).await;
            return End::BadRequest;
        }
        let malformed = match &ended {
            Ended::Closed(_) => false,
            Ended::Over(Ok(())) => exchange.malformed(),
            Ended::Over(Err(error)) => error.is_parse(),
        };
        if malformed {
            exchange.note_malformed(Malformed::Head);
            if matches!(ended, Ended::Over(Err(_))) && exchange.awaits_request() {
                let code = http::StatusCode::BAD_REQUEST.as_u16();
                exchange.log().inspect(|log| log.malformed(code));
            }
            // The customer may still be sending; the answer must reach them all the same.
            stream.close_lingering().await;
            return End::BadRequest;
        }
        let idle = state.activity() == Activity::Idle;
        match ended {
            Ended::Closed(end) => {
                match end {
                    // Nothing is on its way: a proper end.
                    End::Idle | End::Drain | End::Displaced if idle => stream.close().await,
                    // The kernel would keep what the customer does not read.
                    End::BodyDeadline => stream.reset(),
                    _ => stream.cut(),
                }
                end
            }
            Ended::Over(Ok(())) if state.closed_by_customer.get() => End::Customer,
            Ended::Over(Ok(())) if self.context.shutdown.stage() != Stage::Open => End::Drain,
            Ended::Over(Ok(())) => End::Finished,
            Ended::Over(Err(_)) => {
                stream.cut();
                match exchange.fault() {
                    Some(_) => End::BadRequest,
                    None if exchange.truncated.get() => End::Truncated,
                    None if idle => End::Customer,
                    None => End::Broken,
                }
            }
        }
    }
}

/// Ends the sending side, as far as the socket accepts it at once.
async fn close(transport: &mut Transport, state: &ConnectionState) {
    poll_fn(|cx| {
        let _ = transport.poll_close(cx, state);
        Poll::Ready(())
    })
    .await;
}

/// How a connection ended.
enum Ended {
    /// The HTTP library finished.
    Over(hyper::Result<()>),
    /// The gate closes it.
    Closed(End),
}
