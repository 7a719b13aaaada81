//! An exchange that opens a WebSocket: it lasts as long as the tunnel.

use super::{Activity, Exchange};
use crate::telemetry::clock;
use crate::telemetry::labels::TunnelEnd;

impl Exchange {
    /// The upstream has agreed to a WebSocket.
    pub fn tunnel_begins(&self) {
        self.enter(Activity::Tunnel, clock::now());
    }

    /// The tunnel is over.
    pub fn tunnel_ends(&self, end: TunnelEnd) {
        self.counters.tunnels_ended[end].add(1);
        self.log().inspect(|log| log.tunnel_ended(end));
    }

    /// So many bytes of the tunnel were read from the customer, and passed to them.
    pub fn tunnelled(&self, received: usize, sent: usize) {
        self.counters.tunnel_bytes_in.add(received as u64);
        self.counters.tunnel_bytes_out.add(sent as u64);
        self.log().inspect(|log| {
            log.received(received);
            log.sent(sent);
        });
    }
}
