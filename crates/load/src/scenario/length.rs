//! Lengths of sessions.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Requests of a session that nothing disturbs, by simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionLength {
    /// Mean.
    pub mean_requests: f64,
    /// Median.
    pub median_requests: u32,
    /// 99th percentile.
    pub p99_requests: u32,
    /// Share of steps that go back.
    pub back_share: f64,
}

impl SessionLength {
    /// Of sessions of one request.
    pub const ONE: Self =
        Self { mean_requests: 1.0, median_requests: 1, p99_requests: 1, back_share: 0.0 };
}

/// A session that nothing disturbs, by simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnSession {
    /// Its requests, at least 1.
    pub requests: u32,
    /// All its think times together, before the time scale.
    pub think: Duration,
}

/// Simulated sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    pub(super) drawn: Vec<DrawnSession>,
    /// How many requests each has, in ascending order.
    pub(super) lengths: Vec<u32>,
    pub(super) summary: SessionLength,
    /// Mean of the time that a session thinks.
    pub(super) mean_think: Duration,
}
