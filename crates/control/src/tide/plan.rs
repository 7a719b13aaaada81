//! The plan: new sessions per second that fit into a resource in the next interval.

use crate::costs::{Costs, REFUSAL_CPU_S};
use crate::number::sane;
use crate::reading::{Reading, Usage};
use crate::resource::ResourceName;
use crate::tide::{Tuning, backlog_limit};

/// What the last tick concluded. Times are CPU seconds of the limiting resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) limit: Limit,
    pub(crate) interval_s: f64,
    pub(crate) sessions: f64,
    pub(crate) supply_s: f64,
    pub(crate) trim: f64,
    pub(crate) refusals_s: f64,
    pub(crate) active_s: f64,
    pub(crate) backlog_s: f64,
    /// What is left for new sessions, as a share of the supply; below 0 if it is overdrawn.
    pub(crate) left: f64,
    pub(crate) session_s: f64,
    /// The part of `session_s` that is the handshake.
    pub(crate) handshake_s: f64,
    pub(crate) per_second: f64,
}

/// What limits admission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// Nothing was measured yet.
    Prior,
    /// The CPU time of a resource.
    Cpu(ResourceName),
    /// The response time of the upstream.
    Latency,
}

/// What is known at a tick beside the costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Interval that is planned, in seconds.
    pub(crate) interval_s: f64,
    /// Share of the resource that is planned for.
    pub(crate) trim: f64,
    /// Refusals per second.
    pub(crate) refused_per_s: f64,
    /// Requests per second of active sessions.
    pub(crate) requests_per_s: f64,
    /// Of these, the share that needs a new connection.
    pub(crate) returning_share: f64,
}

impl Plan {
    /// Before the first reading.
    pub(crate) fn prior(session_s: f64, per_second: f64) -> Self {
        Self {
            limit: Limit::Prior,
            interval_s: 0.1,
            sessions: 0.0,
            supply_s: 0.0,
            trim: 1.0,
            refusals_s: 0.0,
            active_s: 0.0,
            backlog_s: 0.0,
            left: 1.0,
            session_s,
            handshake_s: 0.0,
            per_second,
        }
    }

    /// For one resource.
    pub(crate) fn new(supply: &Supply, reading: &Reading, demand: Demand, tuning: &Tuning) -> Self {
        let Demand { interval_s, trim, .. } = demand;
        // What follows the first response of a session is forecast from all responses.
        let session_s = supply.handshake + supply.request;
        let later_s = supply.request + demand.returning_share * supply.returning;
        let active_s = demand.requests_per_s * later_s * interval_s;
        let handshakes = f64::from(reading.in_flight_handshakes);
        let handshakes_s = match reading.in_flight_handshake_cpu_s {
            Some(cpu_s) if supply.handshake > 0.0 => sane(cpu_s),
            _ => handshakes * supply.handshake,
        };
        let in_flight_s = f64::from(reading.in_flight_requests) * supply.passed
            + handshakes * supply.request
            + handshakes_s;
        // What keeps the processors busy is there at the end of the interval as well.
        let beyond_s = (in_flight_s - supply.busy_backlog_s(tuning)).max(0.0);
        let backlog_s = tuning.backlog_share * beyond_s;
        let supply_s = supply.usage.capacity_cpus * interval_s;
        let refusals_s = demand.refused_per_s * supply.refusal * interval_s;
        let left_s = trim * supply_s - refusals_s - active_s - backlog_s;
        Self {
            limit: Limit::Cpu(supply.name),
            interval_s,
            sessions: f64::from(reading.sessions_active),
            supply_s,
            trim,
            refusals_s,
            active_s,
            backlog_s,
            left: if supply_s > 0.0 { left_s / supply_s } else { 0.0 },
            session_s,
            handshake_s: supply.handshake,
            // A session that costs nothing here is limited elsewhere.
            per_second: if session_s > 0.0 {
                (left_s / session_s / interval_s).max(0.0)
            } else {
                f64::MAX
            },
        }
    }

    /// Tokens of a session whose handshake costs so many CPU seconds: what it takes of the
    /// limiting resource until its first response, in sessions of the average. One where the
    /// handshake takes nothing of that resource.
    pub(crate) fn tokens(&self, handshake_cpu_s: f64) -> f64 {
        if self.handshake_s > 0.0 && matches!(self.limit, Limit::Cpu(_)) {
            1.0 + (handshake_cpu_s - self.handshake_s) / self.session_s
        } else {
            1.0
        }
    }

    /// The plan of a CPU resource in a sentence.
    pub(crate) fn why(&self, resource: ResourceName) -> String {
        format!(
            "of {:.1} ms of {} CPU in the next {:.0} ms, times a trim of {:.3}, refusals take \
             {:.1}, {} active sessions {:.1} and the backlog {:.1}; at {:.2} ms each this leaves \
             {:.1} new sessions/s",
            self.supply_s * 1e3,
            resource.as_str(),
            self.interval_s * 1e3,
            self.trim,
            self.refusals_s * 1e3,
            self.sessions,
            self.active_s * 1e3,
            self.backlog_s * 1e3,
            self.session_s * 1e3,
            self.per_second,
        )
    }
}

/// One resource at a tick: its processors, and CPU seconds per piece of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Supply {
    pub(crate) name: ResourceName,
    pub(crate) usage: Usage,
    pub(crate) refusal: f64,
    pub(crate) handshake: f64,
    pub(crate) returning: f64,
    pub(crate) request: f64,
    /// A request that is with an upstream.
    pub(crate) passed: f64,
}

impl Supply {
    /// The backlog with which the processors stay busy, in CPU seconds.
    fn busy_backlog_s(&self, tuning: &Tuning) -> f64 {
        backlog_limit::limit_s(self.usage.capacity_cpus, self.handshake, self.passed, tuning)
    }
}

/// The resources in view and what work costs on each.
pub(crate) fn supplies(reading: &Reading, costs: &Costs) -> impl Iterator<Item = Supply> {
    let gate = Supply {
        name: ResourceName::Gate,
        usage: reading.gate().sane(),
        refusal: REFUSAL_CPU_S,
        handshake: costs.new.handshake_cpu_s,
        returning: costs.returning.handshake_cpu_s,
        request: costs.gate_request_cpu_s,
        passed: costs.gate_request_cpu_s,
    };
    let behind = |name, request| {
        reading.usage_of(name).map(|usage| Supply {
            name,
            usage: usage.sane(),
            refusal: 0.0,
            handshake: 0.0,
            returning: 0.0,
            request,
            passed: costs.of_passed(request),
        })
    };
    let upstream = behind(ResourceName::Upstream, costs.upstream_request_cpu_s);
    let routed = behind(ResourceName::Routed, costs.routed_request_cpu_s);
    let host = reading.usage_of(ResourceName::Host).map(|host| Supply {
        name: ResourceName::Host,
        usage: host.sane(),
        request: gate.request + costs.upstream_request_cpu_s,
        passed: gate.passed + costs.of_passed(costs.upstream_request_cpu_s),
        ..gate
    });
    [Some(gate), upstream, routed, host].into_iter().flatten()
}
