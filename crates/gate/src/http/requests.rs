//! The requests of a connection, from the first to the end: HTTP, its
//! deadlines, and how it closes.

use crate::config::Host;
use crate::connection::state::{Phase, Watch};
use crate::connection::transport::Wire;
use crate::http::headers::Origins;
use crate::http::proxy::{self, Customer};
use crate::http::stream::Stream;
use crate::listen::accept::Core;
use crate::shutdown::Tide;
use crate::socket::Scheme;
use crate::telemetry::clock;
use crate::telemetry::counters::{Class, End};
use http::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use tokio::time::sleep_until;

/// Serves a customer's requests until the connection ends.
pub async fn serve(
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
