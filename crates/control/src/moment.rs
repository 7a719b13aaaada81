//! What a decision is based on beside the plan.

use std::time::Duration;

use crate::handshake::Entry;

/// The state of the gate at a decision, and how the session connects that is decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Admitted connections whose handshake is still to be worked on, as in
    /// [`Reading::in_flight_handshakes`](crate::Reading::in_flight_handshakes).
    pub handshakes: u32,
    /// CPU time of these at the prices that they were charged; `None`: not known, and each
    /// counts as a new one does on average.
    pub handshake_cpu: Option<Duration>,
    /// Requests that are with the upstream, as in
    /// [`Reading::in_flight_requests`](crate::Reading::in_flight_requests).
    pub requests: u32,
    /// Backlog that is allowed beyond the backlog limit while processors have time to
    /// spare, as the time that they need for it: see
    /// [`Discipline::allowed_backlog`](crate::Discipline::allowed_backlog).
    pub allowed_backlog: Duration,
    /// How the session connects.
    pub entry: Entry,
}

impl Moment {
    /// Nothing is in flight, and any backlog is allowed.
    pub const IDLE: Self = Self {
        handshakes: 0,
        handshake_cpu: None,
        requests: 0,
        allowed_backlog: Duration::MAX,
        entry: Entry::Average,
    };

    /// So much is in flight, and any backlog is allowed.
    pub const fn in_flight(handshakes: u32, requests: u32) -> Self {
        Self { handshakes, requests, ..Self::IDLE }
    }
}
