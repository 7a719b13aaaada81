//! The server's end: reads calls within limits of size and time, opens them if they are
//! sealed, and hands them to the tier.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use super::sealed::{MEDIA_TYPE, Opener, Refused};
use super::side::ServerSide;
use crate::server::{Local, Peer};
use crate::throttle::Throttle;
use crate::web::body::{self, SLOWEST, Unread};
use crate::when;

/// Most bytes of a call.
pub const MOST_REQUEST: usize = 1024 * 1024;
/// The media type of calls and answers that are not sealed.
pub(super) const JSON: &str = "application/json";
/// What the sender of a refused message gets, whatever the reason.
const REFUSAL: &str = "refused\n";

/// An answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Status of the response.
    pub status: StatusCode,
    /// JSON.
    pub body: Bytes,
}

/// What a tier does with its calls.
pub trait Handler: Clone + Send + Sync + 'static {
    /// Carries out an operation (without the `/` of its path) with a JSON body.
    fn call(&self, operation: &str, body: Bytes) -> impl Future<Output = Reply> + Send;

    /// Tells how this tier and those after it are, without names of machines or causes:
    /// anybody on the network may ask.
    fn health(&self) -> impl Future<Output = Reply> + Send;
}

/// The server's end for one core: `POST /OPERATION`, and `GET /healthz`, which is never
/// sealed.
pub fn router<H: Handler>(side: &ServerSide, handler: H) -> Router {
    let end = End {
        opener: side.opener.clone(),
        known_as: Arc::clone(&side.known_as),
        handler,
        log: Arc::default(),
    };
    Router::new()
        .route("/healthz", get(health::<H>))
        .route("/{operation}", post(call::<H>))
        .fallback(async || refused(StatusCode::NOT_FOUND, "there is no such operation"))
        .method_not_allowed_fallback(async || {
            refused(StatusCode::METHOD_NOT_ALLOWED, "operations are called by POST")
        })
        .with_state(end)
}

#[derive(Clone)]
struct End<H> {
    opener: Option<Arc<Opener>>,
    known_as: Arc<[String]>,
    handler: H,
    log: Arc<Throttle>,
}

async fn health<H: Handler>(State(end): State<End<H>>) -> Response {
    plain(end.handler.health().await)
}

async fn call<H: Handler>(
    State(end): State<End<H>>,
    Path(operation): Path<String>,
    request: Request,
) -> Response {
    let peer = request.extensions().get::<Peer>().map(|Peer(address)| *address);
    let to = request.extensions().get::<Local>().map(|Local(address)| canonical(*address));
    let body = match collect(request.into_body()).await {
        Ok(body) => body,
        Err((status, why)) => {
            end.warn(peer, &why);
            return refused(status, why);
        }
    };
    let Some(opener) = &end.opener else {
        return plain(end.handler.call(&operation, body).await);
    };
    let path = format!("/{operation}");
    let addresses: Vec<&str> = to.iter().chain(end.known_as.iter()).map(String::as_str).collect();
    match opener.open(&path, &addresses, &body, when::now_ms()) {
        Ok((opened, _)) => {
            let reply = end.handler.call(&operation, opened.into()).await;
            let status = reply.status.as_u16();
            match opener.seal(&path, status, &body, &reply.body, when::now_ms()) {
                Some(sealed) => typed(reply.status, MEDIA_TYPE, sealed),
                None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        }
        Err(why) => {
            end.refuse(peer, &path, why);
            (StatusCode::FORBIDDEN, REFUSAL).into_response()
        }
    }
}

impl<H> End<H> {
    fn refuse(&self, peer: Option<std::net::IpAddr>, path: &str, why: Refused) {
        self.warn(peer, &format_args!("a message to {path} is refused: {why}"));
    }

    fn warn(&self, peer: Option<std::net::IpAddr>, why: &dyn std::fmt::Display) {
        if let Some(left_out) = self.log.allows(Instant::now()) {
            let peer = peer.map_or_else(|| "?".to_owned(), |peer| peer.to_string());
            tracing::warn!(peer, left_out, "{why}");
        }
    }
}

/// The body, in bounded memory and time.
async fn collect(body: Body) -> Result<Bytes, (StatusCode, String)> {
    body::collect(body, MOST_REQUEST).await.map_err(|why| match why {
        Unread::TooLong => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a call is longer than {} MiB", MOST_REQUEST >> 20),
        ),
        Unread::BrokenOff => (StatusCode::BAD_REQUEST, "a call broke off before its end".into()),
        Unread::TooSlow => (
            StatusCode::REQUEST_TIMEOUT,
            format!("a call took longer than {} s to arrive", SLOWEST.as_secs()),
        ),
    })
}

fn plain(reply: Reply) -> Response {
    typed(reply.status, JSON, reply.body)
}

fn typed(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn refused(status: StatusCode, why: impl Into<String>) -> Response {
    let mut why: String = why.into();
    why.push('\n');
    (status, why).into_response()
}

/// An address as both ends write it: an IPv4 address on an IPv6 socket is an IPv4 address.
pub(super) fn canonical(address: SocketAddr) -> String {
    SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_at_both_ends() {
        for (text, expected) in [
            ("127.0.0.1:9", "127.0.0.1:9"),
            ("[::ffff:127.0.0.1]:9", "127.0.0.1:9"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(canonical(text.parse().unwrap()), expected);
        }
    }
}
