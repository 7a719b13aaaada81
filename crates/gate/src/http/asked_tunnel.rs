//! A request for a WebSocket on its way to the upstream: whether it may go there, and the tunnel that
//! follows.

use crate::context::{CoreContext, Counted};
use crate::http::headers;
use crate::http::pages::ErrorPage;
use crate::http::websocket::Opening;
use crate::tunnel::Tunnel;
use crate::upstream::pool::Pooled;
use crate::upstream::rules::ExchangeRules;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{Response, Version, response};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use std::rc::Rc;
use std::time::Duration;

/// A request for a WebSocket that may go to the upstream.
pub struct AskedTunnel {
    /// What the upstream is asked.
    pub opening: Opening,
    /// The place of the tunnel.
    counted: Counted,
    /// Longest time without a byte in either direction.
    idle: Duration,
}

impl AskedTunnel {
    /// The request for a WebSocket that this is, if it is one.
    ///
    /// # Errors
    /// It is refused: as malformed, by configuration, or since there are too many.
    pub fn of(
        context: &Rc<CoreContext>,
        parts: &Parts,
        rules: &ExchangeRules,
    ) -> Result<Option<Self>, ErrorPage> {
        let Some(opening) = Opening::of(parts)? else { return Ok(None) };
        if !rules.opens_websockets {
            return Err(ErrorPage::NoWebSocket);
        }
        let most = context.share_of(context.config.limits.max_tunnels);
        if context.counters.tunnels.get() >= most as u64 {
            return Err(ErrorPage::FullOfTunnels);
        }
        let counted = context.count(|counters| &counters.tunnels);
        Ok(Some(Self { opening, counted, idle: rules.tunnel_idle }))
    }

    /// Makes a tunnel of the connections: the upstream has agreed by this answer.
    pub fn open(
        self,
        (response, connection): (Response<Incoming>, Pooled),
    ) -> (response::Parts, Box<Tunnel>) {
        let (mut parts, _) = response.into_parts();
        headers::remove_hop_by_hop(&mut parts.headers);
        parts.headers.remove(CONTENT_LENGTH);
        parts.version = Version::HTTP_11;
        parts.extensions.remove::<OnUpgrade>();
        self.opening.agree(&mut parts.headers);
        let (upstream, early, in_use) = connection.detach();
        let Self { counted, idle, .. } = self;
        (parts, Box::new(Tunnel { upstream, early, in_use, counted, idle, visit: None }))
    }
}
