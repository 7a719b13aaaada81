//! What a route says about its exchanges with an upstream.

use super::WebSocket;
use super::routes::ROUTE;
use std::time::Duration;
use tidegate_config::Section;

/// What a route says about its exchanges. What it does not say is said by the upstream and the
/// limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteRules {
    /// How long the upstream may take to begin its response.
    pub response_timeout: Option<Duration>,
    /// Longest silence of the upstream within a response.
    pub response_pause: Option<Duration>,
    /// Longest time of an exchange as a whole.
    pub exchange_timeout: Option<Duration>,
    /// Content types of streams of events.
    pub stream_types: Option<Vec<String>>,
    /// Longest silence of the upstream in a stream of events.
    pub stream_deadline: Option<Duration>,
    /// What becomes of requests for a WebSocket.
    pub websocket: Option<WebSocket>,
    /// Longest time without a byte in a WebSocket.
    pub tunnel_idle: Option<Duration>,
}

/// The keys.
pub(super) fn names() -> [&'static str; 7] {
    [
        ROUTE.response_timeout.name,
        ROUTE.response_pause.name,
        ROUTE.exchange_timeout.name,
        ROUTE.stream_types.name,
        ROUTE.stream_deadline.name,
        ROUTE.websocket.name,
        ROUTE.tunnel_idle.name,
    ]
}

/// Reads them.
pub(super) fn read(table: &Section<'_>) -> RouteRules {
    RouteRules {
        response_timeout: table.given(&ROUTE.response_timeout),
        response_pause: table.given(&ROUTE.response_pause),
        exchange_timeout: table.given(&ROUTE.exchange_timeout),
        stream_types: table.given(&ROUTE.stream_types),
        stream_deadline: table.given(&ROUTE.stream_deadline),
        websocket: table.given(&ROUTE.websocket),
        tunnel_idle: table.given(&ROUTE.tunnel_idle),
    }
}
