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
    /// The body of a request, or a piece of a file.
    pub body: Duration,
    /// Bytes per second of a request's body, averaged from the request's head on; 0
    /// demands none.
    pub upload_rate: u64,
    /// A response that waits for the customer.
    pub delivery: DeliveryLimits,
    /// The upstream, where no route says otherwise.
    pub upstream: UpstreamTimes,
}

/// How long the upstream of an exchange may take.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamTimes {
    /// From the last byte of the request to the head of the response.
    pub response: Duration,
    /// Without a byte within the response.
    pub pause: Duration,
    /// The same of a stream of events.
    pub stream: Duration,
    /// From the head of the request to the last byte of the response, if there is a limit.
    pub whole: Option<Duration>,
}

impl RequestDeadlines {
    /// The configured deadlines.
    pub fn of(config: &Config) -> Self {
        Self {
            idle: config.limits.idle_deadline,
            head: config.limits.head_deadline,
            body: config.limits.body_progress_deadline,
            upload_rate: config.limits.upload_rate.into(),
            delivery: DeliveryLimits {
                pause: config.limits.download_pause,
                rate: config.limits.download_rate.into(),
            },
            upstream: UpstreamTimes {
                response: config.upstream.response_timeout,
                pause: config.upstream.response_pause,
                stream: config.limits.stream_deadline,
                whole: config.upstream.exchange_timeout,
            },
        }
    }
}
