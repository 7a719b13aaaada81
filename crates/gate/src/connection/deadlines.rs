//! The deadlines of requests.

use crate::config::Config;
use std::time::{Duration, Instant};

/// How long each activity of a connection may last without progress.
#[derive(Clone, Copy, Debug)]
pub struct RequestDeadlines {
    /// Between two requests.
    pub idle: Duration,
    /// The head of a request.
    pub head: Duration,
    /// A body, in either direction.
    pub body: Duration,
    /// Bytes per second of a request's body, averaged from the request's head on; 0
    /// demands none.
    pub upload_rate: u64,
    /// The response of the upstream.
    pub response: Duration,
}

impl RequestDeadlines {
    /// The configured deadlines.
    pub fn of(config: &Config) -> Self {
        Self {
            idle: config.limits.idle_deadline,
            head: config.limits.head_deadline,
            body: config.limits.body_progress_deadline,
            upload_rate: config.limits.upload_rate.into(),
            response: config.upstream.response_timeout,
        }
    }

    /// When more than `uploaded` bytes of a request's body must have passed to keep up
    /// with the least rate, for a request whose head was read at `requested`. Without it
    /// a client that sends a byte per deadline would keep its connection, and one to the
    /// upstream, without end. `None` if no rate is demanded.
    pub fn upload_due(&self, requested: Instant, uploaded: u64) -> Option<Instant> {
        let millis = uploaded.saturating_mul(1_000).checked_div(self.upload_rate)?;
        requested.checked_add(self.body)?.checked_add(Duration::from_millis(millis))
    }
}
