//! The time that the rest of a study takes: the load of what is to be measured, and what each
//! run takes beside its load, which complete runs tell.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tidegate_stats::mean;

use crate::experiment::{Settings, Windows};
use crate::record::{Kind, Record};

use super::kept::Warm;
use super::matrix::{Matrix, SHARES, Stage};

/// Seconds that a run takes beside its load as long as none is complete: starting, and ending.
const FIRST_OVERHEAD_S: f64 = 0.5;
/// Seconds that the start of a service takes that compiles its code while it runs.
const FIRST_START_S: f64 = 8.0;
/// The same of a fleet: hosts, a cluster of NATS, services and gates, one after the other.
const FIRST_FLEET_S: f64 = 5.0;
/// Probes that a capacity takes as long as none is known: a light one, and those that approach it.
const FIRST_PROBES: f64 = 4.0;

/// Seconds that the windows take that are still to be measured.
#[derive(Debug, Default)]
struct Rest(f64);

impl Rest {
    /// Adds `count` windows with these times, and the seconds that each takes beside its load.
    fn add(&mut self, count: f64, windows: &Windows, overhead_s: f64) {
        self.0 += count * (windows.length().as_secs_f64() + overhead_s);
    }

    /// The time that they take.
    fn time(&self) -> Duration {
        Duration::try_from_secs_f64(self.0).unwrap_or_default()
    }
}

/// Seconds that a window takes beside its load, such as for starting a server and for its warm-up:
/// the mean over complete ones, without what is done once. Where requests are counted that is all
/// of it: the mean over those of the same settings, or else over all.
fn overhead_s(complete: &BTreeMap<String, Record>, settings: &Settings, windows: &Windows) -> f64 {
    let beside = |record: &Record| {
        let load_s = record.planned.windows.length().as_secs_f64();
        Some((record.took_s? - record.once_s.unwrap_or_default() - load_s).max(0.0))
    };
    let is_same =
        |it: &&Record| it.planned.windows.requests.is_some() && it.planned.settings == *settings;
    let same = mean(complete.values().filter(is_same).filter_map(beside));
    same.or_else(|| mean(complete.values().filter_map(beside))).unwrap_or_else(|| {
        let starts_anew = settings.warms_up() && windows.warm_up_once_s.is_none();
        let first = if settings.faults.is_some() { FIRST_FLEET_S } else { FIRST_OVERHEAD_S };
        first + if starts_anew { FIRST_START_S + windows.warm_up_s } else { 0.0 }
    })
}

/// Seconds until a service that is kept is ready and warm for this: the mean over those that were,
/// or else what is stated.
fn once_s(complete: &BTreeMap<String, Record>, warm: &Warm, stated_s: f64) -> f64 {
    let mean_of = |counts: &dyn Fn(&Warm) -> bool| {
        let counted = complete.values().filter(|it| counts(&Warm::of(&it.planned)));
        mean(counted.filter_map(|it| it.once_s))
    };
    let all = || mean_of(&|it| it.takes_s(stated_s) == warm.takes_s(stated_s));
    mean_of(&|it| it == warm).or_else(all).unwrap_or(FIRST_START_S + warm.takes_s(stated_s))
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
    /// blocks after it. None where requests are counted, as long as no run is complete.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let windows = self.windows();
        if windows.requests.is_some() && self.complete.is_empty() {
            return None;
        }
        let overhead_s = |settings: &Settings| overhead_s(&self.complete, settings, &windows);
        let probes = probes_each(self.complete.values());
        let (mut rest, mut estimated) = (Rest::default(), BTreeSet::new());
        let mut warm = self.warm.clone();
        let mut warms_s = |settings: &Settings, kind: Kind| match windows.warm_up_once_s {
            Some(stated_s) => {
                let now = Warm::new(settings, kind);
                let is_new = warm.insert(now.clone());
                if is_new { once_s(&self.complete, &now, stated_s) } else { 0.0 }
            }
            None => 0.0,
        };
        for (number, block) in self.blocks[self.at..].iter().enumerate() {
            for index in self.missing(block) {
                let settings = &self.combinations[index].settings;
                rest.add(1.0, &self.windows_of(index), overhead_s(settings));
                rest.0 += warms_s(settings, Kind::Run);
            }
            let Some(settings) = self.first_load(block) else { continue };
            let is_new = estimated.insert(settings.capacity_key());
            let beside_s = overhead_s(settings);
            let now = if number == 0 { &self.stage } else { &Stage::Begin };
            match now {
                Stage::Runs(..) => continue,
                Stage::Probes(_, now) => {
                    let done = (SHARES.len() - now.left()) as f64;
                    let probes = (probes - done).max(1.0);
                    rest.add(probes, &self.probe_windows(settings), beside_s);
                    rest.0 += warms_s(settings, Kind::Capacity);
                }
                Stage::Begin if is_new && self.known(settings).is_none() => {
                    rest.add(probes, &self.probe_windows(settings), beside_s);
                    rest.0 += warms_s(settings, Kind::Capacity);
                }
                Stage::Begin | Stage::Baseline(..) => {}
            }
            rest.add(1.0, &windows, beside_s);
        }
        Some(rest.time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{BUILT_IN, Experiment};
    use crate::options::Options;
    use crate::record::tests::record;
    use crate::resources::Resources;
    use tidegate_host::Cores;
    use tidegate_load::Scenario;

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
            overhead_s(&by_id(all), &Settings::default(), &Windows::default())
        };
        assert_eq!(of(&[]), 0.5);
        assert_eq!(of(&[None]), 0.5, "a run of before this was kept");
        let fleet = Settings { faults: Some("none".into()), ..Settings::default() };
        assert_eq!(overhead_s(&BTreeMap::new(), &fleet, &Windows::default()), 5.0);
        assert_eq!(of(&[Some(7.0), Some(9.0), None]), 5.0);
        assert_eq!(of(&[Some(2.0)]), 0.0, "the load generator may end early");
    }

    fn by_id(all: Vec<Record>) -> BTreeMap<String, Record> {
        all.into_iter().enumerate().map(|(index, it)| (index.to_string(), it)).collect()
    }

    #[test]
    fn where_requests_are_counted_a_run_takes_as_long_as_those_of_its_settings_before() {
        let counted = |site: &str, s: f64| {
            let mut record = took(Some(s), Kind::Run, site);
            record.planned.windows.requests = Some(20);
            record
        };
        let all = by_id(vec![counted("clear", 1.0), counted("xml", 5.0), counted("xml", 6.0)]);
        let settings = |site: &str| Settings { site: site.into(), ..Settings::default() };
        let of = |site: &str| overhead_s(&all, &settings(site), &Windows::default());
        assert_eq!([of("clear"), of("xml"), of("jose")], [1.0, 5.5, 4.0], "the mean of all");
    }

    #[test]
    fn a_server_that_starts_anew_is_warmed_in_each_run_and_one_that_is_kept_once() {
        let anew = Windows { warm_up_s: 60.0, ..Windows::default() };
        let kept = Windows { warm_up_once_s: Some(180.0), ..anew };
        let of = |site: &str| Settings { site: site.into(), ..Settings::default() };
        let none = BTreeMap::new();
        let first = [("tomcat", anew), ("tomcat", kept), ("auction", anew)];
        let first = first.map(|(site, windows)| overhead_s(&none, &of(site), &windows));
        assert_eq!(first, [68.5, 0.5, 0.5]);
        let warm = |site: &str, kind| Warm::new(&of(site), kind);
        assert_eq!(once_s(&none, &warm("tomcat", Kind::Run), 180.0), 188.0);
        assert_eq!(once_s(&none, &warm("tomcat", Kind::Capacity), 180.0), 68.0);
        // One of 200 s in all, of which 190 were for the start; 3 s of load.
        let warmed = Record { once_s: Some(190.0), ..took(Some(200.0), Kind::Baseline, "tomcat") };
        let all = by_id(vec![warmed, took(Some(5.0), Kind::Run, "tomcat")]);
        assert_eq!(overhead_s(&all, &of("tomcat"), &kept), 4.5);
        assert_eq!(once_s(&all, &warm("tomcat", Kind::Run), 180.0), 190.0);
        assert_eq!(once_s(&all, &warm("node", Kind::Run), 180.0), 190.0, "as long as another");
        assert_eq!(once_s(&all, &warm("node", Kind::Capacity), 180.0), 68.0, "for probes alone");
    }

    #[test]
    fn before_the_first_run_all_starts_and_warm_ups_are_counted() {
        let of = |once: &str| {
            let text = format!(
                "name = \"x\"\nabout = \"x\"\n[system]\nsite = \"tomcat\"\n\
                 certificate = \"rsa-2048\"\n[windows]\n{once}warm_up = \"8s\"\n\
                 measured = \"16s\"\nrepetitions = 5\n[[factors]]\nkey = \"gate\"\n\
                 levels = [false, true]\n[[factors]]\nkey = \"load\"\nlevels = [0.5, 2]\n"
            );
            left_s(&text, false)
        };
        let Some((kept, anew)) = of("warm_up_once = \"180s\"\n").zip(of("")) else { return };
        // 20 runs and 10 baselines of 24 s, 8 probes of 10.5 s, and half a second beside each; a
        // warm-up before the first probe and baseline of each kind, or one of 8 s and a start in
        // each.
        let each = 30.0 * 24.5 + 8.0 * 11.0;
        assert!((kept - (each + 2.0 * (68.0 + 188.0))).abs() < 1e-6, "{kept}");
        assert!((anew - (each + 38.0 * 16.0)).abs() < 1e-6, "{anew}");
    }

    #[test]
    fn every_study_takes_less_than_an_hour_and_a_quick_run_less_than_ten_minutes() {
        // How long `messages` takes is told by its services alone.
        for one in BUILT_IN.iter().filter(|one| one.name != "messages") {
            let left = left_s(one.text, false).zip(left_s(one.text, true));
            let Some((full, quick)) = left else { return };
            assert!(full < 3600.0 && quick < 600.0, "{}: {full} s, quick {quick} s", one.name);
        }
    }

    /// The time that an experiment takes; none on a machine with one processor.
    fn left_s(text: &str, quick: bool) -> Option<f64> {
        let allowed = Cores::of_this_thread().unwrap();
        let resources = Resources::whole_cores(&allowed.only(0)?, &allowed.only(1)?).unwrap();
        let experiment = Experiment::from_toml(text, "x.toml").unwrap();
        let options = Options {
            out: "".into(),
            quick,
            resume: false,
            seed: 1,
            server_cores: None,
            driver_cores: None,
            without_java: false,
        };
        let name = &experiment.base.scenario;
        let scenarios = BTreeMap::from([(name.clone(), Scenario::built_in(name).unwrap())]);
        let (all, none) = (experiment.combinations(quick), BTreeMap::new());
        let matrix = Matrix::new(&experiment, &options, &all, &resources, &scenarios, none);
        matrix.time_left().map(|left| left.as_secs_f64())
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
            ..Windows::default()
        };
        let closed = Settings { customers: Some(50), ..Settings::default() };
        let mut rest = Rest::default();
        rest.add(2.0, &windows, 4.0);
        rest.add(1.0, &windows.of_run(&closed), 4.0);
        // Two of 3 s, one of 8 s, and 4 s beside each.
        assert!((rest.time().as_secs_f64() - 26.0).abs() < 1e-9, "{rest:?}");
        assert_eq!(Rest::default().time(), Duration::ZERO);
    }
}
