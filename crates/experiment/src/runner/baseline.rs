//! The capacity that loads are multiples of: estimated once by the CPU time of a session, and
//! again before each block of runs by a baseline just below it, since the machine's speed
//! drifts.

use std::collections::BTreeMap;

use crate::Result;
use crate::experiment::{Levels, Settings, Windows};
use crate::order::Block;
use crate::record::{Kind, Planned, Record};

use super::Runner;
use super::time::Next;
use crate::driver::Offered;

/// The last known capacity, in sessions per second, by [`Settings::capacity_key`].
#[derive(Debug, Default)]
pub(super) struct Capacities(BTreeMap<String, f64>);

/// Sessions per second and core of the first probe: a light load for any machine that can
/// compile this program.
const FIRST_PER_S: f64 = 10.0;
/// The further probes' shares of the estimate before them. Work costs up to half as much again
/// on a processor that mostly sleeps, so a light probe underestimates the capacity.
const SHARES: [f64; 5] = [0.6, 0.8, 0.9, 0.9, 0.9];
/// Use of the processors from which a probe tells their capacity.
const TELLING: f64 = 0.75;
/// The measured time of a probe, in seconds.
const PROBE_S: f64 = 2.5;
/// Its warm-up in durations of a session, and its limits in seconds: before the first sessions
/// end there are fewer of them than later.
const WARM_UP: (f64, f64, f64) = (1.2, 1.0, 60.0);
/// Load of a baseline as a share of the capacity: one that a machine of changing speed still
/// serves.
const BASELINE: f64 = 0.9;
/// Share of the sessions that complete in a baseline that is carried.
const CARRIED: f64 = 0.95;
/// Factor of the assumed capacity after a baseline that lost customers.
const BACK_OFF: f64 = 0.85;
/// Baselines in a row that may lose customers.
const ATTEMPTS: usize = 4;

impl Runner<'_> {
    /// The current capacity of a system with these settings, without admission control. `blocks`
    /// begin with the one that needs it, which has this number.
    pub(super) fn capacity(
        &mut self,
        settings: &Settings,
        number: usize,
        blocks: &[Block],
    ) -> Result<f64> {
        let round = blocks.first().map_or(0, |block| block.round);
        let key = settings.capacity_key();
        let off = Settings { policy: "off".into(), ..settings.clone() };
        let mut capacity = match self.capacities.0.get(&key) {
            Some(known) => *known,
            None => self.estimate(&off, &key, blocks)?,
        };
        for _ in 0..ATTEMPTS {
            self.begin("baseline without admission control", blocks, Next::Baseline);
            let windows = self.experiment.windows(self.options.quick);
            let id = self.free_id(&format!("baseline-r{:02}-b{number:03}", round + 1));
            let planned = self.planned_off(id, Kind::Baseline, &off, windows, round);
            let rate_per_s = BASELINE * capacity;
            let offered = Offered::at(rate_per_s, Some(capacity));
            let record = self.measure(&planned, offered)?;
            if is_carried(&record) {
                capacity = carried(&record, self.bench.requests_each(&off)?).unwrap_or(capacity);
                break;
            }
            capacity *= BACK_OFF;
        }
        self.capacities.0.insert(key, capacity);
        Ok(capacity)
    }

    /// Estimates a capacity by the CPU time of a session, or takes that of an earlier process.
    fn estimate(&mut self, off: &Settings, key: &str, blocks: &[Block]) -> Result<f64> {
        let requests = self.bench.requests_each(off)?;
        if let Some(capacity) = self.earlier(key).and_then(|record| carried(record, requests)) {
            return Ok(capacity);
        }
        let windows = self.probe_windows(off);
        let mut capacity = FIRST_PER_S * self.bench.resources.grant(off).cpus;
        for (done, share) in [1.0].into_iter().chain(SHARES).enumerate() {
            let next = Next::Probe(done, windows);
            self.begin("capacity, by the CPU time of a session", blocks, next);
            let id = self.free_id("capacity");
            let planned = self.planned_off(id, Kind::Capacity, off, windows, 0);
            let rate_per_s = share * capacity;
            let record = self.measure(&planned, Offered::at(rate_per_s, None))?;
            if !is_carried(&record) {
                capacity = BACK_OFF * rate_per_s;
                continue;
            }
            capacity = carried(&record, requests).unwrap_or(capacity);
            if use_of_available(&record) >= TELLING {
                break;
            }
        }
        Ok(capacity)
    }

    /// The last window of this or an earlier process that tells a capacity.
    fn earlier(&self, key: &str) -> Option<&Record> {
        let all = self.complete.values().filter(|record| {
            record.planned.kind != Kind::Run && record.planned.settings.capacity_key() == key
        });
        all.filter(|record| is_carried(record))
            .max_by_key(|record| record.provenance.started_unix_s)
    }

    /// Whether a capacity needs no probe.
    pub(super) fn is_estimated(&self, key: &str) -> bool {
        self.capacities.0.contains_key(key) || self.earlier(key).is_some()
    }

    /// The times of a probe.
    pub(super) fn probe_windows(&self, settings: &Settings) -> Windows {
        let scenario = self.bench.scenario(settings);
        let session = scenario.map_or(0.0, |it| it.session_duration().as_secs_f64());
        let (times, least, most) = WARM_UP;
        // A server that compiles its code while it runs is as fast as later once it is warm.
        let warm_up_s = (times * session * settings.time_scale)
            .clamp(least, most)
            .max(self.experiment.windows(self.options.quick).warm_up_s);
        Windows { warm_up_s, measured_s: PROBE_S, repetitions: 1, warm_up_per_customer_s: 0.0 }
    }

    /// The name with the lowest number that no run has.
    fn free_id(&self, name: &str) -> String {
        let ids = (1..).map(|number| format!("{name}-{number:02}"));
        ids.into_iter().find(|id| !self.complete.contains_key(id)).unwrap_or_default()
    }

    fn planned_off(
        &self,
        id: String,
        kind: Kind,
        settings: &Settings,
        windows: Windows,
        round: u32,
    ) -> Planned {
        let grant = self.bench.resources.grant(settings);
        Planned {
            id,
            kind,
            round,
            levels: Levels::new(),
            settings: settings.clone(),
            windows,
            seed: self.options.seed.wrapping_add(u64::from(round)),
            cores: grant.cores.to_string(),
            cpus: grant.cpus,
            driver_cores: self.bench.resources.driver.to_string(),
        }
    }
}

/// Sessions per second that the processors can carry, by what a run that they carried used of
/// those that were available to it: `requests per second / requests per session · available /
/// used`. What others use is not available.
fn carried(record: &Record, requests_each: f64) -> Option<f64> {
    let (requests, share) = (record.figure("requests_per_s")?, record.figure("server_use")?);
    let cpus = record.planned.cpus;
    let available = record.figure("available_cpus").unwrap_or(cpus);
    // Clocks of processes are read a little before and after the window.
    let used = (share * cpus / available).min(1.0);
    let capacity = requests / requests_each / used;
    (capacity.is_finite() && capacity > 0.0).then_some(capacity)
}

/// The use of the processors that were available, 0 to 1.
fn use_of_available(record: &Record) -> f64 {
    let used = record.figure("server_use").unwrap_or_default() * record.planned.cpus;
    used / record.figure("available_cpus").unwrap_or(record.planned.cpus).max(1e-9)
}

/// Whether nearly all sessions of a run completed.
fn is_carried(record: &Record) -> bool {
    record.figure("completed_ratio").unwrap_or_default() >= CARRIED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn a_capacity_is_what_was_carried_by_what_it_used() {
        let of = |requests, used| {
            carried(
                &record("a", 0, &[], &[("requests_per_s", requests), ("server_use", used)]),
                10.0,
            )
        };
        assert_eq!(of(300.0, 0.5), Some(60.0));
        assert_eq!(of(300.0, 1.02), Some(30.0));
        // Others left a half of the processor, of which the run used three fifths.
        let figures = [("requests_per_s", 300.0), ("server_use", 0.3), ("available_cpus", 0.5)];
        let beside = record("a", 0, &[], &figures);
        assert_eq!((carried(&beside, 10.0), use_of_available(&beside)), (Some(50.0), 0.6));
        assert_eq!(of(0.0, 0.5), None);
        assert_eq!(of(300.0, 0.0), None);
    }
}
