//! As many new sessions as the measured capacity carries to the end.
//!
//! Every tick it asks, for each resource: of the CPU time in the next
//! interval, how much will those inside use, how much is owed already
//! (backlog), and how many new sessions fit in what is left? The tightest
//! resource rules, and the answer is spread over the interval.
//!
//! Those inside are counted as they come to think, so a session weighs before
//! most of its work shows in a measurement, and admission falls as the house
//! fills, without overshoot. What they will use is learned as requests per second
//! *of thinking*, by how long they have thought: see [`Wishes`].
//!
//! Between ticks, new sessions are let in in lulls only, once processors are
//! nearly fully used: when little more is owed than a newcomer's own handshake.
//! They fill the gaps that those inside leave and stay out of their clumps, so
//! that processors can be used almost fully without a queue.

use std::time::Duration;

use crate::Time;
use crate::average::Average;
use crate::bucket::Bucket;
use crate::costs::{Costs, Priors, REFUSAL_CPU_S, sane};
use crate::lull::{Busy, Lull, Work};
use crate::reading::{Reading, Usage};
use crate::service::Service;
use crate::status::ResourceName;
use crate::wishes::Wishes;

/// How boldly is planned.
#[derive(Clone, Copy, Debug)]
struct Aim {
    /// Share of a resource that may be planned for.
    target: f64,
    /// Share of the backlog that is taken off the next interval.
    backlog: f64,
    /// Use of a resource that full admission is trimmed to: what the plan cannot
    /// know (work that it does not see, noise of its estimates) it corrects slowly.
    full_use: f64,
    /// How fast the trim rises, per second and unit of use.
    rise: f64,
}

/// Where the gate tells what is in flight between readings. The lulls keep
/// queues short then, so that too large a plan costs little; too small a one
/// leaves processors idle, as whenever work gets cheaper, and is corrected soon.
const WITH_LULLS: Aim = Aim { target: 1.0, backlog: 0.5, full_use: 0.99, rise: 0.3 };
/// Where it does not, and queues are seen once per tick only.
const WITHOUT_LULLS: Aim = Aim { target: 0.95, backlog: 1.0, full_use: 0.97, rise: 0.1 };
/// How fast the trim falls, per second and unit of use, and how far it goes, as
/// a share of the resource.
const FALL: f64 = 0.1;
const TRIM: (f64, f64) = (0.85, 1.12);
/// Share of the budget that is left when neither readings come nor the gate
/// tells what is in flight: it is blind then, but may be the only one that suffers.
const BLIND: f64 = 0.1;

/// Interval that is planned at least and at most, in seconds.
const SHORTEST_S: f64 = 0.01;
const LONGEST_S: f64 = 1.0;

/// The policy's state.
#[derive(Clone, Debug)]
pub(crate) struct Tide {
    bucket: Bucket,
    fresh_until: Time,
    lull: Lull,
    wishes: Wishes,
    returns: Average,
    refused_per_s: f64,
    service: Service,
    use_of: [f64; 3],
    trim: [f64; 3],
    plan: Plan,
    last_no: Option<No>,
}

/// Why somebody was told not now.
#[derive(Clone, Copy, Debug)]
enum No {
    Busy(Busy),
    /// All that the plan gives, in new sessions per second, is taken.
    Taken(f64),
}

/// Who did not get in, in a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refused {
    /// New sessions turned away: each cost a refusal.
    pub(crate) number: u64,
    /// Whether anybody was told not now, so that it is the budget that limits.
    pub(crate) put_off: bool,
}

/// What the last tick concluded.
#[derive(Clone, Copy, Debug)]
struct Plan {
    limit: Limit,
    interval_s: f64,
    sessions: f64,
    supply_s: f64,
    trim: f64,
    refusals_s: f64,
    inside_s: f64,
    backlog_s: f64,
    session_s: f64,
    per_second: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Prior,
    Cpu(ResourceName),
    Service,
}

/// One resource at a tick: its processors, and CPU seconds per piece of work.
#[derive(Clone, Copy, Debug)]
struct Supply {
    name: ResourceName,
    usage: Usage,
    refusal: f64,
    handshake: f64,
    returning: f64,
    request: f64,
}

impl Tide {
    pub(crate) fn new(priors: &Priors, costs: &Costs) -> Self {
        let request = costs.gate_request_cpu_s + costs.upstream_request_cpu_s;
        let session_s = costs.new.handshake_cpu_s + request;
        let per_second = sane(sane(priors.cpus) * WITHOUT_LULLS.target / session_s);
        let plan = Plan {
            limit: Limit::Prior,
            interval_s: 0.1,
            sessions: 0.0,
            supply_s: 0.0,
            trim: 1.0,
            refusals_s: 0.0,
            inside_s: 0.0,
            backlog_s: 0.0,
            session_s,
            per_second,
        };
        Self {
            bucket: Bucket::new(per_second, (per_second * plan.interval_s).max(1.0)),
            fresh_until: fresh_for(Duration::ZERO),
            lull: Lull::default(),
            wishes: Wishes::new(),
            returns: Average::new(0.1, 10.0, 4000.0),
            refused_per_s: 0.0,
            service: Service::new(),
            use_of: [0.0; 3],
            trim: [1.0; 3],
            plan,
            last_no: None,
        }
    }

    pub(crate) fn take(&mut self, now: Time) -> Result<(), Duration> {
        if now > self.fresh_until {
            if self.lull.is_told() {
                // What is in flight is still known: lulls keep queues short.
                self.lull.assume_full_use();
            } else if self.bucket.rate() > self.plan.per_second * BLIND {
                self.bucket.set(now, self.plan.per_second * BLIND, 1.0);
            }
        }
        let no = match self.lull.admits(self.bucket.tokens(now), self.bucket.burst()) {
            Err(busy) => (No::Busy(busy), busy.ask_after()),
            Ok(()) => match self.bucket.take(now) {
                Err(after) => (No::Taken(self.bucket.rate()), after),
                Ok(()) => return Ok(()),
            },
        };
        self.last_no = Some(no.0);
        Err(no.1)
    }

    pub(crate) fn in_flight(&mut self, handshakes: u32, requests: u32) {
        self.lull.in_flight(handshakes, requests);
    }

    pub(crate) fn bears(&mut self, bearable: Duration) {
        self.lull.bears(bearable);
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
        let elapsed_s = reading.elapsed.as_secs_f64().max(SHORTEST_S);
        self.refused_per_s += 0.3 * (refused.number as f64 / elapsed_s - self.refused_per_s);
        // What many seconds brought teaches no more than one of them.
        let reading = &reading.within(LONGEST_S);
        let interval_s = elapsed_s.min(LONGEST_S);
        self.learn_returns(reading);
        self.wishes.observe(reading, interval_s);
        self.service.observe(reading, interval_s);
        // Should the gate stop telling, no moment lasts longer than a tick.
        if self.lull.is_told() {
            self.lull.in_flight(reading.in_flight_handshakes, reading.in_flight_requests);
        }

        for supply in supplies(reading, costs) {
            self.trim(&supply, interval_s, refused.put_off);
        }
        let plans = supplies(reading, costs)
            .map(|supply| (self.plan(&supply, reading, interval_s), supply));
        let tightest = plans.min_by(|a, b| a.0.per_second.total_cmp(&b.0.per_second));
        let (mut plan, supply) = tightest.expect("the gate is always in view");
        let requests = self.wishes.per_s();
        let by_service = self.service.new_per_s(requests, interval_s);
        let calm = self.service.calm_in_flight();
        if by_service < plan.per_second {
            plan = Plan { limit: Limit::Service, per_second: by_service, ..plan };
            self.lull.by_requests(calm);
        } else {
            self.lull.by_cpu(Work {
                cpus: supply.usage.capacity_cpus,
                in_use: self.use_of[supply.name as usize],
                handshake: supply.handshake,
                request: supply.request,
                calm_requests: calm,
            });
        }
        self.plan = Plan { per_second: sane(plan.per_second), ..plan };
        let burst = (self.plan.per_second * interval_s).max(1.0);
        self.bucket.set(now, self.plan.per_second, burst);
    }

    fn aim(&self) -> Aim {
        if self.lull.is_told() { WITH_LULLS } else { WITHOUT_LULLS }
    }

    fn plan(&self, supply: &Supply, reading: &Reading, interval_s: f64) -> Plan {
        let Aim { target, backlog, .. } = self.aim();
        let sessions = f64::from(reading.sessions_active);
        let later_s = supply.request + self.returns.value() * supply.returning;
        let first_s = supply.handshake + supply.request;
        let inside_per_s = self.wishes.per_s() * later_s;
        let backlog_s = backlog
            * (f64::from(reading.in_flight_requests) * supply.request
                + f64::from(reading.in_flight_handshakes) * first_s);
        let trim = target * self.trim[supply.name as usize];
        let supply_s = supply.usage.capacity_cpus * interval_s;
        let refusals_s = self.refused_per_s * supply.refusal * interval_s;
        let inside_s = inside_per_s * interval_s;
        let left_s = trim * supply_s - refusals_s - inside_s - backlog_s;
        Plan {
            limit: Limit::Cpu(supply.name),
            interval_s,
            sessions,
            supply_s,
            trim,
            refusals_s,
            inside_s,
            backlog_s,
            // What follows its first answer is expected of all answers.
            session_s: first_s,
            // What costs nothing here is limited elsewhere.
            per_second: if first_s > 0.0 {
                (left_s / first_s / interval_s).max(0.0)
            } else {
                f64::MAX
            },
        }
    }

    /// Corrects the room by what was really used, while it was this resource
    /// that kept new sessions out; otherwise goes back to the plan.
    fn trim(&mut self, supply: &Supply, interval_s: f64, put_off: bool) {
        if supply.usage.used_cpu_s.is_none() {
            return;
        }
        let resource = supply.name as usize;
        let in_use = supply.usage.in_use(interval_s);
        self.use_of[resource] += interval_s * (in_use - self.use_of[resource]);
        let aim = self.aim();
        let trim = &mut self.trim[resource];
        let off = if put_off && self.plan.limit == Limit::Cpu(supply.name) {
            let off = aim.full_use - in_use;
            if off > 0.0 { aim.rise * off } else { FALL * off }
        } else {
            0.2 * (1.0 - *trim)
        };
        *trim = (*trim + interval_s * off).clamp(TRIM.0, TRIM.1);
    }

    /// How often those inside need a new connection to ask again.
    fn learn_returns(&mut self, reading: &Reading) {
        let requests = reading.new.requests.saturating_add(reading.returning.requests);
        let later = requests.saturating_sub(reading.new.entries()) as f64;
        self.returns.add(reading.returning.handshakes as f64, later);
    }

    /// Why it lets in as many as it does.
    pub(crate) fn why(&self, now: Time) -> String {
        let plan = &self.plan;
        let why = match plan.limit {
            Limit::Prior => "nothing was measured yet: a guess at one processor".to_owned(),
            Limit::Service => {
                format!(
                    "{}, which leaves {:.1} new sessions/s",
                    self.service.why(),
                    plan.per_second
                )
            }
            Limit::Cpu(resource) => format!(
                "of {:.1} ms {} CPU in the next {:.0} ms, times {:.3} by what was used of late, \
                 refusals take {:.1}, {} sessions inside will use {:.1} and {:.1} go to what is \
                 owed; at {:.2} ms each this leaves {:.1} new sessions/s",
                plan.supply_s * 1e3,
                resource.as_str(),
                plan.interval_s * 1e3,
                plan.trim,
                plan.refusals_s * 1e3,
                plan.sessions,
                plan.inside_s * 1e3,
                plan.backlog_s * 1e3,
                plan.session_s * 1e3,
                plan.per_second,
            ),
        };
        if now <= self.fresh_until {
            return why;
        }
        let goes_by = if self.lull.is_told() { "all of it in lulls only" } else { "a tenth of it" };
        format!("no reading has come since this plan, of which it goes by {goes_by}: {why}")
    }

    /// Why the last who was told not now had to wait; `None` if nobody was.
    pub(crate) fn why_not(&self) -> Option<String> {
        Some(match self.last_no? {
            No::Busy(busy) => busy.why(),
            No::Taken(per_second) => {
                format!("all of the {per_second:.1} new sessions/s that the plan gives were taken")
            }
        })
    }
}

/// How long a plan may be used after a reading: a few ticks late is nothing.
fn fresh_for(elapsed: Duration) -> Duration {
    elapsed.saturating_mul(3).clamp(Duration::from_millis(500), Duration::from_secs(3))
}

/// The resources in view and what work costs on each.
fn supplies(reading: &Reading, costs: &Costs) -> impl Iterator<Item = Supply> {
    let gate = Supply {
        name: ResourceName::Gate,
        usage: reading.gate.sane(),
        refusal: REFUSAL_CPU_S,
        handshake: costs.new.handshake_cpu_s,
        returning: costs.returning.handshake_cpu_s,
        request: costs.gate_request_cpu_s,
    };
    let upstream = reading.upstream.map(|upstream| Supply {
        name: ResourceName::Upstream,
        usage: upstream.sane(),
        refusal: 0.0,
        handshake: 0.0,
        returning: 0.0,
        request: costs.upstream_request_cpu_s,
    });
    let host = reading.shared.map(|shared| Supply {
        name: ResourceName::Host,
        usage: shared.sane(),
        request: gate.request + costs.upstream_request_cpu_s,
        ..gate
    });
    [Some(gate), upstream, host].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClassWork;
    use crate::costs::CostModel;
    use crate::thinking::AGES;

    const ONE: Usage = Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.0), idle: None };

    fn reading() -> Reading {
        Reading { elapsed: Duration::from_millis(100), gate: ONE, ..Reading::default() }
    }

    fn costs() -> Costs {
        // Handshake 500 µs, request 25 + 500 µs.
        CostModel::new(&Priors::default()).costs()
    }

    fn after(reading: &Reading) -> Tide {
        let mut tide = Tide::new(&Priors::default(), &costs());
        tide.observe(Time::from_millis(100), reading, &costs(), Refused::default());
        tide
    }

    fn shared(sessions_active: u32, in_flight_requests: u32) -> Reading {
        let (upstream, shared) = (Some(ONE), Some(ONE));
        let mut thinking = [0; AGES];
        thinking[1] = sessions_active.into();
        Reading { upstream, shared, sessions_active, thinking, in_flight_requests, ..reading() }
    }

    #[test]
    fn an_empty_house_is_planned_full() {
        // 95 ms / 1025 µs = 92.68 in 100 ms.
        let tide = after(&shared(0, 0));
        assert!((tide.plan.per_second - 926.83).abs() < 0.1, "{:?}", tide.plan);
        assert_eq!(tide.plan.limit, Limit::Cpu(ResourceName::Host));
    }

    #[test]
    fn a_plan_and_a_no_can_be_told_in_a_sentence_each_and_the_sums_are_right() {
        let mut tide = after(&shared(20, 40));
        // 1 wish/s of 20 at 537 µs, with returns of 0.1 at 120 µs: 1.07 ms; 40 in flight owe 21 ms; (95 − 1.07 − 21) ∕ 1.025.
        assert_eq!(
            tide.why(Time::from_millis(100)),
            "of 100.0 ms host CPU in the next 100 ms, times 0.950 by what was used of late, \
             refusals take 0.0, 20 sessions inside will use 1.1 and 21.0 go to what is owed; at \
             1.02 ms each this leaves 711.5 new sessions/s"
        );
        assert!(tide.why(Time::from_secs(9)).starts_with("no reading has come since this plan"));
        assert_eq!(tide.why_not(), None);
        while tide.take(Time::from_millis(100)).is_ok() {}
        let taken = "all of the 711.5 new sessions/s that the plan gives were taken";
        assert_eq!(tide.why_not().as_deref(), Some(taken));
        tide.in_flight(9, 0);
        assert!(tide.take(Time::from_secs(1)).is_err());
        let busy = tide.why_not().unwrap();
        assert!(busy.starts_with("9 handshakes and 0 requests in flight owe"), "{busy}");
    }

    #[test]
    fn those_inside_and_what_is_owed_come_first() {
        // 40 in flight owe 21 ms.
        let (empty, owing) = (after(&shared(0, 0)), after(&shared(0, 40)));
        let left = (95.0 - 21.0) / 95.0;
        assert!((owing.plan.per_second / empty.plan.per_second - left).abs() < 1e-6);
        // 3000 who think ask for 0.1 × 3000 × 537 µs = 161 ms: no room.
        assert_eq!(after(&shared(3000, 0)).plan.per_second, 0.0);
    }

    #[test]
    fn what_came_in_while_nothing_was_read_is_not_taken_for_the_pace_of_a_second() {
        // 400 think and ask five times a second each; then seven seconds in one reading.
        let mut tide = Tide::new(&Priors::default(), &costs());
        let mut observe = |at_ms: u64, elapsed_ms: u64| {
            let mut asked = [0; AGES];
            asked[1] = 2 * elapsed_ms;
            let elapsed = Duration::from_millis(elapsed_ms);
            let reading = Reading { elapsed, asked, ..shared(400, 0) };
            let refused = Refused { number: elapsed_ms / 100, ..Refused::default() };
            tide.observe(Time::from_millis(at_ms), &reading, &costs(), refused);
            (tide.wishes.per_s(), tide.refused_per_s)
        };
        for tick in 1..100 {
            observe(tick * 100, 100);
        }
        let (wishes, refused_per_s) = observe(17_000, 7000);
        assert!((wishes - 2000.0).abs() < 40.0 && (refused_per_s - 10.0).abs() < 0.1, "{wishes}");
    }

    #[test]
    fn the_first_request_of_an_entry_is_no_later_one_that_needed_no_new_connection() {
        let mut tide = Tide::new(&Priors::default(), &costs());
        for tick in 1..100 {
            let new =
                ClassWork { handshakes: 10, in_clear: 40, requests: 50, ..ClassWork::default() };
            let reading = Reading { new, ..shared(400, 0) };
            tide.observe(Time::from_millis(tick * 100), &reading, &costs(), Refused::default());
        }
        assert_eq!(tide.returns.value(), 0.1);
    }

    #[test]
    fn what_others_use_is_no_time_to_spare() {
        let admits_in_a_busy_moment = |idle: f64| {
            let mut tide = Tide::new(&Priors::default(), &costs());
            tide.in_flight(0, 0);
            for tick in 1..50 {
                let half = Usage { used_cpu_s: Some(0.05), idle: Some(idle), ..ONE };
                let reading = Reading { shared: Some(half), ..shared(0, 0) };
                tide.observe(Time::from_millis(tick * 100), &reading, &costs(), Refused::default());
            }
            tide.in_flight(0, 5);
            tide.take(Time::from_secs(5)).is_ok()
        };
        assert!(admits_in_a_busy_moment(0.5));
        assert!(!admits_in_a_busy_moment(0.02));
    }

    #[test]
    fn idle_processors_enlarge_the_plan_and_more_boldly_where_lulls_keep_queues_short() {
        // A second of such use while newcomers are put off.
        let trim = |told: bool, used_cpu_s: f64| {
            let mut tide = Tide::new(&Priors::default(), &costs());
            if told {
                tide.in_flight(0, 0);
            }
            let used = Usage { used_cpu_s: Some(used_cpu_s), ..ONE };
            let reading = Reading { shared: Some(used), ..shared(0, 0) };
            for tick in 0..11 {
                let refused = Refused { put_off: tick > 0, ..Refused::default() };
                tide.observe(Time::from_millis(tick * 100), &reading, &costs(), refused);
            }
            tide.trim[ResourceName::Host as usize]
        };
        let is = |trim: f64, change: f64| (trim - 1.0 - change).abs() < 1e-9;
        assert!(is(trim(true, 0.089), 0.3 * (0.99 - 0.89)), "{}", trim(true, 0.089));
        assert!(is(trim(true, 0.1), -0.1 * (1.0 - 0.99)));
        assert!(is(trim(false, 0.087), 0.1 * (0.97 - 0.87)));
    }

    #[test]
    fn a_plan_that_is_not_renewed_fades() {
        let mut tide = after(&shared(0, 0));
        let admitted = |tide: &mut Tide, from_ms: u64| {
            (from_ms..from_ms + 1000).filter(|ms| tide.take(Time::from_millis(*ms)).is_ok()).count()
        };
        admitted(&mut tide, 5000);
        let blind = admitted(&mut tide, 6000);
        assert!((80..=100).contains(&blind), "{blind}");
    }
}
