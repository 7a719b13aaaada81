//! What an exchange has of its route: the counts, the times of the upstream, and the limit of the
//! whole.

use super::{Activity, Exchange, Expiry};
use crate::connection::deadlines::UpstreamTimes;
use crate::telemetry::clock;
use crate::telemetry::cpu;
use crate::telemetry::labels::{End, UpstreamFault};
use crate::telemetry::route_counts::RouteCounts;
use std::sync::Arc;
use std::time::Instant;

/// Why a response was given up in the middle.
const TOO_LONG: &str = "the exchange took longer than exchange_timeout";

impl Exchange {
    /// The request takes a route with these counts.
    pub fn takes(&self, route: Option<&Arc<RouteCounts>>) {
        if let Some(route) = route {
            self.route.replace(Some(route.clone()));
            cpu::enter_route(Some(route));
        }
    }

    /// The thread works on this exchange now.
    pub fn runs(&self) {
        cpu::enter_route(self.route.borrow().as_ref());
    }

    /// The counts of the request's route, where routes are configured.
    pub fn route(&self, count: impl FnOnce(&RouteCounts)) {
        if let Some(route) = &*self.route.borrow() {
            count(route);
        }
    }

    /// How long the upstream may take, by the route of the request.
    pub fn within(&self, times: UpstreamTimes) {
        self.times.set(times);
    }

    /// When it must be over as a whole, if that is limited.
    pub fn over_at(&self) -> Option<Instant> {
        let whole = self.times.get().whole?;
        // Once the upstream was given up, the gate's own answer follows.
        let late = self.upstream_late.get().is_some();
        let counts = !(self.awaits_request() || self.handed_over.get() || late);
        counts.then(|| self.begun.get() + whole)
    }

    /// Whether it has taken too long as a whole.
    pub fn is_over_time(&self) -> bool {
        self.over_at().is_some_and(|at| at <= clock::now())
    }

    /// The exchange has taken too long as a whole.
    pub(super) fn expire_whole(&self) -> Expiry {
        match self.activity.get() {
            Activity::Upload => Expiry::Close(End::BodyDeadline),
            Activity::Response => {
                self.upstream_failed(UpstreamFault::Stalled, TOO_LONG);
                Expiry::Close(End::Truncated)
            }
            _ => {
                self.count_given_up();
                self.give_up(UpstreamFault::Timeout)
            }
        }
    }
}
