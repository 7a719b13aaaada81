//! What is noted of the exchanges of a connection for their lines.

use super::line::{Exchange, Line, Request};
use super::sink::Sink;
use crate::telemetry::clock;
use crate::telemetry::labels::{Class, End, Tier, TunnelEnd, UpstreamFault};
use http::header::{HOST, HeaderValue, REFERER, USER_AGENT};
use http::{HeaderMap, Method, Uri, Version};
use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The class and the session of one who was admitted, or why a connection ended.
type Decided = Result<(Class, u64), End>;

/// Status where no response began, as of nginx.
const NO_RESPONSE: u16 = 499;

/// How a connection began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening {
    /// How long it waited for its admission.
    pub queue: Duration,
    /// How long its handshake took; none by plain HTTP.
    pub handshake: Option<Duration>,
    /// The number of its session, where the customer can return to it.
    pub session: Option<u64>,
}

/// The exchanges of a connection, one at a time.
#[derive(Debug)]
pub struct ExchangeLog {
    sink: Rc<Sink>,
    client: IpAddr,
    class: Class,
    opening: Opening,
    /// The number of the session that the connection turned out to be of.
    joined: Rc<Cell<Option<u64>>>,
    /// No line was written yet.
    first: Cell<bool>,
    record: RefCell<Option<Record>>,
}

/// The exchange under way.
#[derive(Debug)]
struct Record {
    begun: Instant,
    method: Method,
    uri: Uri,
    version: Version,
    host: Option<HeaderValue>,
    referer: Option<HeaderValue>,
    agent: Option<HeaderValue>,
    uploaded: Option<Instant>,
    passed: Option<Instant>,
    answered: Option<Instant>,
    status: u16,
    sent: u64,
    received: u64,
    by: Option<Tier>,
    route: Option<Arc<str>>,
    gave_way: bool,
    upstream_error: Option<UpstreamFault>,
    tunnel_end: Option<TunnelEnd>,
    request_id: u128,
    traceparent: Option<HeaderValue>,
    /// How it was admitted, where each request of the connection is decided on.
    admission: Option<Admission>,
}

/// What was decided about one request.
#[derive(Clone, Copy, Debug)]
struct Admission {
    /// How long it waited.
    queue: Duration,
    /// Its class and the number of its session, or why it was not admitted.
    verdict: Decided,
}

impl ExchangeLog {
    /// The log of a connection without a request.
    pub fn new(sink: Rc<Sink>, client: IpAddr, class: Class, opening: Opening) -> Self {
        let (client, first) = (client.to_canonical(), Cell::new(true));
        let joined = Rc::default();
        Self { sink, client, class, opening, joined, first, record: RefCell::default() }
    }

    /// The log of a stream of the same connection. The first of them has how the connection began.
    pub fn of_stream(&self) -> Self {
        let (sink, first) = (self.sink.clone(), Cell::new(self.first.replace(false)));
        let (client, class, opening) = (self.client, self.class, self.opening);
        let joined = self.joined.clone();
        Self { sink, client, class, opening, joined, first, record: RefCell::default() }
    }

    /// A request's head was read. Returns its identifier.
    pub fn begin<B>(&self, request: &http::Request<B>) -> u128 {
        self.end(false);
        let field = |headers: &HeaderMap, name| headers.get(name).cloned();
        let headers = request.headers();
        let request_id = tidegate_trace::Context::new_trace();
        self.record.replace(Some(Record {
            begun: clock::now(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            version: request.version(),
            // HTTP/2 has it in the address.
            host: field(headers, HOST).or_else(|| {
                let authority = request.uri().authority()?;
                HeaderValue::from_str(authority.as_str()).ok()
            }),
            referer: field(headers, REFERER),
            agent: field(headers, USER_AGENT),
            uploaded: None,
            passed: None,
            answered: None,
            status: NO_RESPONSE,
            sent: 0,
            received: 0,
            by: None,
            route: None,
            gave_way: false,
            upstream_error: None,
            tunnel_end: None,
            request_id,
            traceparent: None,
            admission: None,
        }));
        request_id
    }

    /// The connection turned out to be of the session with this number.
    pub fn joins(&self, session: u64) {
        self.joined.set(Some(session));
    }

    /// The request was decided on by itself, after it waited so long: it has this class and is of
    /// the session with this number, or was refused for this reason.
    pub fn decided(&self, queue: Duration, verdict: Decided) {
        self.note(|record| record.admission = Some(Admission { queue, verdict }));
    }

    /// What the upstream receives as the trace context.
    pub fn traced(&self, traceparent: HeaderValue) {
        self.note(|record| record.traceparent = Some(traceparent));
    }

    /// The route that the request takes.
    pub fn routed(&self, route: Option<&Arc<str>>) {
        self.note(|record| record.route = route.cloned());
    }

    /// The request is refused by the priority of its route.
    pub fn gave_way(&self) {
        self.note(|record| record.gave_way = true);
    }

    /// What is to answer the request; the gate itself does where neither does.
    pub fn passed_to(&self, tier: Tier) {
        self.note(|record| {
            record.by = Some(tier);
            record.passed = Some(clock::now());
        });
    }

    /// So many bytes of the request's body passed.
    pub fn received(&self, bytes: usize) {
        self.note(|record| record.received += bytes as u64);
    }

    /// The request's body passed to its end.
    pub fn uploaded(&self) {
        self.note(|record| record.uploaded = Some(clock::now()));
    }

    /// The upstream failed the request.
    pub fn upstream_failed(&self, fault: UpstreamFault) {
        self.note(|record| record.upstream_error = Some(fault));
    }

    /// A response begins. `by_gate` tells whether it is a page of the gate's own.
    pub fn answered(&self, status: u16, by_gate: bool) {
        self.note(|record| {
            record.status = status;
            record.answered = Some(clock::now());
            if by_gate {
                record.by = None;
            }
        });
    }

    /// The WebSocket that the exchange opened has ended.
    pub fn tunnel_ended(&self, end: TunnelEnd) {
        self.note(|record| record.tunnel_end = Some(end));
        self.end(matches!(end, TunnelEnd::Customer | TunnelEnd::Upstream | TunnelEnd::Drain));
    }

    /// So many bytes of the response's body were handed over.
    pub fn sent(&self, bytes: usize) {
        self.note(|record| record.sent += bytes as u64);
    }

    /// The exchange is over; `complete` where the kernel has all of the response.
    pub fn end(&self, complete: bool) {
        let Some(record) = self.record.take() else { return };
        let now = clock::now();
        let since = |at: Instant| now.saturating_duration_since(at);
        let between = |from: Instant, to: Instant| to.saturating_duration_since(from);
        let total = since(record.begun);
        let mut phases = Phases::default();
        if let Some(admission) = record.admission {
            phases.add("queue", Some(admission.queue));
        } else if self.first.replace(false) {
            phases.add("queue", Some(self.opening.queue));
            phases.add("handshake", self.opening.handshake);
        }
        phases.add("request", record.uploaded.map(|at| between(record.begun, at)));
        let upstream = record.passed.filter(|_| record.by == Some(Tier::Upstream));
        phases.add("upstream", upstream.map(|at| between(at, record.answered.unwrap_or(now))));
        phases.add("response", record.answered.map(since));
        phases.add("total", Some(total));
        let uri = &record.uri;
        let path = match uri.path_and_query() {
            Some(all) if self.sink.queries => all.as_str(),
            _ => uri.path(),
        };
        let host = record.host.as_ref().map(HeaderValue::as_bytes);
        let bytes = |field| Option::map_or(field, &b""[..], HeaderValue::as_bytes);
        let referer = bytes(record.referer.as_ref());
        let request = Request {
            method: record.method.as_str(),
            path,
            version: version(record.version),
            host: host.or(uri.authority().map(|at| at.as_str().as_bytes())).unwrap_or_default(),
            referer: if self.sink.queries { referer } else { without_query(referer) },
            agent: bytes(record.agent.as_ref()),
        };
        self.write(
            total,
            phases.get(),
            (record.admission.map(|admission| admission.verdict), record.gave_way),
            Exchange {
                request: Some(request),
                status: record.status,
                complete,
                sent: record.sent,
                received: record.received,
                answered_by: record.by.map_or("gate", Tier::name),
                route: record.route.as_deref(),
                upstream_error: record.upstream_error.map(UpstreamFault::name),
                tunnel_end: record.tunnel_end.map(TunnelEnd::name),
                request_id: Some(record.request_id),
                traceparent: record.traceparent.as_ref().map(HeaderValue::as_bytes),
            },
        );
    }

    /// A head that could not be read was answered with this status.
    pub fn malformed(&self, status: u16) {
        self.write(
            Duration::ZERO,
            &[],
            (None, false),
            Exchange {
                request: None,
                status,
                complete: true,
                sent: 0,
                received: 0,
                answered_by: "gate",
                route: None,
                upstream_error: None,
                tunnel_end: None,
                request_id: None,
                traceparent: None,
            },
        );
    }

    fn write(
        &self,
        ago: Duration,
        phases: &[(&'static str, Duration)],
        (decided, gave_way): (Option<Decided>, bool),
        exchange: Exchange<'_>,
    ) {
        let now = SystemTime::now();
        let (class, session, reason) = match decided {
            None => (self.class, self.joined.get().or(self.opening.session), None),
            Some(Ok((class, session))) => (class, Some(session), None),
            Some(Err(end)) => (Class::New, None, Some(end.name())),
        };
        let reason = reason.or(gave_way.then_some("priority"));
        self.sink.write(&Line {
            time: now.checked_sub(ago).unwrap_or(now),
            client: self.client,
            class: class.name(),
            verdict: if reason.is_some() { "refused" } else { "admitted" },
            session,
            phases,
            exchange: Some(exchange),
            reason,
        });
    }

    fn note(&self, change: impl FnOnce(&mut Record)) {
        if let Some(record) = &mut *self.record.borrow_mut() {
            change(record);
        }
    }
}

/// Phases that there were.
#[derive(Default)]
struct Phases {
    known: [(&'static str, Duration); 6],
    count: usize,
}

impl Phases {
    fn add(&mut self, name: &'static str, took: Option<Duration>) {
        if let Some(took) = took {
            self.known[self.count] = (name, took);
            self.count += 1;
        }
    }

    fn get(&self) -> &[(&'static str, Duration)] {
        &self.known[..self.count]
    }
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}

/// An address without its query and fragment.
fn without_query(address: &[u8]) -> &[u8] {
    let end = memchr::memchr2(b'?', b'#', address);
    &address[..end.unwrap_or(address.len())]
}
