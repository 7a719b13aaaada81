//! Priorities of routes: which requests of active sessions give way when the service cannot carry
//! all of them.
//!
//! Requests of high priority always pass. Those of low priority give way to all others and to new
//! sessions, those of normal priority to the high ones, after no new session is admitted any more.
//! A level is refused in part only once a queue stands (or, for the low ones, new sessions wait),
//! and only while there is a route of a higher priority.
//!
//! Ten times a second [`Priorities`] plans the share of each level that passes, by the learned cost
//! of each route. Between ticks [`Passage`] judges single requests: the share passes by session, so
//! that some sessions are served whole, and nothing passes that would find a long queue.
//!
//! docs/priorities.md gives the equations.

mod route_costs;
mod shedding;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub(crate) use shedding::{Outside, Priorities};

/// How important the requests of a route are.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// They give way to all others and to new sessions: prefetches, crawlers, reports.
    Low,
    /// They give way to requests of high priority.
    #[default]
    Normal,
    /// They are never refused in favour of others: checkout, payment.
    High,
}

impl Priority {
    /// The name as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

/// What the requests of one route were between two ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteWork {
    /// Requests for the service, those that were refused included.
    pub requests: u64,
    /// Of these, those that were refused by their priority.
    pub refused: u64,
    /// Responses that the service began.
    pub responses: u64,
}

/// What passes of one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// The share of the sessions whose requests pass, 0 to 1.
    pub share: f64,
    /// Most requests in flight beside which another one passes.
    pub in_flight_max: f64,
}

impl Pass {
    /// Everything passes.
    pub const ALL: Self = Self { share: 1.0, in_flight_max: f64::INFINITY };

    /// Whether a request passes whose session has this number, evenly distributed from 0 to below
    /// 1, beside a number of others at the service.
    pub fn admits(&self, session: f64, in_flight: u32) -> bool {
        session < self.share && f64::from(in_flight) <= self.in_flight_max
    }
}

impl Default for Pass {
    fn default() -> Self {
        Self::ALL
    }
}

/// What passes until the next tick, by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Passage {
    /// Of the low ones.
    pub low: Pass,
    /// Of the normal ones.
    pub normal: Pass,
}

impl Passage {
    /// What passes of a priority.
    pub fn of(&self, priority: Priority) -> Pass {
        match priority {
            Priority::Low => self.low,
            Priority::Normal => self.normal,
            Priority::High => Pass::ALL,
        }
    }
}

/// A route as the controller sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouteBudget {
    /// Its priority.
    pub priority: Priority,
    /// CPU seconds of the service for one of its requests, as learned; `None`: the service is out
    /// of view, and all requests count alike.
    pub request_cpu_s: Option<f64>,
    /// Its requests per second, over about the last half second, those refused included.
    pub requests_per_s: f64,
    /// Requests per second that pass at present; `None`: all of them.
    pub budget_per_s: Option<f64>,
}
