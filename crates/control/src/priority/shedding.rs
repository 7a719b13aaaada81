//! The plan of what passes of each level until the next tick.

use std::time::Duration;

use crate::Time;
use crate::costs::Costs;
use crate::number::{rounded, sane};
use crate::priority::route_costs::RouteCosts;
use crate::priority::{Pass, Passage, Priority, RouteBudget};
use crate::reading::Reading;
use crate::resource::ResourceName;
use crate::tide::{LatencyLimit, Tuning};

/// Utilization of the service that is planned for while a level is refused in part.
const TARGET: f64 = 0.97;
/// The queue that normal requests may find, in seconds of service beyond the response time without
/// a queue; low ones find half. Short against the patience of people, and longer than most pauses
/// of a service.
const QUEUE_S: f64 = 0.100;
/// Fewest requests in flight beside which another one passes.
const LEAST_IN_FLIGHT: f64 = 2.0;
/// A level is judged by its share from when the queue is this part of the longest.
const ARMED_AT: f64 = 0.7;
/// After the demand has fitted for so long, everything passes again.
const CALM: Duration = Duration::from_secs(2);
/// Seconds over which rates of requests are averaged.
const RATES_S: f64 = 0.3;
/// Seconds within which the backlog is worked off.
const BACKLOG_S: f64 = 0.2;
/// Utilization below which response times decide, where a queue has stood.
const SPARE: f64 = 0.8;
/// Least share of a level: from nothing no factor leads back.
const LEAST_SHARE: f64 = 0.01;
/// Least and greatest change of a share in a tick, as a factor.
const FACTOR: (f64, f64) = (0.5, 1.5);
/// Change of the trim per second and unit of missing or excess utilization, and its range.
const TRIM_PER_S: f64 = 0.3;
const TRIM: (f64, f64) = (0.6, 1.6);

/// What concerns new sessions at a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outside {
    /// New sessions that ask, per second.
    pub(crate) offered_per_s: f64,
    /// Whether any of them was not admitted since the last tick.
    pub(crate) put_off: bool,
}

/// The routes, what they cost and what passes of them.
#[derive(Clone, Debug)]
pub(crate) struct Priorities {
    routes: Vec<Route>,
    costs: RouteCosts,
    latency: LatencyLimit,
    low: Level,
    normal: Level,
    trim: f64,
    utilization: f64,
    in_view: bool,
    why: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Route {
    priority: Priority,
    requests_per_s: f64,
    /// Of these, those that passed.
    passed_per_s: f64,
}

/// One level that may be refused in part.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Whether any requests have a higher priority.
    gives_way: bool,
    armed: bool,
    /// Since when the demand fits.
    fits_since: Option<Time>,
    pass: Pass,
}

/// What the service can do, and what its work is counted in.
#[derive(Clone, Copy, Debug)]
struct Supply {
    /// Work per second: CPU seconds, or requests.
    per_s: f64,
    by_cpu: bool,
}

impl Priorities {
    /// Routes of these priorities. `None` where all have the same: nothing gives way.
    pub(crate) fn new(priorities: &[Priority]) -> Option<Self> {
        let (least, most) = (priorities.iter().min()?, priorities.iter().max()?);
        let level = |priority| Level { gives_way: priority < *most, ..Level::default() };
        (least != most).then(|| Self {
            routes: priorities
                .iter()
                .map(|it| Route { priority: *it, requests_per_s: 0.0, passed_per_s: 0.0 })
                .collect(),
            costs: RouteCosts::new(priorities.len()),
            latency: LatencyLimit::new(),
            low: level(Priority::Low),
            normal: level(Priority::Normal),
            trim: 1.0,
            utilization: 0.0,
            in_view: false,
            why: None,
        })
    }

    /// Whether the routes have these priorities.
    pub(crate) fn are(&self, priorities: &[Priority]) -> bool {
        self.routes.iter().map(|route| &route.priority).eq(priorities)
    }

    pub(crate) fn passage(&self) -> Passage {
        Passage { low: self.low.pass, normal: self.normal.pass }
    }

    /// Whether requests of active sessions are refused that come before new sessions.
    pub(crate) fn refuses_normal(&self) -> bool {
        self.normal.pass.share < 1.0
    }

    /// Plans what passes until the next tick.
    pub(crate) fn observe(
        &mut self,
        now: Time,
        reading: &Reading,
        costs: &Costs,
        outside: Outside,
    ) {
        let tuning = Tuning::default();
        let reading = &reading.within(tuning.interval_max_s);
        let interval_s = reading.elapsed.as_secs_f64().max(tuning.interval_min_s);
        self.latency.observe(reading, interval_s, &tuning);
        let service = reading.usage_of(ResourceName::Upstream);
        let used_s = service.and_then(|usage| usage.used_cpu_s).map(sane);
        self.in_view = used_s.is_some();
        let average = costs.of_passed(costs.upstream_request_cpu_s);
        if let Some(used_s) = used_s {
            let responses = reading.routes.iter().map(|route| route.responses);
            let responses = responses.chain(std::iter::repeat(0)).take(self.routes.len());
            self.costs.observe(used_s, responses, (average, interval_s));
        }
        let weight = (interval_s / RATES_S).min(1.0);
        for (route, work) in self.routes.iter_mut().zip(&reading.routes) {
            let passed = work.requests.saturating_sub(work.refused);
            for (rate, count) in
                [(&mut route.requests_per_s, work.requests), (&mut route.passed_per_s, passed)]
            {
                *rate += weight * (count as f64 / interval_s - *rate);
            }
        }
        self.follow_use(reading, interval_s);
        // Without it, requests that wait for something else look like a queue.
        let is_calm_known = self.latency.calm_s() > 0.0;
        match self.supply(reading, (interval_s, average), &tuning).filter(|_| is_calm_known) {
            Some(supply) => self.plan((now, weight), reading, supply, (average, outside)),
            None => self.open(),
        }
    }

    /// Everything passes.
    fn open(&mut self) {
        for level in [&mut self.low, &mut self.normal] {
            *level = Level { gives_way: level.gives_way, ..Level::default() };
        }
        self.why = None;
    }

    /// Follows the utilization of the service, and corrects what is planned while a level is
    /// refused.
    fn follow_use(&mut self, reading: &Reading, interval_s: f64) {
        let shared = reading.usage_of(ResourceName::Host);
        let Some(usage) = shared.or(reading.usage_of(ResourceName::Upstream)) else { return };
        let in_use = usage.sane().in_use(interval_s);
        self.utilization += interval_s * (in_use - self.utilization);
        let per_s = if self.low.pass.share < 1.0 || self.normal.pass.share < 1.0 {
            TRIM_PER_S * (TARGET - in_use)
        } else {
            0.2 * (1.0 - self.trim)
        };
        self.trim = (self.trim + interval_s * per_s).clamp(TRIM.0, TRIM.1);
    }

    /// What the service can do: by its processors; by response times, where these are out of view
    /// or have time to spare, or where a queue stands and they leave less. `None`: no limit is
    /// known.
    fn supply(
        &self,
        reading: &Reading,
        (interval_s, average): (f64, f64),
        tuning: &Tuning,
    ) -> Option<Supply> {
        let by_latency =
            self.latency.met_per_s(tuning).map(|per_s| Supply { per_s, by_cpu: false });
        if !self.in_view || self.utilization < SPARE && by_latency.is_some() {
            return by_latency;
        }
        let own = reading.usage_of(ResourceName::Upstream)?.sane().capacity_cpus;
        // What gate and service share, the gate takes first.
        let beside = reading.usage_of(ResourceName::Host).map(|host| {
            let gate = reading.gate().sane().used_cpu_s.unwrap_or(0.0) / interval_s;
            (host.sane().capacity_cpus - gate).max(0.1 * own)
        });
        let cpus = beside.map_or(own, |beside| beside.min(own));
        let by_cpu = Supply { per_s: cpus * TARGET * self.trim, by_cpu: true };
        // Others may use the processors, and what they leave is not seen here.
        let stands = self.latency.queue().is_some_and(|queue| queue.stands);
        let less = by_latency.filter(|it| stands && it.per_s * average < by_cpu.per_s);
        less.or((cpus > 0.0).then_some(by_cpu))
    }

    fn plan(
        &mut self,
        (now, weight): (Time, f64),
        reading: &Reading,
        supply: Supply,
        (average, outside): (f64, Outside),
    ) {
        let request =
            |route: usize| if supply.by_cpu { self.costs.of(route, average) } else { 1.0 };
        let average = if supply.by_cpu { average } else { 1.0 };
        let work = |priority, per_s: fn(&Route) -> f64| -> f64 {
            let of = self.routes.iter().enumerate().filter(|(_, route)| route.priority == priority);
            of.fold(0.0, |sum, (index, route)| sum + per_s(route) * request(index)) / supply.per_s
        };
        let demand = |priority| work(priority, |route| route.requests_per_s);
        let passed = |priority| work(priority, |route| route.passed_per_s);
        let (high, normal) = (demand(Priority::High), demand(Priority::Normal));
        let low = demand(Priority::Low);
        let answered_per_s = supply.per_s / average.max(f64::MIN_POSITIVE);
        let calm = self.latency.calm_in_flight();
        let queued = (f64::from(reading.in_flight_requests) - calm).max(0.0);
        let backlog = queued / answered_per_s / BACKLOG_S;
        let new = outside.offered_per_s * average / supply.per_s;
        let queue_s = QUEUE_S + self.latency.calm_s();
        let longest = |queue_s: f64| (calm + answered_per_s * queue_s).max(LEAST_IN_FLIGHT);
        let in_flight = f64::from(reading.in_flight_requests);
        let refused = |priority| {
            let of = self.routes.iter().zip(&reading.routes);
            of.filter(|(it, _)| it.priority == priority).any(|(_, work)| work.refused > 0)
        };
        let (low_refused, normal_refused) = (refused(Priority::Low), refused(Priority::Normal));
        let (normal_passed, low_passed) = (passed(Priority::Normal), passed(Priority::Low));
        let level = |level: Level, demand: (f64, f64), before: f64, longest, alarm| {
            let budget = (1.0 - before - backlog).max(0.0);
            let share = level.share_within(budget, demand, weight);
            let alarm = alarm || in_flight > ARMED_AT * longest;
            level.next(now, Pass { share, in_flight_max: longest }, alarm)
        };
        let before_low = high + normal_passed + new;
        let put_off = outside.put_off || low_refused;
        self.low = level(self.low, (low, low_passed), before_low, longest(queue_s / 2.0), put_off);
        self.normal =
            level(self.normal, (normal, normal_passed), high, longest(queue_s), normal_refused);
        let refuses = |level: &Level| level.pass.share < 1.0;
        self.why = (refuses(&self.low) || refuses(&self.normal)).then(|| {
            let percent = |share: f64| rounded(share * 100.0);
            format!(
                "of what the service can do, requests of high priority need {} %, normal ones {} %, \
                 low ones {} % and new sessions {} %; {} % of the sessions with normal and {} % of \
                 those with low ones are served",
                percent(high),
                percent(normal),
                percent(low),
                percent(new),
                percent(self.normal.pass.share),
                percent(self.low.pass.share),
            )
        });
    }

    /// The routes in the order in which they were given. Allocates.
    pub(crate) fn budgets(&self) -> Vec<RouteBudget> {
        let passage = self.passage();
        let budget = |(index, route): (usize, &Route)| {
            let share = passage.of(route.priority).share;
            RouteBudget {
                priority: route.priority,
                request_cpu_s: self
                    .in_view
                    .then(|| self.costs.of(index, 0.0))
                    .filter(|it| *it > 0.0),
                requests_per_s: route.requests_per_s,
                budget_per_s: (share < 1.0).then_some(route.passed_per_s),
            }
        };
        self.routes.iter().enumerate().map(budget).collect()
    }

    /// Why requests are refused; `None` while none are.
    pub(crate) fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }
}

impl Level {
    /// The share that keeps what passes within a budget. The share is one of sessions, and who is
    /// refused requests less than who is served: so it follows what has passed, and not the demand.
    fn share_within(&self, budget: f64, (demand, passed): (f64, f64), weight: f64) -> f64 {
        let share = if self.armed {
            let passed = passed.max(0.1 * self.pass.share * demand);
            let factor = (budget / passed.max(f64::MIN_POSITIVE)).powf(weight);
            self.pass.share * factor.clamp(FACTOR.0, FACTOR.1)
        } else {
            budget / demand.max(f64::MIN_POSITIVE)
        };
        share.clamp(LEAST_SHARE, 1.0)
    }

    /// The level after a tick. `alarm`: its queue is long, or others wait for it.
    fn next(self, now: Time, pass: Pass, alarm: bool) -> Self {
        if !self.gives_way {
            return self;
        }
        let fits_since = (pass.share >= 1.0).then(|| self.fits_since.unwrap_or(now));
        let calm = fits_since.is_some_and(|since| now.saturating_sub(since) >= CALM);
        let armed = (self.armed || alarm) && !calm;
        let share = if armed { pass.share } else { 1.0 };
        Self { armed, fits_since, pass: Pass { share, ..pass }, ..self }
    }
}
