//! As many new sessions as the measured capacity carries to the end.
//!
//! Every tick it asks, for each resource: of the CPU time in the next
//! interval, how much will those inside use, how much is owed already
//! (backlog), and how many new sessions fit in what is left? The tightest
//! resource rules, and the answer is spread evenly over the interval.
//!
//! Those inside are counted from their admission, so a session weighs before
//! any of its work shows in a measurement: there is no delay in the loop, and
//! admission falls as the house fills, without overshoot. What one of them will
//! use is learned as requests per second *of thinking*: sessions that wait for
//! an answer ask for nothing, and so the figure stays right at saturation,
//! where CPU use per session would be too small.

use std::fmt::Write;
use std::time::Duration;

use crate::Time;
use crate::average::Average;
use crate::bucket::Bucket;
use crate::costs::{Costs, Priors, sane};
use crate::reading::Reading;
use crate::service::Service;
use crate::status::ResourceName;

/// Share of a resource that may be planned for.
const TARGET: f64 = 0.95;
/// Share of the backlog that is taken off the next interval.
const BACKLOG: f64 = 1.0;

/// The policy's state.
#[derive(Clone, Debug)]
pub(crate) struct Tide {
    bucket: Bucket,
    fresh_until: Time,
    wishes: Average,
    returns: Average,
    thinking: f64,
    trim: f64,
    service: Service,
    plan: Plan,
}

/// What the last tick concluded, for the record.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    interval_s: f64,
    sessions: f64,
    limit: Option<Limit>,
    room_s: f64,
    inside_s: f64,
    backlog_s: f64,
    session_s: f64,
    per_second: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Cpu(ResourceName),
    Service,
}

/// One resource at a tick. CPU seconds.
struct Supply {
    name: ResourceName,
    cpus: f64,
    used_s: Option<f64>,
    handshake: f64,
    returning: f64,
    request: f64,
}

impl Tide {
    pub(crate) fn new(priors: &Priors, costs: &Costs) -> Self {
        let first =
            costs.new.handshake_cpu_s + costs.gate_request_cpu_s + costs.upstream_request_cpu_s;
        let rate = sane(priors.cpus) * TARGET / first;
        Self {
            // Until the first reading: what a tenth of a second would carry.
            bucket: Bucket::new(rate, (rate * 0.1).max(1.0)),
            fresh_until: Time::from_millis(500),
            wishes: Average::new(1.0, 2.0, 2000.0),
            returns: Average::new(0.1, 10.0, 2000.0),
            thinking: 0.0,
            trim: 1.0,
            service: Service::new(),
            plan: Plan { per_second: rate, ..Plan::default() },
        }
    }

    pub(crate) fn take(&mut self, now: Time) -> Result<(), Duration> {
        if now > self.fresh_until && self.bucket.rate() > self.plan.per_second * 0.1 {
            self.bucket.set(now, self.plan.per_second * 0.1, 1.0);
        }
        self.bucket.take(now)
    }

    pub(crate) fn budget(&self, now: Time) -> f64 {
        self.bucket.tokens(now)
    }

    pub(crate) fn limit_per_s(&self) -> f64 {
        self.bucket.rate()
    }

    pub(crate) fn observe(&mut self, now: Time, reading: &Reading, costs: &Costs) {
        let interval_s = reading.elapsed.as_secs_f64().clamp(0.01, 1.0);
        self.learn(reading, interval_s);
        self.service.observe(reading, interval_s);

        let sessions = f64::from(reading.sessions_active);
        let wishes_per_s = self.wishes.value();
        let mut plan = Plan { interval_s, sessions, per_second: f64::INFINITY, ..Plan::default() };
        let mut used = None;
        for supply in supplies(reading, costs) {
            let later = supply.request + self.returns.value() * supply.returning;
            let inside_s = sessions * wishes_per_s * later * interval_s;
            let backlog_s = f64::from(reading.in_flight_requests) * supply.request
                + f64::from(reading.in_flight_handshakes) * (supply.handshake + supply.request);
            let room_s = TARGET * self.trim * supply.cpus * interval_s;
            // A new session asks first of all, and may ask again before the
            // next tick: half an interval's wishes on average.
            let session_s =
                supply.handshake + supply.request + wishes_per_s * later * interval_s / 2.0;
            let left_s = room_s - inside_s - BACKLOG * backlog_s;
            let per_second = (left_s / session_s / interval_s).max(0.0);
            if per_second < plan.per_second {
                let limit = Some(Limit::Cpu(supply.name));
                used = supply.used_s.map(|used| used / (supply.cpus * interval_s));
                plan = Plan { limit, room_s, inside_s, backlog_s, session_s, per_second, ..plan };
            }
        }
        let by_service = self.service.new_per_s(sessions * wishes_per_s, interval_s);
        if by_service < plan.per_second {
            plan = Plan { limit: Some(Limit::Service), per_second: by_service, ..plan };
        }
        let _ = used;
        if !plan.per_second.is_finite() {
            plan.per_second = 0.0;
        }
        self.plan = plan;
        self.fresh_until =
            now + (reading.elapsed * 3).clamp(Duration::from_millis(500), Duration::from_secs(3));
        self.bucket.set(now, plan.per_second, (plan.per_second * interval_s).max(1.0));
    }

    /// How often a thinking session asks again, and how often it needs a new
    /// connection to do so.
    fn learn(&mut self, reading: &Reading, interval_s: f64) {
        let requests = reading.new.requests + reading.returning.requests;
        let later = requests.saturating_sub(reading.new.handshakes) as f64;
        let waiting =
            f64::from(reading.in_flight_requests) + f64::from(reading.in_flight_handshakes);
        let thinking = (f64::from(reading.sessions_active) - waiting).max(0.0);
        let exposure_s = (self.thinking + thinking) / 2.0 * interval_s;
        self.thinking = thinking;
        self.wishes.add(later, exposure_s);
        self.returns.add(reading.returning.handshakes as f64, later);
    }

    pub(crate) fn why(&self) -> String {
        let plan = &self.plan;
        let ms = 1e3;
        let mut why = String::new();
        let _ = match plan.limit {
            None => write!(why, "nothing was measured yet"),
            Some(Limit::Service) => write!(why, "{}", self.service.why()),
            Some(Limit::Cpu(resource)) => write!(
                why,
                "of {:.1} ms {} CPU in the next {:.0} ms, {} sessions inside will use {:.1} and \
                 {:.1} are owed; at {:.2} ms a new session that leaves {:.0}/s",
                plan.room_s * ms,
                resource.as_str(),
                plan.interval_s * ms,
                plan.sessions,
                plan.inside_s * ms,
                plan.backlog_s * ms,
                plan.session_s * ms,
                plan.per_second,
            ),
        };
        why
    }
}

/// The resources in view and what work costs on each.
fn supplies(reading: &Reading, costs: &Costs) -> impl Iterator<Item = Supply> {
    let gate = Supply {
        name: ResourceName::Gate,
        cpus: sane(reading.gate.capacity_cpus),
        used_s: reading.gate.used_cpu_s.map(sane),
        handshake: costs.new.handshake_cpu_s,
        returning: costs.returning.handshake_cpu_s,
        request: costs.gate_request_cpu_s,
    };
    let upstream = reading.upstream.map(|upstream| Supply {
        name: ResourceName::Upstream,
        cpus: sane(upstream.capacity_cpus),
        used_s: upstream.used_cpu_s.map(sane),
        handshake: 0.0,
        returning: 0.0,
        request: costs.upstream_request_cpu_s,
    });
    let host = reading.shared_cpus.map(|cpus| Supply {
        name: ResourceName::Host,
        cpus: sane(cpus),
        used_s: Some(
            gate.used_s.unwrap_or(0.0) + upstream.as_ref().and_then(|up| up.used_s).unwrap_or(0.0),
        ),
        handshake: gate.handshake,
        returning: gate.returning,
        request: gate.request + costs.upstream_request_cpu_s,
    });
    [Some(gate), upstream, host].into_iter().flatten()
}
