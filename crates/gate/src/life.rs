//! The life of a connection that cannot be dealt with at once: the rest of its
//! opening, the handshake, its requests, its end.

use crate::account::{Bucket, Class, End, Kind, Metered};
use crate::bell::Tide;
use crate::clock;
use crate::config::Host;
use crate::core::Core;
use crate::door::Pass;
use crate::headers::Origins;
use crate::opening::{Heard, Opening};
use crate::proxy::{self, Customer};
use crate::sessions::ClosedBy;
use crate::socket::{self, Arrival, Scheme};
use crate::stream::Stream;
use crate::tls::Bearer;
use crate::watch::{Phase, Watch};
use crate::wire::{Clear, Tls, Wire};
use http::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use tokio::net::TcpStream;
use tokio::task::spawn_local;
use tokio::time::sleep_until;

/// Where a connection's life in a task begins.
pub enum Start {
    /// It has not said enough yet.
    Opening(Opening),
    /// It was admitted; this is what it has said.
    Admitted(Vec<u8>, Pass),
    /// It spoke HTTP in clear and is to be told.
    ClearHttp,
}

/// Begins a connection's life in a task of its own.
pub fn begin(core: &Rc<Core>, arrival: Arrival, start: Start) {
    let open = Open::new(core);
    match start {
        Start::Opening(opening) => {
            spawn_local(Metered::new(Bucket::Arrival, finish_opening(open, arrival, opening)));
        }
        Start::Admitted(said, pass) => drop(spawn_local(inside(open, arrival, said, pass))),
        Start::ClearHttp => {
            spawn_local(Metered::new(Bucket::Arrival, tell_clear_http(open, arrival)));
        }
    }
}

/// Counts a connection as open.
pub struct Open(Rc<Core>);

impl Open {
    /// From now until it is dropped.
    pub fn new(core: &Rc<Core>) -> Self {
        core.counters.open[0].add(1);
        Self(core.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.counters.open[0].sub(1);
    }
}

/// Collects the rest of a hello, or waits for the first bytes in clear.
async fn finish_opening(open: Open, arrival: Arrival, mut opening: Opening) {
    let core = open.0.clone();
    let Arrival { socket, peer, scheme } = arrival;
    let Ok(socket) = TcpStream::from_std(socket) else { return };
    let collect = async {
        loop {
            socket.readable().await?;
            let read = core.read_on(&socket, &mut opening);
            match read {
                Ok(Heard::NotEnough) => {}
                Ok(heard) => return Ok(heard),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    };
    let deadline = core.shared.config.limits.hello_deadline;
    let collected = tokio::time::timeout(deadline, collect).await;
    match collected {
        Err(_) => core.counters.end(End::HelloDeadline),
        Ok(Err(_)) => core.counters.end(End::HelloHungUp),
        Ok(Ok(heard)) => {
            if let Ok(socket) = socket.into_std() {
                core.greet(Arrival { socket, peer, scheme }, opening, heard);
            }
        }
    }
}

/// Answers HTTP in clear, so that the customer can read it.
async fn tell_clear_http(open: Open, arrival: Arrival) {
    use tokio::io::AsyncWriteExt;
    let _open = open;
    let Ok(mut socket) = TcpStream::from_std(arrival.socket) else { return };
    let answer = async {
        socket.write_all(crate::pages::CLEAR_HTTP).await?;
        socket.shutdown().await?;
        socket::drain(&mut socket).await;
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(socket::LINGER, answer).await;
}

/// Handshake, requests, end.
async fn inside(open: Open, arrival: Arrival, said: Vec<u8>, pass: Pass) {
    let core = open.0.clone();
    let Arrival { socket, peer, scheme } = arrival;
    let Pass { class, seat, bearer } = pass;
    let wire = match &bearer {
        Some(bearer) => shake_hands(&core, socket, said, class, bearer).await,
        None => {
            core.counters.in_clear[0].add(1);
            Clear::new(socket, said).map(Wire::Clear).map_err(|_| End::Broken)
        }
    };
    let end = match wire {
        Ok(wire) => {
            let serve = serve(&core, wire, (peer, scheme), class);
            Metered::new(Bucket::request(class), serve).await
        }
        Err(end) => end,
    };
    core.counters.end(end);
    match bearer {
        Some(_) => seat.leave(closed_by(end), core.shared.now()),
        None => seat.end(),
    }
}

/// The handshake; or why the connection ends.
async fn shake_hands(
    core: &Rc<Core>,
    socket: std::net::TcpStream,
    hello: Vec<u8>,
    class: Class,
    bearer: &Bearer,
) -> Result<Wire, End> {
    let (config, kind) = match class {
        Class::New => (&core.shared.tls.full, Kind::Full),
        Class::Returning => (&core.shared.tls.returning, Kind::Resumed),
    };
    let counters = &core.counters;
    let in_handshake = InHandshake::new(core);
    let shaken = Metered::new(Bucket::handshake(class), async {
        let accept = Tls::accept(socket, config.clone(), &hello, bearer);
        tokio::time::timeout(core.shared.config.limits.handshake_deadline, accept).await
    })
    .await;
    drop(in_handshake);
    counters.handshakes_by_class[class as usize].add(1);
    let end = match shaken {
        Ok(Ok(tls)) => {
            let kind = match tls.kind() {
                Some(rustls::HandshakeKind::Resumed) => Kind::Resumed,
                _ => Kind::Full,
            };
            counters.handshakes_ok[kind as usize].add(1);
            return Ok(Wire::Tls(tls));
        }
        Err(_) => End::HandshakeDeadline,
        Ok(Err(failure)) => {
            tracing::debug!(%failure, "no handshake");
            End::HandshakeFailed
        }
    };
    counters.handshakes_failed[kind as usize].add(1);
    Err(end)
}

/// Counts a handshake as under way.
struct InHandshake(Rc<Core>);

impl InHandshake {
    fn new(core: &Rc<Core>) -> Self {
        core.counters.in_handshake[0].add(1);
        Self(core.clone())
    }
}

impl Drop for InHandshake {
    fn drop(&mut self) {
        self.0.counters.in_handshake[0].sub(1);
    }
}

/// Whether the end of a connection tells that its customer has left.
fn closed_by(end: End) -> ClosedBy {
    match end {
        End::Customer | End::Broken | End::HandshakeDeadline | End::HandshakeFailed => {
            ClosedBy::Customer
        }
        _ => ClosedBy::Gate,
    }
}

/// Serves a customer's requests until the connection ends.
async fn serve(
    core: &Rc<Core>,
    wire: Wire,
    (peer, scheme): (SocketAddr, Scheme),
    class: Class,
) -> End {
    let config = &core.shared.config;
    let watch = Watch::new(class, core.patience, core.counters.clone(), clock::look());
    let watch = Rc::new(watch);
    let guard = Rc::default();
    let origins = Origins {
        forwarded: config.upstream.forwarded,
        address: address_of(peer),
        scheme,
        host: (config.upstream.host == Host::Upstream)
            .then(|| HeaderValue::from_str(&config.upstream.url.authority()).ok())
            .flatten(),
    };
    let customer = Customer {
        watch: watch.clone(),
        guard: Rc::clone(&guard),
        origins,
        pool: core.pool.clone(),
    };
    let customer = Rc::new(customer);
    let service = service_fn(move |request| proxy::serve(customer.clone(), request));
    let stream = Stream::new(wire, watch.clone(), guard);
    let connection = builder(core).serve_connection(stream, service);
    drive(core, &watch, connection).await
}

fn builder(core: &Core) -> http1::Builder {
    let limits = &core.shared.config.limits;
    let mut builder = http1::Builder::new();
    // Deadlines are the watch's: no timer per request.
    builder.header_read_timeout(None);
    builder.max_buf_size(limits.head_max_bytes.max(64 * 1024));
    builder.max_header_size(limits.head_max_bytes);
    if limits.head_max_fields != 100 {
        builder.max_headers(limits.head_max_fields);
    }
    builder
}

/// The customer's address as the upstream is told it.
fn address_of(peer: SocketAddr) -> HeaderValue {
    let ip = match peer.ip() {
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
        ip => ip,
    };
    HeaderValue::from_str(&ip.to_string()).unwrap_or(HeaderValue::from_static("unknown"))
}

/// What ended the driving of a connection.
enum Ended {
    /// By itself.
    Over(hyper::Result<()>),
    /// The gate closes it.
    By(End),
}

async fn drive<S, B>(
    core: &Rc<Core>,
    watch: &Watch,
    connection: http1::Connection<Stream, S>,
) -> End
where
    S: hyper::service::HttpService<hyper::body::Incoming, ResBody = B>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut connection = connection;
    let ended = {
        let mut sleep = pin!(sleep_until(watch.deadline().into()));
        let mut listening = None;
        let mut draining = false;
        poll_fn(|cx| {
            clock::look();
            listening.get_or_insert_with(|| core.bell.listen(cx.waker()));
            if core.bell.tide() != Tide::Open {
                if core.bell.tide() == Tide::Closed || watch.phase() == Phase::Idle {
                    return Poll::Ready(Ended::By(End::Drain));
                }
                if !std::mem::replace(&mut draining, true) {
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
            loop {
                if let Poll::Ready(over) = Pin::new(&mut connection).poll(cx) {
                    return Poll::Ready(Ended::Over(over));
                }
                // Armed lazily: the timer moves only when it rings, or when the
                // deadline came nearer.
                let deadline = watch.deadline();
                if sleep.deadline() > deadline.into() {
                    sleep.as_mut().reset(deadline.into());
                }
                loop {
                    if sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    if deadline > clock::look() {
                        sleep.as_mut().reset(deadline.into());
                        continue;
                    }
                    match watch.phase() {
                        Phase::Idle => return Poll::Ready(Ended::By(End::Idle)),
                        Phase::Head => return Poll::Ready(Ended::By(End::HeadDeadline)),
                        Phase::Upload | Phase::Reply => {
                            return Poll::Ready(Ended::By(End::BodyDeadline));
                        }
                        Phase::Waiting => watch.give_up_waiting(),
                    }
                    break;
                }
            }
        })
        .await
    };
    let offended = match &ended {
        Ended::By(_) => false,
        Ended::Over(Ok(())) => watch.offended(),
        Ended::Over(Err(error)) => error.is_parse(),
    };
    if offended {
        // She may still be sending; the answer must reach her all the same.
        connection.into_parts().io.close_gently().await;
        return End::BadRequest;
    }
    match ended {
        Ended::By(end) => {
            let stream = connection.into_parts().io;
            match end {
                // Nothing is on its way: a proper goodbye.
                End::Idle | End::Drain if watch.phase() == Phase::Idle => stream.close().await,
                _ => stream.cut(),
            }
            end
        }
        Ended::Over(Ok(())) if watch.hung_up() => End::Customer,
        Ended::Over(Ok(())) if core.bell.tide() != Tide::Open => End::Drain,
        Ended::Over(Ok(())) => End::Finished,
        Ended::Over(Err(_)) => {
            connection.into_parts().io.cut();
            match watch.phase() {
                _ if watch.truncated() => End::Truncated,
                Phase::Idle => End::Customer,
                _ => End::Broken,
            }
        }
    }
}
