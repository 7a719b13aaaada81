//! Lengths of sessions.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate_stats::{Estimate, Interval};

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

/// How often sessions that nothing disturbs request each page, by simulation: visits of their own,
/// repetitions and steps back.
#[derive(Clone, Debug)]
pub struct PageVisits {
    sessions: u64,
    /// Of each page the sum over sessions, and that of squares.
    pages: Vec<(f64, f64)>,
}

impl PageVisits {
    pub(super) fn none(pages: usize) -> Self {
        Self { sessions: 0, pages: vec![(0.0, 0.0); pages] }
    }

    /// Adds a session with how often it requests each page.
    pub(super) fn add(&mut self, visits: &[f64]) {
        self.sessions += 1;
        for ((sum, squares), visits) in self.pages.iter_mut().zip(visits) {
            *sum += visits;
            *squares += visits * visits;
        }
    }

    /// Sessions simulated; 0 of a class without a share.
    pub fn sessions(&self) -> u64 {
        self.sessions
    }

    /// Mean number of requests of a page in a session, with the 95 % interval of the simulation.
    /// The page is its index in the scenario; others, and those of no session, have 0.
    pub fn per_session(&self, page: usize) -> Interval {
        let (sum, squares) = self.pages.get(page).copied().unwrap_or_default();
        match Estimate::of_sums(self.sessions, sum, squares) {
            Some(estimate) => Interval::from(estimate).not_negative(),
            None => Interval::point(sum / (self.sessions.max(1) as f64)),
        }
    }
}

/// Simulated sessions.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    /// Visits of all sessions.
    pub(super) visits: PageVisits,
    /// Visits of the sessions of each class.
    pub(super) class_visits: Vec<PageVisits>,
    pub(super) drawn: Vec<DrawnSession>,
    /// How many requests each has, in ascending order.
    pub(super) lengths: Vec<u32>,
    pub(super) summary: SessionLength,
    /// Mean of the time that a session thinks.
    pub(super) mean_think: Duration,
}
