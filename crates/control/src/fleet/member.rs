//! A gate's place in a fleet: what it reports, and the part of the service that it may use.

use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

use super::pool;
use super::{DECAYS_AFTER, Demand, FleetExperience, SAFE, SAFE_AFTER, Stale, Table};
use crate::number::sane;
use crate::outlook::Outlook;
use crate::part::Part;
use crate::reading::Reading;
use crate::resource::ResourceName;
use crate::{Experience, Time};

/// Reports whose time is kept: those of three seconds.
const KEPT: usize = 15;
/// Gates that a fleet is taken to have before a table tells their number.
const GATES_UNKNOWN: u32 = 10;
/// Memory of this gate's rates and of the use of the service, in seconds.
const MEMORY_S: f64 = 0.3;
/// Use of the service, 0 to 1, up to which a gate that is cut off takes what it sees unused. Less
/// than gates that are not cut off use when new sessions wait.
const UNUSED_BELOW: f64 = 0.93;
/// Growth of the shares of all gates together while they are cut off, of the whole per second; and
/// where response times alone tell that it is too much, which they do seconds later.
const GROWTH_PER_S: f64 = 0.05;
const GROWTH_UNSEEN_PER_S: f64 = 0.025;
/// How long part of the service must be unused until a gate that is cut off counts what its active
/// sessions use as its share: longer than others need to take what it had, if they are not cut off.
const NOBODY_ELSES_S: f64 = 1.0;
/// Fall of the share of a gate that is cut off, as a part of it per second, at full use.
const FALL_PER_S: f64 = 1.0;
/// Share of its part that a gate must use before it takes more.
const USED: f64 = 0.7;

/// A gate's place in a fleet.
#[derive(Clone, Debug)]
pub struct Member {
    gate: String,
    start: u64,
    reported: u64,
    sent: VecDeque<(u64, Time)>,
    epoch: u64,
    sequence: u64,
    /// Gates last known.
    gates: u32,
    /// The first tick, and whether it waits for a table from then.
    started: Option<Time>,
    waits: bool,
    /// The time of the report behind the newest table; `None`: there was no table.
    from: Option<Time>,
    /// The share of the newest table.
    given: f64,
    /// The same, or what the gate has taken since.
    share: f64,
    cut_off: bool,
    others_per_s: f64,
    requests: u64,
    own_per_s: f64,
    in_use: f64,
    /// How long part of the service has been unused, while the gate is cut off.
    unused_for_s: f64,
    last: Part,
    age: Option<Duration>,
}

impl Member {
    /// The gate of this name. `start`: greater at each start of it.
    pub fn new(gate: String, start: u64) -> Self {
        Self {
            gate,
            start,
            reported: 0,
            sent: VecDeque::with_capacity(KEPT),
            epoch: 0,
            sequence: 0,
            gates: GATES_UNKNOWN,
            started: None,
            waits: true,
            from: None,
            given: 0.0,
            share: SAFE / f64::from(GATES_UNKNOWN),
            cut_off: true,
            others_per_s: 0.0,
            requests: 0,
            own_per_s: 0.0,
            in_use: 1.0,
            unused_for_s: 0.0,
            last: Part { share: SAFE / f64::from(GATES_UNKNOWN), ..Part::WHOLE },
            age: None,
        }
    }

    /// The gate takes the place of one that knew the costs and had this share, 0 to 1: it does not
    /// wait for its first table.
    pub fn goes_on(&mut self, share: f64) {
        let share = sane(share).min(1.0);
        (self.waits, self.given, self.share) = (false, share, share);
    }

    /// The report to send now.
    pub fn demand(&mut self, now: Time, outlook: &Outlook) -> Demand {
        self.reported += 1;
        if self.sent.len() == KEPT {
            self.sent.pop_front();
        }
        self.sent.push_back((self.reported, now));
        Demand {
            gate: self.gate.clone(),
            start: self.start,
            sequence: self.reported,
            at_ms: now.as_millis() as u64,
            share: self.share.clamp(0.0, 1.0),
            committed: sane(outlook.committed).min(1e6),
            session: sane(outlook.session).min(1e6),
            offered: outlook.offered,
            requests: self.requests,
        }
    }

    /// Takes a table that arrived.
    ///
    /// # Errors
    ///
    /// If it is malformed, older than the one in use, or without this gate. Then it changes
    /// nothing.
    pub fn take(&mut self, table: &Table) -> Result<(), Stale> {
        table.check().map_err(Stale::Malformed)?;
        if (table.epoch, table.sequence) <= (self.epoch, self.sequence) {
            return Err(Stale::Old);
        }
        let line = table.line(&self.gate).filter(|line| line.start == self.start);
        let line = line.ok_or(Stale::NotListed)?;
        let sent = self.sent.iter().find(|(sequence, _)| *sequence == line.report);
        // A report of so long ago is none that the share may follow from.
        let (_, sent) = *sent.ok_or(Stale::Old)?;
        (self.epoch, self.sequence) = (table.epoch, table.sequence);
        self.gates = table.gates;
        (self.given, self.share) = (line.share, line.share);
        self.others_per_s = (table.requests_per_s - line.requests_per_s).max(0.0);
        self.from = Some(self.from.map_or(sent, |from| from.max(sent)));
        Ok(())
    }

    /// What all gates have learned, if it is not out of date.
    ///
    /// # Errors
    ///
    /// If it is malformed, or of an older epoch.
    pub fn learns<'a>(&self, told: &'a FleetExperience) -> Result<&'a Experience, Stale> {
        pool::check(&told.experience).map_err(Stale::Malformed)?;
        if told.epoch < self.epoch { Err(Stale::Old) } else { Ok(&told.experience) }
    }

    /// The part of the service that this gate may use from now until the next tick: once per
    /// tick, with the reading of the whole service.
    pub fn part(&mut self, now: Time, reading: &Reading, outlook: &Outlook) -> Part {
        let seconds = reading.elapsed.as_secs_f64();
        self.requests = self.requests.saturating_add(reading.upstream_responses);
        let used = reading.usage_of(ResourceName::Upstream).filter(|it| it.used_cpu_s.is_some());
        if seconds > 0.0 {
            let weight = 1.0 - (-seconds / MEMORY_S).exp();
            let per_s = reading.upstream_responses as f64 / seconds;
            self.own_per_s += weight * (per_s - self.own_per_s);
            let in_use = used.map(|used| used.in_use(seconds));
            self.in_use += weight * (in_use.unwrap_or(1.0) - self.in_use);
        }
        let age = self.from.map(|from| now.saturating_sub(from));
        self.age = age;
        let safe = SAFE / f64::from(self.gates.max(1));
        let (decays, safe_at) = (DECAYS_AFTER.as_secs_f64(), SAFE_AFTER.as_secs_f64());
        let age_s = age.map_or(f64::INFINITY, |age| age.as_secs_f64());
        let cut_off = age_s >= safe_at;
        let started = *self.started.get_or_insert(now);
        let is_new = self.waits && age.is_none() && now.saturating_sub(started) < SAFE_AFTER;
        let share = if is_new {
            // A hundred gates that start would take a safe share each, of costs that they only
            // assume: what waits is admitted by the first table, or when none comes.
            0.0
        } else if cut_off {
            if !std::mem::replace(&mut self.cut_off, true) {
                (self.share, self.unused_for_s) = (safe, 0.0);
            }
            self.take_unused(seconds.min(1.0), safe, used.is_some(), outlook);
            self.share
        } else {
            self.cut_off = false;
            let decayed = ((age_s - decays) / (safe_at - decays)).clamp(0.0, 1.0);
            self.share + decayed * (safe.min(self.share) - self.share)
        };
        let own = reading.upstream_responses as f64;
        let (all, measured) = match (age, used) {
            (Some(age), _) if age < DECAYS_AFTER => (own + self.others_per_s * seconds, true),
            // Nothing is known of others: too much rather than too little is taken for its own.
            (None, Some(_)) => (own, true),
            // What others do is no longer known: by what a request costs.
            (Some(_), Some(used)) => (used.in_use(seconds) * seconds / outlook.request, false),
            // By its share, if all use theirs.
            (_, None) => (own / share.max(safe.min(1.0)), false),
        };
        let others = (all - own).max(0.0);
        self.last = Part { share, others, measured }.sane();
        self.last
    }

    /// Adapts the share of a gate that is cut off: a small step up while part of the service is
    /// unused and this gate uses what it has, down in proportion while the service is fully used.
    /// So several such gates come to equal shares of what others leave. They begin with what their
    /// active sessions use, where nobody else has taken that.
    ///
    /// Source: Chiu and Jain 1989, "Analysis of the Increase and Decrease Algorithms for
    /// Congestion Avoidance in Computer Networks".
    fn take_unused(&mut self, seconds: f64, safe: f64, in_view: bool, outlook: &Outlook) {
        let unused = match (in_view, outlook.queue) {
            (_, Some(true)) => Some(false),
            (true, _) => Some(self.in_use < UNUSED_BELOW),
            (false, queue) => queue.map(|queue| !queue),
        };
        let growth_per_s = if in_view { GROWTH_PER_S } else { GROWTH_UNSEEN_PER_S };
        let own_use = self.own_per_s * outlook.request;
        self.unused_for_s = if unused == Some(true) { self.unused_for_s + seconds } else { 0.0 };
        if in_view && self.unused_for_s >= NOBODY_ELSES_S {
            self.share = self.share.max(own_use.min(self.given));
        }
        let uses = own_use >= USED * self.share;
        let change = match unused {
            Some(true) if uses => growth_per_s / f64::from(self.gates.max(1)),
            Some(false) => -FALL_PER_S * self.share,
            // Shares that nobody uses are no claim on what a crowd brings.
            Some(true) => -0.1 * self.share,
            None => 0.0,
        };
        self.share = (self.share + seconds * change).clamp(safe.min(1.0), 1.0);
    }

    /// Where the gate stands, for people and dashboards.
    pub fn standing(&self) -> Standing {
        Standing {
            share: self.last.share,
            cut_off: self.cut_off,
            age_ms: self.age.map(|age| age.as_millis() as u64),
            gates: self.gates,
            epoch: self.epoch,
        }
    }
}

/// Where a gate stands in its fleet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Share of the service that it may use, 0 to 1.
    pub share: f64,
    /// Whether it goes on by itself because no table reaches it.
    pub cut_off: bool,
    /// Age of the report behind the newest table, in milliseconds; `None`: there was no table.
    pub age_ms: Option<u64>,
    /// Gates last known.
    pub gates: u32,
    /// Epoch of the newest table; 0: there was none.
    pub epoch: u64,
}
