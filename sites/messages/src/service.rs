//! The service: answers messages, and refuses all that it should with the same words.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_sitekit::log_once;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HOST};
use http::request::Parts;
use http::{HeaderMap, StatusCode};

use crate::channel::Channel;
use crate::refused::Refused;
use crate::wire::{Scene, only};
use tidegate_sitekit::Result;
use tidegate_sitekit::web::body::{self, Unread};
use tidegate_sitekit::when::now_ms;

/// Path of the messages.
pub const PATH: &str = "/messages";
/// What a sender of a refused message gets, whatever the reason.
pub(super) const REFUSAL: &str = "refused\n";

/// How many messages were answered, and refused by reason.
#[derive(Debug, Default)]
pub struct Counters {
    answered: AtomicU64,
    refused: [AtomicU64; Refused::ALL.len()],
}

impl Counters {
    /// Answered messages.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Refused messages by reason; reasons that did not occur are left out.
    pub fn refused(&self) -> Vec<(Refused, u64)> {
        let count = |reason: Refused| self.refused[reason.index()].load(Ordering::Relaxed);
        Refused::ALL.into_iter().map(|it| (it, count(it))).filter(|(_, count)| *count > 0).collect()
    }

    fn count(&self, reason: Refused) {
        self.refused[reason.index()].fetch_add(1, Ordering::Relaxed);
    }
}

/// What all cores share: a message that one core accepted is a replay on every other.
#[derive(Debug)]
pub(super) struct App {
    pub(super) channel: Channel,
    pub(super) counters: Arc<Counters>,
}

/// The service's paths.
pub(super) fn router(app: Arc<App>) -> Router {
    Router::new().route(PATH, post(answer)).route("/healthz", get(async || "ok\n")).with_state(app)
}

async fn answer(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let accepted = async {
        let body = read(&parts.headers, body, app.channel.format().most_body()).await?;
        let scene = scene(&parts)?;
        app.channel.receive(&parts.headers, &body, &scene, now_ms())
    };
    match accepted.await {
        Ok(message) => app.answer(&message, &parts).unwrap_or_else(|error| {
            log_once!(error by &error.to_string(), %error, "a message could not be answered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }),
        Err(reason) => {
            app.counters.count(reason);
            tracing::debug!(reason = reason.label(), "a message was refused");
            (StatusCode::BAD_REQUEST, REFUSAL).into_response()
        }
    }
}

impl App {
    fn answer(&self, message: &crate::Message, request: &Parts) -> Result<Response> {
        let counter = self.counters.answered.fetch_add(1, Ordering::Relaxed) + 1;
        let answer = message.answer(counter, now_ms())?;
        let scene = Scene::Answer { status: StatusCode::OK.as_u16(), request: &request.headers };
        let wire = self.channel.protect(&answer, &scene)?;
        let mut response = Response::new(Body::from(wire.body));
        *response.headers_mut() = wire.headers;
        Ok(response)
    }
}

/// The place of a request. The host is that of the Host field, which a signature may cover.
fn scene(request: &Parts) -> Result<Scene<'_>, Refused> {
    let path = request.uri.path_and_query().map_or("", |path| path.as_str());
    let authority = only(&request.headers, &HOST, Refused::Malformed)?;
    Ok(Scene::Request { method: request.method.as_str(), authority, path })
}

/// The body, in bounded memory and time. One that is compressed is not read: nothing that
/// grows when it is decoded is.
async fn read(headers: &HeaderMap, body: Body, most: usize) -> Result<Bytes, Refused> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(Refused::Compressed);
    }
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > most as u64) {
        return Err(Refused::TooLarge);
    }
    body::collect(body, most).await.map_err(|why| match why {
        Unread::TooLong => Refused::TooLarge,
        Unread::BrokenOff | Unread::TooSlow => Refused::Incomplete,
    })
}
