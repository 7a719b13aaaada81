//! How long sessions are: the mean session length goes with every result,
//! because it decides what a session costs.
//!
//! Back makes the chain a pushdown one, which has no simple closed form, so
//! it is simulated with the walk that the customers use.

use rand::SeedableRng;
use serde::Serialize;

use super::Parts;
use crate::Rng;
use crate::walk::{Step, Walk};

/// Sessions simulated: the mean of the longest table shipped (standard
/// deviation about its mean) comes out within 2 %.
const SESSIONS: usize = 4000;

/// Requests of a session that nothing disturbs, by simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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

/// Simulated sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// How many requests each has, in ascending order.
    pub(super) lengths: Vec<u32>,
    pub(super) summary: SessionLength,
}

pub(super) fn simulate(parts: &Parts) -> Sessions {
    let mut rng = Rng::seed_from_u64(7);
    let mut backs = 0u64;
    let mut lengths: Vec<u32> = (0..SESSIONS)
        .map(|_| {
            let mut walk: Walk<()> = Walk::new(parts.start);
            walk.visit(parts.start, ());
            while let Some(step) = walk.step(&parts.table, parts.session.max_requests, &mut rng) {
                match step {
                    Step::Visit(page) => walk.visit(page, ()),
                    Step::Again => walk.again(),
                    Step::Back => {
                        backs += 1;
                        walk.back(|page| parts.pages[page as usize].repeat);
                    }
                }
            }
            walk.requests()
        })
        .collect();
    lengths.sort_unstable();
    let total: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    let summary = SessionLength {
        mean_requests: total as f64 / SESSIONS as f64,
        median_requests: lengths[SESSIONS / 2],
        p99_requests: lengths[SESSIONS * 99 / 100],
        back_share: backs as f64 / total as f64,
    };
    Sessions { lengths, summary }
}
