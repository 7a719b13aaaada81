//! The deadlines of requests.

use crate::config::Config;
use crate::connection::delivery::DeliveryLimits;
use std::time::Duration;

/// How long each activity of a connection may last without progress.
#[derive(Clone, Copy, Debug)]
pub struct RequestDeadlines {
    /// Between two requests.
    pub idle: Duration,
    /// The head of a request.
    pub head: Duration,
    /// A body: a request's, or a response's that the upstream sends.
    pub body: Duration,
    /// A response's body that is a stream of events, and that the upstream sends.
    pub stream: Duration,
    /// Bytes per second of a request's body, averaged from the request's head on; 0
    /// demands none.
    pub upload_rate: u64,
    /// A response that waits for the customer.
    pub delivery: DeliveryLimits,
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
            stream: config.limits.stream_deadline,
            upload_rate: config.limits.upload_rate.into(),
            delivery: DeliveryLimits {
                pause: config.limits.download_pause,
                rate: config.limits.download_rate.into(),
            },
            response: config.upstream.response_timeout,
        }
    }
}
