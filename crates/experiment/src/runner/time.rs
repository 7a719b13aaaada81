//! The time that the rest of a study takes: the load of what is to be measured, and what each
//! run takes beside its load, which complete runs tell.

use std::collections::BTreeSet;
use std::time::Duration;

use tidegate_stats::mean;

use crate::experiment::Windows;
use crate::record::{Kind, Record};

use super::matrix::{Matrix, SHARES, Stage};

/// Seconds that a run takes beside its load as long as none is complete: starting, and ending.
const FIRST_OVERHEAD_S: f64 = 0.5;
/// Probes that a capacity takes as long as none is known: a light one, and those that approach it.
const FIRST_PROBES: f64 = 4.0;

/// Windows that are still to be measured.
#[derive(Debug, Default)]
struct Rest {
    count: f64,
    /// Seconds of their load, warm-up included.
    load_s: f64,
}

impl Rest {
    /// Adds so many windows with these times.
    fn add(&mut self, count: f64, windows: &Windows) {
        self.count += count;
        self.load_s += count * windows.length().as_secs_f64();
    }

    /// The time that they take, with so many seconds beside the load of each.
    fn time(&self, overhead_s: f64) -> Duration {
        Duration::try_from_secs_f64(self.load_s + self.count * overhead_s).unwrap_or_default()
    }
}

/// Seconds that a window takes beside its load, such as for starting a server: the mean over
/// complete ones.
fn overhead_s<'r>(complete: impl Iterator<Item = &'r Record>) -> f64 {
    let beside = |record: &Record| {
        let load_s = record.planned.windows.length().as_secs_f64();
        Some((record.took_s? - load_s).max(0.0))
    };
    mean(complete.filter_map(beside)).unwrap_or(FIRST_OVERHEAD_S)
}

/// Probes that a capacity takes: the mean over those that are known.
fn probes_each<'r>(complete: impl Iterator<Item = &'r Record>) -> f64 {
    let probes = complete.filter(|record| record.planned.kind == Kind::Capacity);
    let keys: Vec<String> = probes.map(|it| it.planned.settings.capacity_key()).collect();
    let known: BTreeSet<&String> = keys.iter().collect();
    if known.is_empty() { FIRST_PROBES } else { keys.len() as f64 / known.len() as f64 }
}

impl Matrix<'_> {
    /// The time that the rest takes: what is next, all else that is missing of its block, and the
    /// blocks after it.
    pub(super) fn time_left(&self) -> Duration {
        let windows = self.windows();
        let probes = probes_each(self.complete.values());
        let (mut rest, mut estimated) = (Rest::default(), BTreeSet::new());
        for (number, block) in self.blocks[self.at..].iter().enumerate() {
            for index in self.missing(block) {
                rest.add(1.0, &self.windows_of(index));
            }
            let Some(settings) = self.first_load(block) else { continue };
            let is_new = estimated.insert(settings.capacity_key());
            let now = if number == 0 { &self.stage } else { &Stage::Begin };
            match now {
                Stage::Runs(..) => continue,
                Stage::Probes(_, now) => {
                    let done = (SHARES.len() - now.left()) as f64;
                    rest.add((probes - done).max(1.0), &self.probe_windows(settings));
                }
                Stage::Begin if is_new && self.known(settings).is_none() => {
                    rest.add(probes, &self.probe_windows(settings));
                }
                Stage::Begin | Stage::Baseline(..) => {}
            }
            rest.add(1.0, &windows);
        }
        rest.time(overhead_s(self.complete.values()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Settings;
    use crate::record::tests::record;

    /// A record of 3 s of load that took so many seconds.
    fn took(took_s: Option<f64>, kind: Kind, site: &str) -> Record {
        let mut record = Record { took_s, ..record("a", 0, &[], &[]) };
        record.planned.kind = kind;
        record.planned.settings = Settings { site: site.into(), ..Settings::default() };
        record
    }

    #[test]
    fn what_a_run_takes_beside_its_load_is_the_mean_of_the_complete_ones() {
        let of = |all: &[Option<f64>]| {
            let all: Vec<Record> = all.iter().map(|it| took(*it, Kind::Run, "tomcat")).collect();
            overhead_s(all.iter())
        };
        assert_eq!(of(&[]), 0.5);
        assert_eq!(of(&[None]), 0.5, "a run of before this was kept");
        assert_eq!(of(&[Some(7.0), Some(9.0), None]), 5.0);
        assert_eq!(of(&[Some(2.0)]), 0.0, "the load generator may end early");
    }

    #[test]
    fn a_capacity_takes_as_many_probes_as_those_before() {
        let all = [
            took(None, Kind::Capacity, "auction"),
            took(None, Kind::Capacity, "auction"),
            took(None, Kind::Capacity, "auction"),
            took(None, Kind::Capacity, "node"),
            took(None, Kind::Baseline, "node"),
            took(None, Kind::Run, "node"),
        ];
        assert_eq!(probes_each(all.iter()), 2.0);
        assert_eq!(probes_each(all[4..].iter()), 4.0);
    }

    #[test]
    fn the_time_left_is_that_of_all_loads_and_what_is_beside_each() {
        let windows = Windows {
            warm_up_s: 1.0,
            measured_s: 2.0,
            repetitions: 1,
            warm_up_per_customer_s: 0.1,
        };
        let closed = Settings { customers: Some(50), ..Settings::default() };
        let mut rest = Rest::default();
        rest.add(2.0, &windows);
        rest.add(1.0, &windows.of_run(&closed));
        // Two of 3 s, one of 8 s, and 4 s beside each.
        assert!((rest.time(4.0).as_secs_f64() - 26.0).abs() < 1e-9, "{rest:?}");
        assert_eq!(Rest::default().time(4.0), Duration::ZERO);
    }
}
