//! What holds for exchanges with an upstream: how long they may take, which answers may pause, and
//! whether WebSockets are opened. Each route can have rules of its own.

use crate::config::{Config, RouteRules, Upstream, WebSocket};
use crate::connection::deadlines::UpstreamTimes;
use crate::http::stream_types::StreamTypes;
use std::time::Duration;

/// What holds for the exchanges of a route, or of all that have none.
#[derive(Debug)]
pub struct ExchangeRules {
    /// How long the upstream may take.
    pub times: UpstreamTimes,
    /// Content types of streams of events.
    pub stream_types: StreamTypes,
    /// Whether customers may open WebSockets.
    pub opens_websockets: bool,
    /// Longest time without a byte in a WebSocket.
    pub tunnel_idle: Duration,
}

impl ExchangeRules {
    /// The rules for exchanges with an upstream. What a route does not say is said by the upstream
    /// and the limits.
    pub fn of(config: &Config, upstream: &Upstream, route: &RouteRules) -> Self {
        let limits = &config.limits;
        let types = route.stream_types.as_ref().unwrap_or(&limits.stream_types);
        Self {
            times: UpstreamTimes {
                response: route.response_timeout.unwrap_or(upstream.response_timeout),
                pause: route.response_pause.unwrap_or(upstream.response_pause),
                stream: route.stream_deadline.unwrap_or(limits.stream_deadline),
                whole: route.exchange_timeout.or(upstream.exchange_timeout),
            },
            stream_types: StreamTypes::new(types),
            opens_websockets: route.websocket.unwrap_or(upstream.websocket) == WebSocket::Tunnel,
            tunnel_idle: route.tunnel_idle.unwrap_or(limits.tunnel_idle),
        }
    }
}
