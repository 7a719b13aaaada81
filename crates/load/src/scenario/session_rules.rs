//! Rules of sessions.

use std::time::Duration;

use super::impatience::Impatience;

/// The rules of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionRules {
    /// A session ends after this many requests at the latest.
    pub max_requests: u32,
    /// Mean of the negative exponential think time.
    pub think: Duration,
    /// No think time is longer than this many times its mean.
    pub think_cap: f64,
    /// From intended start to last byte of the answer.
    pub patience: Duration,
    /// Longest stay in the waiting room of a gate.
    pub waits: Duration,
    /// Share of its pages after which they ask later than it says, 0 to 1.
    pub waits_late: f64,
    /// By how much.
    pub waits_late_by: Duration,
    /// What customers do when they are refused or lose patience.
    pub impatience: Impatience,
    /// Customers (accounts) to draw from, numbered from 1.
    pub customers: u64,
    /// Redirects within the site are followed, as part of the request.
    pub follow_redirects: bool,
    /// An asset is requested once in a session.
    pub assets_cached: bool,
}

impl Default for SessionRules {
    /// The client of RUBiS with the think time of TPC-W, and the patience of
    /// httperf's users in the study of admission control.
    fn default() -> Self {
        Self {
            max_requests: 1000,
            think: Duration::from_secs(7),
            think_cap: 10.0,
            patience: Duration::from_secs(10),
            waits: Duration::from_secs(600),
            waits_late: 0.0,
            waits_late_by: Duration::from_secs(10),
            impatience: Impatience::Leave,
            customers: 1000,
            follow_redirects: true,
            assets_cached: false,
        }
    }
}
