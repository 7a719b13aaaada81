//! How many sessions per second, and how many at once, the service carries as it is used
//! at present, with a range.
//!
//! By the utilization law a resource that is used to a share U at a throughput X has a
//! demand of U / X per session, and carries X × (target / U). Each resource in view
//! gives such a factor; the smallest is the limit. The same factor holds for the sessions
//! at once (Little's law: their number is the rate times their length, which does not
//! depend on the load below the limit).
//!
//! The range has two parts. Sessions that started and sessions that ended are the same
//! number only over a long time; in between, the first is too high and the second too low
//! for the work that was done, or the other way round, and the range covers both. To it the
//! statistical error is added, by the jackknife over stretches of ten seconds.
//!
//! Source: Denning and Buzen 1978, "The Operational Analysis of Queueing Network Models"
//! (utilization law, Little's law); Efron and Stein 1981 (the jackknife's variance).
//! Deviation: neighbouring stretches are taken as independent.

use serde::Serialize;

use crate::costs::REFUSAL_CPU_S;
use crate::number::{rounded, sane};
use crate::reading::{Reading, Usage};
use crate::resource::{ByResource, ResourceName};

/// Length of a stretch, in seconds.
const STRETCH_S: f64 = 10.0;
/// Stretches that count: five minutes.
const STRETCHES: usize = 30;
/// Fewest stretches for an estimate.
const FEWEST: usize = 4;
/// Fewest sessions that started, for an estimate.
const FEWEST_SESSIONS: f64 = 20.0;
/// Smallest share of the limiting resource in use, for an estimate: below it the background
/// work of the processes is a large part, and the factor is above twenty.
const LEAST_IN_USE: f64 = 0.05;
/// Share of the target from which on a resource counts as used up.
const USED_UP: f64 = 0.8;
/// Share of the time in which new sessions were refused, from which on the throughput is
/// taken for the limit although no resource shows it.
const REFUSING: f64 = 0.5;

/// Quantiles of Student's t at 97.5 % for 3 to 9 degrees of freedom, then that of 10.
const STUDENT: [f64; 8] = [3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// What the service carries as it is used at present.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sustainable {
    /// New sessions per second; `None`: not known.
    pub sessions_per_s: Option<Range>,
    /// Active sessions at once; `None`: not known.
    pub sessions_at_once: Option<Range>,
    /// The resource that is the limit; `None`: not known, or the response time.
    pub limit: Option<ResourceName>,
    /// Time over which it was measured, in seconds: 0 to 300.
    pub measured_over_s: f64,
    /// The same in a sentence.
    pub text: String,
}

/// An estimate with a range of about 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The estimate; at least this much, where `high` is `None`.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end; `None`: not known, because no resource in view limits it.
    pub high: Option<f64>,
}

/// Measures it, a reading at a time.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    target: f64,
    stretches: [Stretch; STRETCHES],
    filled: usize,
    next: usize,
    now: Stretch,
    active_before: Option<f64>,
}

/// Sums over some time.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    seconds: f64,
    started: f64,
    ended: f64,
    /// Active sessions times seconds.
    active_s: f64,
    refusing_s: f64,
    used: ByResource<Used>,
}

/// One resource over some time, in CPU seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    capacity: f64,
    /// Used by gate and upstream, without refusals: the crowd that causes them is not there
    /// when as many come as are carried.
    own: f64,
    /// Used by other processes.
    others: f64,
    /// Seconds in which it was in view.
    seconds: f64,
}

impl Meter {
    /// One that has measured nothing. `target`: the share of a resource that is to be used.
    pub(crate) fn new(target: f64) -> Self {
        Self {
            target,
            stretches: [Stretch::default(); STRETCHES],
            filled: 0,
            next: 0,
            now: Stretch::default(),
            active_before: None,
        }
    }

    /// Adds a reading, in whose time `refused` new sessions were refused.
    pub(crate) fn observe(&mut self, reading: &Reading, refused: u64) {
        let seconds = reading.elapsed.as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        let active = f64::from(reading.sessions_active);
        let started = reading.sessions_started as f64;
        let before = self.active_before.replace(active).unwrap_or(active);
        let now = &mut self.now;
        now.seconds += seconds;
        now.started += started;
        now.ended += (started - (active - before)).max(0.0);
        now.active_s += active * seconds;
        now.refusing_s += if refused > 0 { seconds } else { 0.0 };
        for (resource, usage) in reading.usage.iter() {
            // No upstream sees a refusal.
            let refusals_s = match resource {
                ResourceName::Upstream | ResourceName::Routed => 0.0,
                ResourceName::Gate | ResourceName::Host => refused as f64 * REFUSAL_CPU_S,
            };
            now.used.entry(resource).add(usage, seconds, refusals_s);
        }
        if reading.usage.get(ResourceName::Host).is_some() {
            // Each is the other's neighbour there: what is left for both is that of the host.
            now.used.entry(ResourceName::Gate).others = 0.0;
            now.used.entry(ResourceName::Upstream).others = 0.0;
        }
        if now.seconds >= STRETCH_S {
            self.stretches[self.next] = std::mem::take(now);
            self.next = (self.next + 1) % STRETCHES;
            self.filled = (self.filled + 1).min(STRETCHES);
        }
    }

    /// What is known now.
    pub(crate) fn sustainable(&self) -> Sustainable {
        let stretches = &self.stretches[..self.filled];
        let sum = stretches.iter().fold(Stretch::default(), |sum, stretch| sum.plus(stretch, 1.0));
        match Evidence::of(&sum, stretches.len(), self.target) {
            Ok(evidence) => evidence.told(&sum, stretches, self.target),
            Err(why) => Sustainable {
                sessions_per_s: None,
                sessions_at_once: None,
                limit: None,
                measured_over_s: sum.seconds,
                text: format!("what the service carries is not known yet: {why}"),
            },
        }
    }
}

/// What an estimate rests on.
#[derive(Clone, Copy, Debug)]
enum Evidence {
    /// The CPU time of this resource, of which so large a share is used.
    Cpu(ResourceName, f64),
    /// New sessions were refused while no resource in view was used up.
    Refusals,
    /// Nothing limits in view: the estimate is what was carried.
    Carried,
}

impl Evidence {
    fn of(sum: &Stretch, stretches: usize, target: f64) -> Result<Self, String> {
        if stretches < FEWEST {
            let s = FEWEST as f64 * STRETCH_S;
            return Err(format!("it takes {s:.0} s of measurement"));
        }
        if sum.started < FEWEST_SESSIONS {
            return Err(format!(
                "{:.0} sessions started in the last {:.0} s, and it takes {FEWEST_SESSIONS:.0}",
                sum.started, sum.seconds
            ));
        }
        let tightest = ResourceName::ALL
            .into_iter()
            .filter(|resource| sum.in_view(*resource))
            .min_by(|a, b| sum.room(*a, target).total_cmp(&sum.room(*b, target)));
        let in_use = tightest.map_or(0.0, |tightest| sum.in_use(tightest));
        let used_up = in_use > USED_UP * target;
        match tightest {
            _ if sum.refusing() && !used_up => Ok(Self::Refusals),
            Some(tightest) if used_up || sum.in_view(ResourceName::Upstream) => {
                if in_use < LEAST_IN_USE {
                    return Err(format!(
                        "only {:.1} % of the {}'s CPU time is used, and it takes {:.0} %",
                        in_use * 100.0,
                        tightest.as_str(),
                        LEAST_IN_USE * 100.0
                    ));
                }
                Ok(Self::Cpu(tightest, in_use))
            }
            _ => Ok(Self::Carried),
        }
    }

    fn told(self, sum: &Stretch, stretches: &[Stretch], target: f64) -> Sustainable {
        let factor = |sum: &Stretch| match self {
            Self::Cpu(resource, _) => sum.room(resource, target),
            Self::Refusals | Self::Carried => 1.0,
        };
        let range = |of: &dyn Fn(&Stretch) -> f64| {
            estimate(sum, stretches, &|sum| factor(sum) * of(sum) / sum.seconds)
        };
        let (started, ended) = (range(&|sum| sum.started), range(&|sum| sum.ended));
        let open = matches!(self, Self::Carried);
        let bounded = |value: f64, low: f64, high: f64| Range {
            value: if open { low } else { value },
            low,
            high: (!open).then_some(high),
        };
        let per_s = bounded(
            f64::midpoint(started.value, ended.value),
            started.low().min(ended.low()),
            started.high().max(ended.high()),
        );
        let active = range(&|sum| sum.active_s);
        let at_once = bounded(active.value, active.low(), active.high());
        let limit = match self {
            Self::Cpu(resource, in_use) => format!(
                "the limit in view is the CPU time of the {} ({:.0} % in use)",
                resource.as_str(),
                in_use * 100.0
            ),
            Self::Refusals => "the limit is the response time of the upstream".to_owned(),
            Self::Carried => "the CPU time in view does not show how much more".to_owned(),
        };
        Sustainable {
            sessions_per_s: Some(per_s),
            sessions_at_once: Some(at_once),
            limit: match self {
                Self::Cpu(resource, _) => Some(resource),
                Self::Refusals | Self::Carried => None,
            },
            measured_over_s: sum.seconds,
            text: format!(
                "for the current mix of traffic the service carries {} new sessions/s and {} sessions \
                 at once; {limit}",
                per_s.in_words(),
                at_once.in_words()
            ),
        }
    }
}

impl Range {
    fn in_words(&self) -> String {
        match self.high {
            Some(high) => format!("{} to {}", rounded(self.low), rounded(high)),
            None => format!("at least {}", rounded(self.low)),
        }
    }
}

impl Stretch {
    /// The sum with another one, so many times.
    fn plus(mut self, other: &Self, times: f64) -> Self {
        self.seconds += times * other.seconds;
        self.started += times * other.started;
        self.ended += times * other.ended;
        self.active_s += times * other.active_s;
        self.refusing_s += times * other.refusing_s;
        for (resource, other) in other.used.iter() {
            let used = self.used.entry(resource);
            used.capacity += times * other.capacity;
            used.own += times * other.own;
            used.others += times * other.others;
            used.seconds += times * other.seconds;
        }
        self
    }

    fn used(&self, resource: ResourceName) -> Used {
        self.used.get(resource).copied().unwrap_or_default()
    }

    fn refusing(&self) -> bool {
        self.refusing_s > REFUSING * self.seconds
    }

    /// Whether the use of the resource was known nearly all the time.
    fn in_view(&self, resource: ResourceName) -> bool {
        self.used(resource).seconds > 0.9 * self.seconds
    }

    /// The share of the resource that is used, by other processes included.
    fn in_use(&self, resource: ResourceName) -> f64 {
        let used = self.used(resource);
        (used.own + used.others) / used.capacity.max(f64::MIN_POSITIVE)
    }

    /// How many times as much work the resource has room for; 0 where others use it up.
    fn room(&self, resource: ResourceName, target: f64) -> f64 {
        let used = self.used(resource);
        let room = (target * used.capacity - used.others) / used.own.max(f64::MIN_POSITIVE);
        room.clamp(0.0, f64::MAX)
    }
}

impl Used {
    fn add(&mut self, usage: &Usage, seconds: f64, refusals_s: f64) {
        let usage = usage.sane();
        let Some(used_s) = usage.used_cpu_s else { return };
        let capacity = usage.capacity_cpus * seconds;
        self.seconds += seconds;
        self.capacity += capacity;
        self.own += (used_s - refusals_s).max(0.0);
        self.others += (usage.in_use(seconds) * capacity - used_s).max(0.0);
    }
}

/// An estimate with half the length of its interval.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    value: f64,
    error: f64,
}

impl Estimate {
    fn low(&self) -> f64 {
        (self.value - self.error).max(0.0)
    }

    fn high(&self) -> f64 {
        self.value + self.error
    }
}

/// A function of sums, with its jackknifed error: at least [`FEWEST`] stretches.
fn estimate(sum: &Stretch, stretches: &[Stretch], of: &dyn Fn(&Stretch) -> f64) -> Estimate {
    let n = stretches.len() as f64;
    let without = |stretch: &Stretch| of(&sum.plus(stretch, -1.0));
    let mean = stretches.iter().map(without).sum::<f64>() / n;
    let squares = stretches.iter().map(|stretch| (without(stretch) - mean).powi(2)).sum::<f64>();
    let student = STUDENT[(stretches.len() - FEWEST).min(STUDENT.len() - 1)];
    Estimate { value: sane(of(sum)), error: sane(student * ((n - 1.0) / n * squares).sqrt()) }
}

#[cfg(test)]
mod tests;
