//! The client: one call at a time on each connection, within deadlines, to the first
//! server that takes it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::error::{Error, Kind, Span, tls_error, tls_words};
use super::pool::{Open, Pool};
use super::sealed::MEDIA_TYPE;
use super::server::{JSON, Reply};
use super::side::{ClientSide, Transport};
use crate::error::causes;
use crate::when;

/// Most calls under way from one core; further ones wait within their deadline.
const CALLS: usize = 1024;
/// Most bytes of an answer.
const MOST_ANSWER: usize = 4 * 1024 * 1024;
/// How long a server that could not be reached is tried after the others.
const AVOIDED: Duration = Duration::from_secs(2);

/// Deadlines of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For a connection, its TLS handshake included.
    pub connect: Duration,
    /// For the whole call, whatever it waits for.
    pub whole: Duration,
}

/// Calls the next tier, from one core.
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

struct Inner {
    side: ClientSide,
    servers: Vec<Server>,
    turn: AtomicUsize,
    deadlines: Deadlines,
    permits: Semaphore,
}

/// One server of the next tier.
struct Server {
    /// Address and port, or a name and port.
    address: String,
    host: HeaderValue,
    idle: Pool,
    avoided: Mutex<Option<Instant>>,
}

/// How far a call has come, for the error after its deadline.
struct Progress {
    server: usize,
    sent: bool,
}

impl Client {
    /// A client of these servers, `HOST:PORT` each, which have the calls in turn.
    ///
    /// # Errors
    /// There is no server, or one of the addresses has no port: errors for the operator.
    pub fn new(side: ClientSide, servers: &[String], deadlines: Deadlines) -> crate::Result<Self> {
        let server = |address: &String| {
            let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
            match (port, HeaderValue::from_str(address)) {
                (Some(_), Ok(host)) => Ok(Server {
                    address: address.clone(),
                    host,
                    idle: Pool::default(),
                    avoided: Mutex::new(None),
                }),
                _ => Err(crate::Error::Operator(format!(
                    "--next {address}: must be an address and a port, such as 127.0.0.1:9001"
                ))),
            }
        };
        let servers: Vec<Server> = servers.iter().map(server).collect::<crate::Result<_>>()?;
        if servers.is_empty() {
            return Err(crate::Error::Operator(format!(
                "--next: name the address of the {} tier, such as 127.0.0.1:9001",
                side.next
            )));
        }
        Ok(Self(Arc::new(Inner {
            side,
            servers,
            turn: AtomicUsize::new(0),
            deadlines,
            permits: Semaphore::new(CALLS),
        })))
    }

    /// The tier that it calls.
    pub fn next(&self) -> &'static str {
        self.0.side.next
    }

    /// Calls an operation (its path begins with `/`) with a JSON body, and returns the
    /// status and the JSON body of the answer. A call whose connection broke is repeated,
    /// on another server if there is one.
    ///
    /// # Errors
    /// No server could be reached, none answered in time, or none can be understood.
    pub async fn call(&self, path: &str, body: Vec<u8>) -> Result<Reply, Error> {
        let inner = &*self.0;
        let mut progress = Progress { server: 0, sent: false };
        let deadline = inner.deadlines.whole;
        match timeout(deadline, inner.call(path, body.into(), &mut progress)).await {
            Ok(result) => result,
            Err(_) => {
                let kind = if progress.sent { Kind::NoAnswer } else { Kind::Busy };
                let waited = match kind {
                    Kind::Busy => "too many calls are under way: none was free within",
                    _ => "did not answer within",
                };
                if kind == Kind::NoAnswer {
                    inner.avoid(progress.server);
                }
                let cause = format!("{waited} {}", Span(deadline));
                Err(inner.error(progress.server, kind, cause))
            }
        }
    }
}

impl Inner {
    async fn call(&self, path: &str, body: Bytes, progress: &mut Progress) -> Result<Reply, Error> {
        let _permit = self.permits.acquire().await.expect("the semaphore is never closed");
        let mut failed = None;
        for index in self.order(Instant::now()) {
            progress.server = index;
            match self.on_server(index, path, &body, progress).await {
                Ok(reply) => {
                    *self.servers[index].avoided.lock().expect("no panic under this lock") = None;
                    return Ok(reply);
                }
                Err(error) => {
                    self.servers[index].idle.clear();
                    if matches!(error.kind, Kind::Unreachable | Kind::NoAnswer) {
                        self.avoid(index);
                    }
                    // Whether it may be done is told of the call, not of its last attempt.
                    let done = |error: &Error| error.kind.may_be_done();
                    if !failed.as_ref().is_some_and(|before| done(before) && !done(&error)) {
                        failed = Some(error);
                    }
                }
            }
        }
        Err(failed.expect("there is a server"))
    }

    fn avoid(&self, index: usize) {
        let until = Instant::now() + AVOIDED;
        *self.servers[index].avoided.lock().expect("no panic under this lock") = Some(until);
    }

    /// The servers in the order in which they are tried: each is first in its turn, and
    /// those that could not be reached a moment ago are last.
    fn order(&self, now: Instant) -> Vec<usize> {
        let count = self.servers.len();
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % count;
        let mut order: Vec<usize> = (first..count).chain(0..first).collect();
        if count > 1 {
            order.sort_by_key(|index| {
                let avoided = self.servers[*index].avoided.lock();
                avoided.expect("no panic under this lock").is_some_and(|until| now < until)
            });
        }
        order
    }

    /// A call to one server: on an idle connection, and on a new one if there is none or
    /// the idle one has broken.
    async fn on_server(
        &self,
        index: usize,
        path: &str,
        body: &Bytes,
        progress: &mut Progress,
    ) -> Result<Reply, Error> {
        let server = &self.servers[index];
        while let Some(open) = server.idle.take(Instant::now()) {
            match self.exchange(index, open, path, body, progress).await {
                Err(error) if error.kind == Kind::NoAnswer => {}
                result => return result,
            }
        }
        let open = self.connect(index).await?;
        self.exchange(index, open, path, body, progress).await
    }

    async fn connect(&self, index: usize) -> Result<Open, Error> {
        let unreachable = |cause: String| self.error(index, Kind::Unreachable, cause);
        let limit = self.deadlines.connect;
        let connecting = async {
            let stream = TcpStream::connect(&self.servers[index].address).await;
            let stream =
                stream.map_err(|error| unreachable(format!("{error}; is it running there?")))?;
            // Requests are written whole, so Nagle's algorithm only delays them.
            let _ = stream.set_nodelay(true);
            let to = stream.peer_addr().map_err(|error| unreachable(error.to_string()))?;
            let to = super::server::canonical(to);
            let sender = match &self.side.transport {
                Transport::Plain | Transport::Sealed(_) => begin(stream).await,
                Transport::Tls(config, name) => {
                    let connector = TlsConnector::from(Arc::clone(config));
                    let stream = connector.connect(name.clone(), stream).await;
                    let stream = stream.map_err(|error| self.handshake(index, &error))?;
                    begin(stream).await
                }
            };
            let sender = sender.map_err(|error| unreachable(causes(&error)))?;
            Ok(Open { sender, to })
        };
        timeout(limit, connecting).await.unwrap_or_else(|_| {
            Err(unreachable(format!("no connection within {}; is the address right?", Span(limit))))
        })
    }

    fn handshake(&self, index: usize, error: &std::io::Error) -> Error {
        let words = match tls_error(error) {
            Some(tls) => tls_words(tls),
            None => format!("{error}; is the link `tls` on both sides?"),
        };
        self.error(index, Kind::Unreachable, format!("no TLS: {words}"))
    }

    async fn exchange(
        &self,
        index: usize,
        mut open: Open,
        path: &str,
        body: &Bytes,
        progress: &mut Progress,
    ) -> Result<Reply, Error> {
        let server = &self.servers[index];
        let (body, sealed, kind) = match &self.side.transport {
            Transport::Plain | Transport::Tls(..) => (body.clone(), None, JSON),
            Transport::Sealed(sealer) => {
                let (message, id) = sealer.seal(path, &open.to, body, when::now_ms());
                (message.into(), Some((sealer, id)), MEDIA_TYPE)
            }
        };
        let mut request = Request::post(path)
            .header(HOST, server.host.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static(kind));
        if !self.side.persistent {
            request = request.header(CONNECTION, HeaderValue::from_static("close"));
        }
        let request = request.body(Full::new(body)).map_err(|error| {
            self.error(index, Kind::Busy, format!("{path} is no path of an operation: {error}"))
        })?;
        let broken = |error: hyper::Error| match tls_error(&error) {
            Some(tls @ rustls::Error::AlertReceived(_)) => self.error(
                index,
                Kind::Refused,
                format!("refuses this tier's certificate: {}", tls_words(tls)),
            ),
            _ => self.error(
                index,
                Kind::NoAnswer,
                format!("the connection broke before the answer: {}", causes(&error)),
            ),
        };
        // An idle connection that was closed meanwhile is told here.
        open.sender.ready().await.map_err(broken)?;
        progress.sent = true;
        let response = open.sender.send_request(request).await.map_err(broken)?;
        let status = response.status();
        let answered_as = response.headers().get(CONTENT_TYPE).cloned();
        let body = self.collect(index, response).await?;
        let reply = match (&sealed, answered_as.as_ref().map(HeaderValue::as_bytes)) {
            (None, Some(kind)) if kind == JSON.as_bytes() => Reply { status, body },
            (Some((sealer, id)), Some(kind)) if kind == MEDIA_TYPE.as_bytes() => {
                let opened = sealer.open(path, status.as_u16(), *id, &body);
                let body = opened.ok_or_else(|| {
                    let why = "its answer does not open: altered, or of another key or request";
                    self.error(index, Kind::Unusable, why.into())
                })?;
                Reply { status, body: body.into() }
            }
            _ => return Err(self.not_a_tier(index, status, answered_as.as_ref())),
        };
        if self.side.persistent {
            server.idle.put(open, Instant::now());
        }
        Ok(reply)
    }

    async fn collect(&self, index: usize, response: Response<Incoming>) -> Result<Bytes, Error> {
        match Limited::new(response.into_body(), MOST_ANSWER).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                let why = format!("its answer is longer than {} MiB", MOST_ANSWER >> 20);
                Err(self.error(index, Kind::Unusable, why))
            }
            Err(error) => {
                let why = format!("the connection broke within the answer: {error}");
                Err(self.error(index, Kind::NoAnswer, why))
            }
        }
    }

    fn not_a_tier(&self, index: usize, status: StatusCode, kind: Option<&HeaderValue>) -> Error {
        if status == StatusCode::FORBIDDEN {
            let why = "refuses the message; its log names the reason";
            return self.error(index, Kind::Refused, why.into());
        }
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("no type");
        let why = format!(
            "answers {status} with {kind}, which is not what this link says; \
             is another program listening there, or the link configured otherwise?"
        );
        self.error(index, Kind::Unusable, why)
    }

    fn error(&self, index: usize, kind: Kind, cause: String) -> Error {
        let address = self.servers[index].address.clone();
        Error { tier: self.side.next, address, kind, cause }
    }
}

/// Begins HTTP on a stream. The connection is served by a task of its own, which ends with
/// it.
async fn begin(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> hyper::Result<http1::SendRequest<Full<Bytes>>> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(error = %causes(&error), "a connection to the next tier ended early");
        }
    });
    Ok(sender)
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let addresses: Vec<_> = self.servers.iter().map(|server| &server.address).collect();
        f.debug_struct("Client")
            .field("next", &self.side.next)
            .field("servers", &addresses)
            .finish()
    }
}
