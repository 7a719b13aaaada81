//! `tide`: as many new sessions as the measured capacity carries to their end.
//!
//! Every tick it plans for each resource: of the CPU time of the next interval, it
//! subtracts what active sessions will use (the [`DemandForecast`]), what the backlog
//! and refusals take, and divides the rest by the cost of a new session. The tightest
//! resource gives the rate of a token bucket.
//!
//! A session counts as soon as it has its first response, before most of its work shows
//! in a measurement, so admission falls while sessions accumulate, without overshoot.
//!
//! Between ticks, new sessions are admitted while the backlog is below the
//! [`BacklogLimit`]. They fill the gaps between the requests of active sessions, so that
//! processors can be used almost fully without a queue.
//!
//! docs/controller.md gives the equations.

mod backlog_limit;
mod demand_forecast;
mod latency_limit;
mod plan;
mod recent_responses;
mod relay;
mod tuning;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Time;
use crate::average::Average;
use crate::bucket::Bucket;
use crate::costs::{Costs, Priors};
use crate::experience::Experience;
use crate::moment::Moment;
use crate::number::{rounded, sane};
use crate::outlook::Outlook;
use crate::reading::Reading;
use crate::resource::{ByResource, ResourceName};
use backlog_limit::{Backlog, BacklogLimit, Work};
use demand_forecast::DemandForecast;
use plan::{Demand, Limit, Plan, Supply, supplies};
use relay::Relay;

pub(crate) use latency_limit::LatencyLimit;
pub use tuning::Tuning;

/// The policy's state.
#[derive(Clone, Debug)]
pub(crate) struct Tide {
    tuning: Tuning,
    bucket: Bucket,
    fresh_until: Time,
    backlog_limit: BacklogLimit,
    forecast: DemandForecast,
    latency_limit: LatencyLimit,
    relay: Relay,
    returns: Average,
    refused_per_s: f64,
    shares: ByResource<Share>,
    /// The resources that limit admission, or nearly do.
    limiting: ByResource<bool>,
    plan: Plan,
    outlook: Outlook,
    last_denial: Option<Denial>,
}

/// What is learned of the service beside costs. It has no times: another clock may go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Learned {
    forecast: DemandForecast,
    latency_limit: LatencyLimit,
    returns: Average,
}

/// How much of a resource is used, and how much is planned for.
#[derive(Clone, Copy, Debug)]
struct Share {
    utilization: f64,
    trim: f64,
}

impl Default for Share {
    fn default() -> Self {
        Self { utilization: 0.0, trim: 1.0 }
    }
}

/// Why a new session was not admitted.
#[derive(Clone, Copy, Debug)]
enum Denial {
    Backlog(Backlog),
    /// All new sessions per second of the plan are admitted.
    Rate(f64),
}

/// New sessions that were not admitted in a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refused {
    /// New sessions turned away: each cost a refusal.
    pub(crate) number: u64,
    /// Whether any decision was negative, so that it is the budget that limits.
    pub(crate) put_off: bool,
}

impl Tide {
    pub(crate) fn new(priors: &Priors, costs: &Costs, tuning: Tuning) -> Self {
        let request = costs.gate_request_cpu_s + costs.upstream_request_cpu_s;
        let session_s = costs.new.handshake_cpu_s + request;
        let per_second = sane(sane(priors.cpus) / session_s);
        let plan = Plan::prior(session_s, per_second);
        Self {
            tuning,
            bucket: Bucket::new(per_second, (per_second * plan.interval_s).max(1.0)),
            fresh_until: fresh_for(Duration::ZERO),
            backlog_limit: BacklogLimit::default(),
            forecast: DemandForecast::new(),
            latency_limit: LatencyLimit::new(),
            relay: Relay::default(),
            returns: Average::new(0.1, 10.0, 4000.0),
            refused_per_s: 0.0,
            shares: ByResource::default(),
            limiting: ByResource::default(),
            plan,
            outlook: Outlook::default(),
            last_denial: None,
        }
    }

    pub(crate) fn learned(&self) -> Learned {
        Learned {
            forecast: self.forecast.clone(),
            latency_limit: self.latency_limit.clone(),
            returns: self.returns.clone(),
        }
    }

    /// Goes on with what another has learned.
    pub(crate) fn adopt(&mut self, learned: Learned) {
        let Learned { forecast, latency_limit, returns } = learned;
        (self.forecast, self.latency_limit, self.returns) = (forecast, latency_limit, returns);
    }

    /// Adds what was measured here.
    pub(crate) fn tell(&self, all: &mut Experience) {
        all.insert("returns", self.returns.evidence());
        self.forecast.tell(all);
        self.latency_limit.tell(all);
    }

    /// Takes what others know where little was measured here.
    pub(crate) fn assume(&mut self, known: &Experience) {
        known.get("returns").into_iter().for_each(|known| self.returns.assume(known));
        self.forecast.assume(known);
        self.latency_limit.assume(known);
    }

    /// Takes the tokens of a session whose handshake costs so much, or returns how long it is
    /// not worthwhile to try again.
    pub(crate) fn take(
        &mut self,
        now: Time,
        moment: Moment,
        handshake_cpu_s: f64,
    ) -> Result<(), Duration> {
        if now > self.fresh_until {
            // What is in flight is still known: the limit keeps the backlog short.
            self.backlog_limit.assume_full_use();
        }
        let tokens = (self.bucket.tokens(now), self.bucket.burst());
        let (denial, after) = match self.backlog_limit.admits(moment, tokens, &self.tuning) {
            Err(backlog) => (Denial::Backlog(backlog), backlog.retry_after()),
            Ok(()) => match self.bucket.take_many(now, self.plan.tokens(handshake_cpu_s)) {
                Err(after) => (Denial::Rate(self.bucket.rate()), after),
                Ok(()) => return Ok(()),
            },
        };
        self.last_denial = Some(denial);
        Err(after)
    }

    pub(crate) fn budget(&self, now: Time) -> u64 {
        self.bucket.whole(now)
    }

    pub(crate) fn limit_per_s(&self) -> f64 {
        self.bucket.rate()
    }

    /// Plans the next interval.
    pub(crate) fn observe(
        &mut self,
        now: Time,
        reading: &Reading,
        costs: &Costs,
        refused: Refused,
    ) {
        self.fresh_until = now.saturating_add(fresh_for(reading.elapsed));
        let tuning = self.tuning;
        let elapsed_s = reading.elapsed.as_secs_f64().max(tuning.interval_min_s);
        self.refused_per_s +=
            tuning.refusals_weight * (refused.number as f64 / elapsed_s - self.refused_per_s);
        // A reading of many seconds counts as its average stretch of one.
        let reading = &reading.within(tuning.interval_max_s);
        let interval_s = elapsed_s.min(tuning.interval_max_s);
        self.relay.observe(reading, interval_s, self.latency_limit.queue());
        self.learn_returns(reading);
        self.forecast.observe(reading, interval_s, &tuning);
        self.latency_limit.observe(reading, interval_s, &tuning);

        for supply in supplies(reading, costs) {
            self.trim(&supply, interval_s, refused.put_off);
        }
        let requests_per_s = self.forecast.per_s(&tuning);
        let demand = |supply: &Supply| Demand {
            interval_s,
            trim: self.share(supply.name).trim,
            refused_per_s: self.refused_per_s,
            requests_per_s,
            returning_share: self.returns.value(),
        };
        let plans = supplies(reading, costs).fold(ByResource::default(), |all, supply| {
            all.with(supply.name, (Plan::new(&supply, reading, demand(&supply), &tuning), supply))
        });
        let tightest = plans
            .iter()
            .map(|(_, of)| *of)
            .min_by(|(a, _), (b, _)| a.per_second.total_cmp(&b.per_second));
        let (mut plan, supply) = tightest.expect("the gate is always in view");
        self.limiting = plans.map(|_, (of, _)| of.left - plan.left <= tuning.limits_within);
        self.expect(reading, costs, requests_per_s);
        let passed_per_s = requests_per_s * costs.upstream_share;
        let by_latency = self.latency_limit.new_per_s(passed_per_s, interval_s, &tuning);
        let calm_requests = self.latency_limit.calm_in_flight();
        if by_latency < plan.per_second {
            plan = Plan { limit: Limit::Latency, per_second: by_latency, ..plan };
            self.backlog_limit.by_requests(calm_requests, &tuning);
        } else {
            let work = Work {
                cpus: supply.usage.capacity_cpus,
                utilization: self.share(supply.name).utilization,
                handshake: supply.handshake,
                request: supply.passed,
                calm_requests,
            };
            self.backlog_limit.by_cpu(work, &tuning);
        }
        self.plan = Plan { per_second: sane(plan.per_second), ..plan };
        let burst = (self.plan.per_second * interval_s).max(1.0);
        self.bucket.set(now, self.plan.per_second, burst);
    }

    /// What this plan expects of the service behind the gate, as shares of the whole.
    fn expect(&mut self, reading: &Reading, costs: &Costs, requests_per_s: f64) {
        let returning = self.returns.value();
        let of_cpu = supplies(reading, costs)
            .filter(|supply| supply.name != ResourceName::Gate)
            .map(|supply| {
                let later = supply.request + returning * supply.returning;
                let cpus = supply.usage.capacity_cpus / reading.part.share;
                (later / cpus, (supply.handshake + supply.request) / cpus)
            });
        let planned_per_s = self.latency_limit.planned_per_s(&self.tuning);
        let by_latency = planned_per_s.map(|planned_per_s| {
            let request = costs.upstream_share / planned_per_s;
            (request, request)
        });
        let (request, session) =
            of_cpu.chain(by_latency).fold((0.0, 0.0), |most: (f64, f64), it| {
                (most.0.max(sane(it.0)), most.1.max(sane(it.1)))
            });
        self.outlook = Outlook {
            committed: sane(requests_per_s * request),
            session,
            request,
            offered: 0,
            queue: self.latency_limit.queue().map(|queue| queue.stands),
        };
    }

    /// What the last plan expects of the service behind the gate.
    pub(crate) fn outlook(&self) -> Outlook {
        self.outlook
    }

    /// Corrects the share of a resource that is planned for by its utilization, while it
    /// limits admission or nearly does; otherwise returns it to 1. Of two that limit alike, such as
    /// a service and the host that it has for itself, each tick another one is the tightest.
    fn trim(&mut self, supply: &Supply, interval_s: f64, put_off: bool) {
        if supply.usage.used_cpu_s.is_none() {
            return;
        }
        let tuning = &self.tuning;
        let limits = matches!(self.plan.limit, Limit::Cpu(_))
            && self.limiting.get(supply.name).is_some_and(|limits| *limits);
        let in_use = supply.usage.in_use(interval_s);
        let Share { utilization, trim } = self.shares.entry(supply.name);
        *utilization += interval_s * (in_use - *utilization);
        let per_s = if put_off && limits {
            let missing = tuning.target_utilization - in_use;
            missing * if missing > 0.0 { tuning.trim_rise_per_s } else { tuning.trim_fall_per_s }
        } else {
            tuning.trim_return_per_s * (1.0 - *trim)
        };
        *trim = (*trim + interval_s * per_s).clamp(tuning.trim_min, tuning.trim_max);
    }

    fn share(&self, resource: ResourceName) -> Share {
        self.shares.get(resource).copied().unwrap_or_default()
    }

    /// How often a later request of an active session needs a new connection.
    fn learn_returns(&mut self, reading: &Reading) {
        let requests = reading.new.requests.saturating_add(reading.returning.requests);
        let later = requests.saturating_sub(reading.new.entries()) as f64;
        self.returns.add(reading.returning.handshakes as f64, later);
    }

    /// Why the rate is what it is.
    pub(crate) fn why(&self, now: Time) -> String {
        let plan = &self.plan;
        let why = match plan.limit {
            Limit::Prior => "nothing was measured yet: a guess at one processor".to_owned(),
            Limit::Latency => format!(
                "{}, which leaves {:.1} new sessions/s",
                self.latency_limit.why(),
                plan.per_second
            ),
            Limit::Cpu(resource) => plan.why(resource),
        };
        if now <= self.fresh_until {
            return why;
        }
        format!(
            "no reading has come since this plan, and new sessions are admitted only while the \
             backlog is below its limit: {why}"
        )
    }

    /// Why what is measured as the upstream is not what limits the service; `None` while it may
    /// be.
    pub(crate) fn work_elsewhere(&self) -> Option<String> {
        self.relay.why()
    }

    /// Why the last new session that was not admitted had to wait; `None` if there was none.
    pub(crate) fn why_not(&self) -> Option<String> {
        Some(match self.last_denial? {
            Denial::Backlog(backlog) => backlog.why(),
            Denial::Rate(per_second) => {
                format!("limit of {} new sessions/s reached", rounded(per_second))
            }
        })
    }
}

/// How long a plan is used without a new reading: a few ticks of delay are normal.
fn fresh_for(elapsed: Duration) -> Duration {
    elapsed.saturating_mul(3).clamp(Duration::from_millis(500), Duration::from_secs(3))
}

#[cfg(test)]
mod tests;
