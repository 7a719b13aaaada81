//! The controller: one policy, one cost model, one count of decisions.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Time;
use crate::bucket::Bucket;
use crate::codel::CoDel;
use crate::costs::{CostModel, Costs, Priors};
use crate::eac::Eac;
use crate::experience::Experience;
use crate::handshake::Entry;
use crate::moment::Moment;
use crate::number::{rounded, sane};
use crate::outlook::Outlook;
use crate::policy::{Decision, PolicyKind};
use crate::priority::{Outside, Passage, Priorities, Priority};
use crate::reading::Reading;
use crate::resource::{ByResource, Resource};
use crate::status::Status;
use crate::sustainable::{self, Sustainable};
use crate::tide::{self, Refused, Tide, Tuning};

/// What the operator decides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// The policy and its parameters.
    pub policy: PolicyKind,
    /// What is assumed before anything was learned.
    pub priors: Priors,
    /// The constants of [`PolicyKind::Tide`].
    pub tuning: Tuning,
}

/// What a controller has learned: the costs of work and, by the policy
/// [`Tide`](PolicyKind::Tide), how much the service carries and when customers return. It has
/// no times, counts or plans.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Learned {
    model: CostModel,
    tide: Option<tide::Learned>,
}

/// Decides on new sessions; learns from one [`Reading`] per tick.
///
/// A decision takes constant time and allocates nothing. Times that go back
/// are treated as the latest time seen.
#[derive(Clone, Debug)]
pub struct Controller {
    settings: Settings,
    policy: Policy,
    model: CostModel,
    costs: Costs,
    counts: Counts,
    at_tick: Counts,
    rates: Rates,
    resources: ByResource<Resource>,
    sustainable: sustainable::Meter,
    /// None where all routes have the same priority.
    priorities: Option<Box<Priorities>>,
}

#[derive(Clone, Debug)]
enum Policy {
    Off,
    Static(Bucket),
    Eac(Eac),
    Tide(Box<Tide>),
    CoDel(CoDel),
}

/// A rate below this is shown as 0: one in a quarter of an hour.
const LEAST_RATE: f64 = 0.001;

/// When another decision is worthwhile while requests of active sessions are refused: a tick.
const BESIDE_REFUSALS: Duration = Duration::from_millis(100);
const REFUSES_NORMAL: &str =
    "the service cannot carry what active sessions request, and they come before new sessions";

impl Policy {
    /// The policy of these settings, before its first decision.
    fn new(settings: &Settings, costs: &Costs) -> Self {
        match settings.policy {
            PolicyKind::Off => Self::Off,
            PolicyKind::Static { per_second } => Self::Static(static_bucket(per_second)),
            PolicyKind::Eac { interval, profile } => {
                Self::Eac(Eac::new(interval, profile, settings.priors.cpus, costs))
            }
            PolicyKind::Tide => Self::tide(settings, costs, settings.tuning),
            PolicyKind::BacklogOnly => Self::tide(settings, costs, Tuning::backlog_only()),
            PolicyKind::CoDel { threads } => Self::CoDel(CoDel::new(threads, settings.priors.cpus)),
        }
    }

    fn tide(settings: &Settings, costs: &Costs, tuning: Tuning) -> Self {
        Self::Tide(Box::new(Tide::new(&settings.priors, costs, tuning)))
    }
}

/// New sessions and returning connections since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    offered: u64,
    admitted: u64,
    returning: u64,
    /// Negative decisions.
    put_off: u64,
}

/// Per second, smoothed over about a second.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    offered: f64,
    admitted: f64,
    returning: f64,
}

impl Controller {
    /// A controller that has learned nothing yet.
    pub fn new(settings: Settings) -> Self {
        let model = CostModel::new(&settings.priors);
        let costs = model.costs();
        Self {
            policy: Policy::new(&settings, &costs),
            settings,
            model,
            costs,
            counts: Counts::default(),
            at_tick: Counts::default(),
            rates: Rates::default(),
            resources: ByResource::default(),
            sustainable: sustainable::Meter::new(settings.tuning.target_utilization),
            priorities: None,
        }
    }

    /// Changes the policy. The learned costs and the counts stay; what the former policy
    /// had planned is dropped. Nothing happens if the policy and its parameters are the same.
    pub fn set_policy(&mut self, policy: PolicyKind) {
        if self.settings.policy != policy {
            self.settings.policy = policy;
            self.policy = Policy::new(&self.settings, &self.costs);
        }
    }

    /// Sets the priorities of routes. What was learned of routes is forgotten if they differ.
    pub fn set_routes(&mut self, priorities: &[Priority]) {
        if !self.priorities.as_ref().is_some_and(|known| known.are(priorities)) {
            self.priorities = Priorities::new(priorities).map(Box::new);
        }
    }

    /// What passes of requests until the next tick, by the priorities of their routes; `None` where
    /// all have the same.
    pub fn passage(&self) -> Option<Passage> {
        self.priorities.as_ref().map(|priorities| priorities.passage())
    }

    /// What it has learned, for a controller that takes its place in another process.
    pub fn learned(&self) -> Learned {
        let tide = match &self.policy {
            Policy::Tide(tide) => Some(tide.learned()),
            Policy::Off | Policy::Static(_) | Policy::Eac(_) | Policy::CoDel(_) => None,
        };
        Learned { model: self.model.clone(), tide }
    }

    /// Goes on with what another has learned. The counts stay. Returns whether it could: what
    /// a controller of another version has learned may not fit.
    pub fn adopt(&mut self, learned: Learned) -> bool {
        if !learned.model.is_complete() {
            return false;
        }
        self.model = learned.model;
        self.costs = self.model.costs();
        self.policy = Policy::new(&self.settings, &self.costs);
        if let (Policy::Tide(tide), Some(learned)) = (&mut self.policy, learned.tide) {
            tide.adopt(learned);
        }
        true
    }

    /// What it has measured itself, for controllers of other gates before the same service.
    pub fn experience(&self) -> Experience {
        let mut all = Experience::default();
        self.model.tell(&mut all);
        if let Policy::Tide(tide) = &self.policy {
            tide.tell(&mut all);
        }
        all
    }

    /// Takes what controllers of other gates have measured in place of what it only assumes: for
    /// each average, as long as it has seen less than a tenth of what it remembers.
    pub fn learn_from(&mut self, others: &Experience) {
        self.model.assume(others);
        self.costs = self.model.costs();
        if let Policy::Tide(tide) = &mut self.policy {
            tide.assume(others);
        }
    }

    /// A new session arrived and waits for its decision: it is offered.
    pub fn offered(&mut self) {
        self.counts.offered += 1;
    }

    /// A new session arrived that is admitted whatever the load: it is counted, and the policy is
    /// not asked.
    pub fn admit_always(&mut self) {
        self.counts.offered += 1;
        self.counts.admitted += 1;
    }

    /// Decides whether a session that was [offered](Self::offered) is admitted at this
    /// moment, as often as it takes. An admission is counted at once, so that no two
    /// sessions share a place in the budget.
    pub fn decide(&mut self, now: Time, moment: Moment) -> Decision {
        // No offered session is left to decide on: this one was not announced.
        if self.counts.admitted == self.counts.offered {
            self.counts.offered += 1;
        }
        let gives_way = self.new_sessions_give_way();
        let taken = match &mut self.policy {
            _ if gives_way => Err(BESIDE_REFUSALS),
            Policy::Off => Ok(()),
            Policy::Static(bucket) => bucket.take(now),
            Policy::Eac(eac) => eac.take(now, &self.costs),
            Policy::Tide(tide) => {
                tide.take(now, moment, self.model.entry_cpu_s(moment.entry, &self.costs))
            }
            Policy::CoDel(codel) => codel.take(moment),
        };
        match taken {
            Ok(()) => {
                self.counts.admitted += 1;
                Decision::Admit
            }
            Err(wait) => {
                self.counts.put_off += 1;
                Decision::NotNow { retry_after: wait.max(Duration::from_millis(1)) }
            }
        }
    }

    /// Whether new sessions give way to requests of active ones, some of which are refused.
    fn new_sessions_give_way(&self) -> bool {
        let refuses = self.priorities.as_ref().is_some_and(|it| it.refuses_normal());
        refuses && !matches!(self.policy, Policy::Off)
    }

    /// CPU time that the handshake of a connection is charged which begins so.
    pub fn price(&self, entry: Entry) -> Duration {
        let cpu_s = self.model.entry_cpu_s(entry, &self.costs);
        Duration::try_from_secs_f64(cpu_s).unwrap_or_default()
    }

    /// Whether the oldest queued session, which has waited so long, is to be refused now.
    /// Only CoDel refuses by the wait; the others leave that to the queue.
    pub fn drops_oldest(&mut self, now: Time, waited: Duration) -> bool {
        match &mut self.policy {
            Policy::CoDel(codel) => codel.drops_oldest(now, waited),
            _ => false,
        }
    }

    /// A returning connection arrived. It is always admitted; this only counts it.
    pub fn returning(&mut self, now: Time) {
        self.counts.returning += 1;
        if let Policy::Eac(eac) = &mut self.policy {
            eac.returning(now, &self.costs);
        }
    }

    /// Learns from what was measured since the last call: once per tick,
    /// about every 100 ms (10 ms to 1 s work).
    pub fn observe(&mut self, now: Time, reading: &Reading) {
        let since = |of: fn(&Counts) -> u64| (of(&self.counts) - of(&self.at_tick)) as f64;
        let offered = since(|counts| counts.offered);
        let admitted = since(|counts| counts.admitted);
        let returning = since(|counts| counts.returning);
        let put_off = since(|counts| counts.put_off) > 0.0;
        let elapsed_s = reading.elapsed.as_secs_f64();
        // A tick without length has no rate; a long one is a second's average.
        if elapsed_s > 0.0 {
            let share = elapsed_s.min(1.0);
            for (rate, count) in [
                (&mut self.rates.offered, offered),
                (&mut self.rates.admitted, admitted),
                (&mut self.rates.returning, returning),
            ] {
                *rate += share * (count / elapsed_s - *rate);
                // What is left of a rate that ended long ago is none.
                if *rate < LEAST_RATE {
                    *rate = 0.0;
                }
            }
            self.note_resources(reading, elapsed_s);
        }
        self.at_tick = self.counts;

        // More may be admitted than offered in a tick: sessions that were held before.
        let refused = (offered - admitted).max(0.0) as u64;
        self.model.observe(reading, refused);
        self.sustainable.observe(reading, refused);
        self.costs = self.model.costs();
        if let Some(priorities) = &mut self.priorities {
            let outside = Outside { offered_per_s: self.rates.offered, put_off };
            priorities.observe(now, reading, &self.costs, outside);
        }
        match &mut self.policy {
            Policy::Off | Policy::Static(_) => {}
            Policy::Eac(eac) => eac.observe(reading),
            Policy::Tide(tide) => {
                tide.observe(now, reading, &self.costs, Refused { number: refused, put_off })
            }
            Policy::CoDel(codel) => codel.observe(reading),
        }
    }

    /// What it expects of the service behind the gate. Only [`PolicyKind::Tide`] plans; of the
    /// other policies it has the count alone.
    pub fn outlook(&self) -> Outlook {
        let planned = match &self.policy {
            Policy::Tide(tide) => tide.outlook(),
            _ => Outlook::default(),
        };
        Outlook { offered: self.counts.offered, ..planned }
    }

    /// What the service carries as it is used at present. Allocates.
    pub fn sustainable(&self) -> Sustainable {
        self.sustainable.sustainable()
    }

    /// The state of the controller. Allocates: for a tick or a page, not for a
    /// decision.
    pub fn status(&self, now: Time) -> Status {
        let (budget, limit_per_s) = match &self.policy {
            Policy::Off | Policy::CoDel(_) => (None, None),
            Policy::Static(bucket) => (Some(bucket.whole(now)), Some(bucket.rate())),
            Policy::Eac(eac) => (Some(eac.budget()), Some(eac.limit_per_s())),
            Policy::Tide(tide) => (Some(tide.budget(now)), Some(tide.limit_per_s())),
        };
        Status {
            policy: self.settings.policy.name(),
            budget,
            limit_per_s,
            offered: self.counts.offered,
            admitted: self.counts.admitted,
            not_now: self.counts.offered - self.counts.admitted,
            returning: self.counts.returning,
            offered_per_s: self.rates.offered,
            admitted_per_s: self.rates.admitted,
            returning_per_s: self.rates.returning,
            costs: self.costs,
            kinds: self.model.kinds(),
            routes: self.priorities.as_ref().map(|it| it.budgets()).unwrap_or_default(),
            why_refused: self.priorities.as_ref().and_then(|it| it.why().map(str::to_owned)),
            resources: self.resources.iter().map(|(_, resource)| *resource).collect(),
            sustainable: self.sustainable(),
            work_elsewhere: self.work_elsewhere(),
            why: self.why(now),
            why_not: self.why_not(),
        }
    }

    /// Why what is measured as the upstream is not what limits the service. Allocates if so.
    pub fn work_elsewhere(&self) -> Option<String> {
        match &self.policy {
            Policy::Tide(tide) => tide.work_elsewhere(),
            _ => None,
        }
    }

    fn why(&self, now: Time) -> String {
        match &self.policy {
            Policy::Off => "admission control is off: every new session is admitted".to_owned(),
            Policy::Static(bucket) => {
                format!(
                    "{:.1} new sessions a second are admitted, whatever the load",
                    bucket.rate()
                )
            }
            Policy::Eac(eac) => eac.why(&self.costs),
            Policy::Tide(tide) => tide.why(now),
            Policy::CoDel(codel) => codel.why(),
        }
    }

    fn why_not(&self) -> Option<String> {
        let taken = self.counts.put_off > 0;
        if self.new_sessions_give_way() {
            return Some(REFUSES_NORMAL.to_owned());
        }
        match &self.policy {
            Policy::Off => None,
            Policy::Static(bucket) => {
                taken.then(|| format!("limit of {} new sessions/s reached", rounded(bucket.rate())))
            }
            Policy::Eac(eac) => taken.then(|| eac.why_not()),
            Policy::Tide(tide) => tide.why_not(),
            Policy::CoDel(codel) => taken.then(|| codel.why()),
        }
    }

    fn note_resources(&mut self, reading: &Reading, elapsed_s: f64) {
        let before = self.resources;
        self.resources = reading.usage.map(|resource, usage| {
            let before = before.get(resource).and_then(|resource| resource.used_cpus);
            Resource {
                resource,
                capacity_cpus: sane(usage.capacity_cpus),
                used_cpus: usage.used_cpu_s.map(|used| {
                    let used = sane(used) / elapsed_s;
                    before.map_or(used, |before| before + elapsed_s.min(1.0) * (used - before))
                }),
            }
        });
    }
}

/// Evens out clumps of up to 50 ms, and admits at least one session at a low rate.
fn static_bucket(per_second: f64) -> Bucket {
    let burst = if per_second > 0.0 { (per_second * 0.05).clamp(1.0, 1000.0) } else { 0.0 };
    Bucket::new(per_second, burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_policy_decides_at_once_and_the_counts_stay() {
        let off = Settings { policy: PolicyKind::Off, ..Settings::default() };
        let mut controller = Controller::new(off);
        let now = Duration::from_secs(1);
        let moment = Moment { allowed_backlog: Duration::ZERO, ..Moment::IDLE };
        let decide = |controller: &mut Controller| controller.decide(now, moment);
        assert_eq!(decide(&mut controller), Decision::Admit);
        controller.set_policy(PolicyKind::Static { per_second: 0.0 });
        assert_ne!(decide(&mut controller), Decision::Admit);
        let status = controller.status(now);
        assert_eq!((status.offered, status.admitted), (2, 1));
        assert_eq!(status.limit_per_s, Some(0.0));
    }

    #[test]
    fn only_codel_refuses_by_the_wait() {
        for (policy, refuses) in [
            (PolicyKind::Tide, false),
            (PolicyKind::BacklogOnly, false),
            (PolicyKind::CoDel { threads: 0 }, true),
        ] {
            let mut controller = Controller::new(Settings { policy, ..Settings::default() });
            let waited = Duration::from_millis(50);
            let mut drops = |ms| controller.drops_oldest(Duration::from_millis(ms), waited);
            assert!(!drops(0));
            assert_eq!(drops(100), refuses, "{policy:?}");
        }
    }
}
