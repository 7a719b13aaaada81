//! The load of upstreams that the gate cannot measure itself: what agents and pages of
//! node_exporter say of their processors.
//!
//! Each source has a thread, which asks it and keeps the last report. The control loop takes
//! what is there and never waits. The thread ends once nobody needs its reports.

mod agent;
mod node_exporter;
pub mod orca;
mod page;

pub use node_exporter::CpuTimes;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_agent::Secret;

use crate::config::LoadSource;

/// What a source says of the processors of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// CPU seconds per second that the service may use.
    pub capacity_cpus: f64,
    /// CPU seconds per second that it used, between this report and the one before; `None`:
    /// this is the first.
    pub used_cpus: Option<f64>,
    /// Share of that time, 0 to 1, in which its processors had nothing to do for anybody;
    /// `None`: unknown.
    pub idle: Option<f64>,
    /// Its processors, where they are those of the gate's own host; else empty.
    pub here: BTreeSet<usize>,
}

impl Load {
    /// Both together.
    fn and(self, other: Self) -> Self {
        let capacity_cpus = self.capacity_cpus + other.capacity_cpus;
        let weighed = |load: &Self| Some(load.idle? * load.capacity_cpus / capacity_cpus);
        let idle = weighed(&self).zip(weighed(&other)).map(|(one, other)| one + other);
        Self {
            capacity_cpus,
            used_cpus: self.used_cpus.zip(other.used_cpus).map(|(one, other)| one + other),
            idle,
            here: self.here.union(&other.here).copied().collect(),
        }
    }
}

/// The sources of one upstream.
#[derive(Debug)]
pub struct Loads(Vec<Arc<Slot>>);

impl Loads {
    /// Starts to ask the sources. Agents are asked with `secret`; `own_boot` tells those of the
    /// gate's own host.
    pub fn start(sources: &[LoadSource], secret: Option<&Secret>, own_boot: [u8; 16]) -> Self {
        Self(sources.iter().map(|source| start(source, secret, own_boot)).collect())
    }

    /// The sum of what all sources say.
    ///
    /// # Errors
    /// Why it is not known, a sentence with a remedy; `None` if that may only be a matter of
    /// time.
    pub fn latest(&self, now: Instant) -> Result<Load, Option<String>> {
        let mut sum: Option<Load> = None;
        for slot in &self.0 {
            let load = slot.latest(now)?;
            sum = Some(match sum {
                Some(sum) => sum.and(load),
                None => load,
            });
        }
        sum.ok_or(None)
    }
}

/// Starts the thread of a source.
fn start(source: &LoadSource, secret: Option<&Secret>, own_boot: [u8; 16]) -> Arc<Slot> {
    let stale_after = match source {
        LoadSource::Agent(_) => agent::STALE_AFTER,
        LoadSource::Page { .. } => page::STALE_AFTER,
    };
    let slot = Arc::new(Slot { stale_after, state: Mutex::default() });
    let filled = slot.clone();
    let source = source.clone();
    let secret = secret.cloned();
    let ask = move || match (&source, secret) {
        (LoadSource::Agent(address), Some(secret)) => {
            agent::ask_until_dropped(address, secret, own_boot, &filled);
        }
        // A checked configuration has a secret where it names an agent.
        (LoadSource::Agent(_), None) => {}
        (LoadSource::Page { origin, path }, _) => page::read_until_dropped(origin, path, &filled),
    };
    let thread = std::thread::Builder::new().name("load".into()).spawn(ask);
    if let Err(error) = thread {
        slot.fail(format!("no thread can be started for it ({error})"));
    }
    slot
}

/// The last report of a source.
#[derive(Debug)]
pub struct Slot {
    stale_after: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The last report, and a time than which it is not older.
    load: Option<(Load, Instant)>,
    /// Why there is none since.
    failure: Option<String>,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn latest(&self, now: Instant) -> Result<Load, Option<String>> {
        let state = self.lock();
        match &state.load {
            Some((load, at)) if now.saturating_duration_since(*at) <= self.stale_after => {
                Ok(load.clone())
            }
            _ => Err(state.failure.clone()),
        }
    }

    /// Keeps a report that is not older than `at`.
    fn set(&self, load: Load, at: Instant) {
        *self.lock() = State { load: Some((load, at)), failure: None };
    }

    /// There is no new report. The last one counts until it is too old.
    fn fail(&self, why: String) {
        self.lock().failure = Some(why);
    }

    /// The source answers that it does not see the service: the last report counts no more.
    fn blind(&self, why: String) {
        *self.lock() = State { load: None, failure: Some(why) };
    }
}

/// Whether nobody but the thread that fills it has the slot.
fn is_dropped(slot: &Arc<Slot>) -> bool {
    Arc::strong_count(slot) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> Slot {
        Slot { stale_after: Duration::from_secs(1), state: Mutex::default() }
    }

    #[test]
    fn a_report_counts_until_it_is_too_old_and_then_its_failure_does() {
        let (slot, now) = (slot(), Instant::now());
        let at = |ms| now + Duration::from_millis(ms);
        assert_eq!(slot.latest(now), Err(None));
        slot.set(Load { capacity_cpus: 2.0, ..Load::default() }, now);
        slot.fail("no answer".into());
        assert_eq!(slot.latest(at(1000)).unwrap().capacity_cpus, 2.0);
        assert_eq!(slot.latest(at(1001)), Err(Some("no answer".into())));
        slot.set(Load::default(), at(2000));
        assert_eq!(slot.latest(at(2000)), Ok(Load::default()));
        slot.blind("no process".into());
        assert_eq!(slot.latest(at(2000)), Err(Some("no process".into())));
    }

    #[test]
    fn several_sources_are_added_up_and_one_that_is_silent_hides_all() {
        let (one, other, now) = (Arc::new(slot()), Arc::new(slot()), Instant::now());
        let loads = Loads(vec![one.clone(), other.clone()]);
        let load = |capacity_cpus, used, idle| Load {
            capacity_cpus,
            used_cpus: Some(used),
            idle: Some(idle),
            here: BTreeSet::new(),
        };
        one.set(load(1.0, 0.5, 0.5), now);
        assert_eq!(loads.latest(now), Err(None));
        other.set(load(3.0, 3.0, 0.1), now);
        let sum = loads.latest(now).unwrap();
        assert_eq!((sum.capacity_cpus, sum.used_cpus), (4.0, Some(3.5)));
        // (1 × 0.5 + 3 × 0.1) ∕ 4
        assert!((sum.idle.unwrap() - 0.2).abs() < 1e-12);
    }
}
