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
mod tuning;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Time;
use crate::average::Average;
use crate::bucket::Bucket;
use crate::costs::{Costs, Priors};
use crate::moment::Moment;
use crate::number::{rounded, sane};
use crate::reading::Reading;
use crate::resource::{ByResource, ResourceName};
use backlog_limit::{Backlog, BacklogLimit, Work};
use demand_forecast::DemandForecast;
use latency_limit::LatencyLimit;
use plan::{Demand, Limit, Plan, Supply, supplies};

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
    returns: Average,
    refused_per_s: f64,
    shares: ByResource<Share>,
    plan: Plan,
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
            returns: Average::new(0.1, 10.0, 4000.0),
            refused_per_s: 0.0,
            shares: ByResource::default(),
            plan,
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
            backlog_share: tuning.backlog_share,
        };
        let plans = supplies(reading, costs)
            .map(|supply| (Plan::new(&supply, reading, demand(&supply)), supply));
        let tightest = plans.min_by(|a, b| a.0.per_second.total_cmp(&b.0.per_second));
        let (mut plan, supply) = tightest.expect("the gate is always in view");
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

    /// Corrects the share of a resource that is planned for by its utilization, while it
    /// limits admission; otherwise returns it to 1.
    fn trim(&mut self, supply: &Supply, interval_s: f64, put_off: bool) {
        if supply.usage.used_cpu_s.is_none() {
            return;
        }
        let tuning = &self.tuning;
        let in_use = supply.usage.in_use(interval_s);
        let Share { utilization, trim } = self.shares.entry(supply.name);
        *utilization += interval_s * (in_use - *utilization);
        let per_s = if put_off && self.plan.limit == Limit::Cpu(supply.name) {
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
mod tests {
    use super::*;
    use crate::ClassWork;
    use crate::costs::CostModel;
    use crate::reading::Usage;
    use crate::think_time_census::AGES;

    const ONE: Usage = Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.0), idle: None };

    /// The handshake of [`costs`].
    const AVERAGE_S: f64 = 500e-6;

    fn reading() -> Reading {
        let usage = ByResource::default().with(ResourceName::Gate, ONE);
        Reading { elapsed: Duration::from_millis(100), usage, ..Reading::default() }
    }

    fn costs() -> Costs {
        // Handshake 500 µs, request 25 + 500 µs.
        CostModel::new(&Priors::default()).costs()
    }

    fn tide() -> Tide {
        Tide::new(&Priors::default(), &costs(), Tuning::default())
    }

    fn after(reading: &Reading) -> Tide {
        let mut tide = tide();
        tide.observe(Time::from_millis(100), reading, &costs(), Refused::default());
        tide
    }

    fn shared(sessions_active: u32, in_flight_requests: u32) -> Reading {
        let usage = reading().usage.with(ResourceName::Upstream, ONE).with(ResourceName::Host, ONE);
        let mut thinking = [0; AGES];
        thinking[1] = sessions_active.into();
        Reading { usage, sessions_active, thinking, in_flight_requests, ..reading() }
    }

    /// No sessions, and so much of the host in use.
    fn on_host(usage: Usage) -> Reading {
        let mut reading = shared(0, 0);
        reading.usage.set(ResourceName::Host, usage);
        reading
    }

    #[test]
    fn without_active_sessions_all_capacity_is_planned_for_new_ones() {
        // 100 ms / 1025 µs = 97.56 in 100 ms.
        let tide = after(&shared(0, 0));
        assert!((tide.plan.per_second - 975.61).abs() < 0.1, "{:?}", tide.plan);
        assert_eq!(tide.plan.limit, Limit::Cpu(ResourceName::Host));
    }

    #[test]
    fn the_tightest_of_several_upstreams_sets_the_plan() {
        let costs =
            Costs { upstream_request_cpu_s: 400e-6, routed_request_cpu_s: 200e-6, ..costs() };
        let quarter = Usage { capacity_cpus: 0.25, ..ONE };
        let mut reading = reading();
        reading.usage.set(ResourceName::Upstream, ONE);
        reading.usage.set(ResourceName::Routed, quarter);
        let mut tide = tide();
        tide.observe(Time::from_millis(100), &reading, &costs, Refused::default());
        // 1 ∕ 525 µs by the gate, 1 ∕ 400 µs by one upstream, 0.25 ∕ 200 µs by the other.
        assert_eq!(tide.plan.limit, Limit::Cpu(ResourceName::Routed));
        assert!((tide.plan.per_second - 1250.0).abs() < 0.1, "{:?}", tide.plan);
    }

    #[test]
    fn what_is_with_an_upstream_counts_in_full_however_few_requests_go_there() {
        // One request in ten goes to the upstream, for 500 µs: 50 µs of each.
        let costs = Costs {
            upstream_request_cpu_s: 50e-6,
            upstream_share: 0.1,
            gate_request_cpu_s: 25e-6,
            ..costs()
        };
        let mut tide = tide();
        tide.observe(Time::from_millis(100), &shared(0, 40), &costs, Refused::default());
        // Half of 40 × 525 µs.
        assert!((tide.plan.backlog_s - 0.0105).abs() < 1e-9, "{:?}", tide.plan);
        assert!((tide.plan.session_s - 575e-6).abs() < 1e-9, "{:?}", tide.plan);
    }

    #[test]
    fn plan_and_denial_are_explained_in_a_sentence_each_with_the_right_sums() {
        let mut tide = after(&shared(20, 40));
        // 20 customers at one request/s and 537 µs, with returns of 0.1 at 120 µs: 1.07 ms;
        // half of 40 requests at 525 µs: 10.5 ms; (100 − 1.07 − 10.5) ∕ 1.025 = 86.27.
        assert_eq!(
            tide.why(Time::from_millis(100)),
            "of 100.0 ms of host CPU in the next 100 ms, times a trim of 1.000, refusals take \
             0.0, 20 active sessions 1.1 and the backlog 10.5; at 1.02 ms each this leaves 862.7 \
             new sessions/s"
        );
        assert!(tide.why(Time::from_secs(9)).starts_with("no reading has come since this plan"));
        assert_eq!(tide.why_not(), None);
        while tide.take(Time::from_millis(100), Moment::IDLE, AVERAGE_S).is_ok() {}
        let taken = "limit of 863 new sessions/s reached";
        assert_eq!(tide.why_not().as_deref(), Some(taken));
        assert!(tide.take(Time::from_secs(1), Moment::in_flight(9, 0), AVERAGE_S).is_err());
        let busy = tide.why_not().unwrap();
        assert!(busy.starts_with("the backlog is 9.23 ms of CPU (9 handshakes and 0"), "{busy}");
    }

    #[test]
    fn a_session_takes_as_much_of_the_plan_as_its_handshake_costs() {
        // 97.56 sessions of 1025 µs in 100 ms, and ten of 5.125 ms take as much as fifty.
        let admitted = |handshake_s: f64| {
            let mut tide = after(&shared(0, 0));
            let now = Time::from_millis(100);
            let costly = (0..10).filter(|_| tide.take(now, Moment::IDLE, handshake_s).is_ok());
            let costly = costly.count();
            let others = std::iter::from_fn(|| tide.take(now, Moment::IDLE, AVERAGE_S).ok());
            (costly, others.count())
        };
        assert_eq!(admitted(AVERAGE_S), (10, 87));
        assert_eq!(admitted(4.6e-3), (10, 47));
        // A session that costs more than all that is left is admitted, and the rest is owed.
        assert_eq!(admitted(30e-3), (4, 0));
    }

    #[test]
    fn active_sessions_and_the_backlog_come_first() {
        // 40 in flight need 21 ms, of which half counts.
        let (empty, busy) = (after(&shared(0, 0)), after(&shared(0, 40)));
        let left = (100.0 - 10.5) / 100.0;
        assert!((busy.plan.per_second / empty.plan.per_second - left).abs() < 1e-6);
        // 3000 thinking customers make 0.1 × 3000 requests of 537 µs = 161 ms: no room.
        assert_eq!(after(&shared(3000, 0)).plan.per_second, 0.0);
    }

    #[test]
    fn a_reading_of_many_seconds_counts_as_one_average_second() {
        // 400 customers make five requests a second each; then seven seconds in one reading.
        let mut tide = tide();
        let mut observe = |at_ms: u64, elapsed_ms: u64| {
            let mut requests_by_age = [0; AGES];
            requests_by_age[1] = 2 * elapsed_ms;
            let elapsed = Duration::from_millis(elapsed_ms);
            let reading = Reading { elapsed, requests_by_age, ..shared(400, 0) };
            let refused = Refused { number: elapsed_ms / 100, ..Refused::default() };
            tide.observe(Time::from_millis(at_ms), &reading, &costs(), refused);
            (tide.forecast.per_s(&tide.tuning), tide.refused_per_s)
        };
        for tick in 1..100 {
            observe(tick * 100, 100);
        }
        let (per_s, refused_per_s) = observe(17_000, 7000);
        assert!((per_s - 2000.0).abs() < 40.0 && (refused_per_s - 10.0).abs() < 0.1, "{per_s}");
    }

    #[test]
    fn the_first_request_of_a_connection_is_no_later_request_without_a_new_one() {
        let mut tide = tide();
        for tick in 1..100 {
            let new =
                ClassWork { handshakes: 10, in_clear: 40, requests: 50, ..ClassWork::default() };
            let reading = Reading { new, ..shared(400, 0) };
            tide.observe(Time::from_millis(tick * 100), &reading, &costs(), Refused::default());
        }
        assert_eq!(tide.returns.value(), 0.1);
    }

    #[test]
    fn processors_that_others_use_have_no_time_to_spare() {
        let admits_above_the_limit = |idle: f64| {
            let mut tide = tide();
            for tick in 1..50 {
                let half = Usage { used_cpu_s: Some(0.05), idle: Some(idle), ..ONE };
                let reading = on_host(half);
                tide.observe(Time::from_millis(tick * 100), &reading, &costs(), Refused::default());
            }
            tide.take(Time::from_secs(5), Moment::in_flight(0, 5), AVERAGE_S).is_ok()
        };
        assert!(admits_above_the_limit(0.5));
        assert!(!admits_above_the_limit(0.02));
    }

    #[test]
    fn the_trim_rises_three_times_as_fast_as_it_falls() {
        // A second of this use while new sessions wait.
        let trim = |used_cpu_s: f64| {
            let mut tide = tide();
            let used = Usage { used_cpu_s: Some(used_cpu_s), ..ONE };
            let reading = on_host(used);
            for tick in 0..11 {
                let refused = Refused { put_off: tick > 0, ..Refused::default() };
                tide.observe(Time::from_millis(tick * 100), &reading, &costs(), refused);
            }
            tide.share(ResourceName::Host).trim
        };
        let is = |trim: f64, change: f64| (trim - 1.0 - change).abs() < 1e-9;
        assert!(is(trim(0.089), 0.3 * (0.99 - 0.89)), "{}", trim(0.089));
        assert!(is(trim(0.1), -0.1 * (1.0 - 0.99)));
    }

    #[test]
    fn without_readings_nobody_is_admitted_above_the_backlog_limit() {
        let mut tide = after(&shared(0, 0));
        let moment = Moment::in_flight(0, 5);
        assert!(tide.take(Time::from_millis(200), moment, AVERAGE_S).is_ok());
        assert!(tide.take(Time::from_secs(5), moment, AVERAGE_S).is_err());
        assert!(tide.take(Time::from_secs(5), Moment::IDLE, AVERAGE_S).is_ok());
    }
}
