use super::*;
use crate::record::tests::record;
use tidegate_host::Cores;

const LOADS: &str = "\
name = \"loads\"
about = \"two multiples of the capacity\"
[windows]
repetitions = 1
[[factors]]
key = \"load\"
levels = [0.5, 2]
";

/// Name and rate of a run that is measured.
type Measured = (String, Option<f64>);

/// Names and rates of the runs that are measured, beside those that are complete, and all that
/// are complete then. By their number the runs give a record each.
fn course(
    complete: BTreeMap<String, Record>,
    gives: impl Fn(usize) -> Record,
) -> Option<(Vec<Measured>, BTreeMap<String, Record>)> {
    let allowed = Cores::of_this_thread().unwrap();
    let resources = Resources::whole_cores(&allowed.only(0)?, &allowed.only(1)?).unwrap();
    let experiment = Experiment::from_toml(LOADS, "x.toml").unwrap();
    let (out, server_cores, driver_cores) = ("".into(), None, None);
    let (quick, resume, without_java) = (false, false, false);
    let options = Options { out, quick, resume, seed: 1, server_cores, driver_cores, without_java };
    let combinations = experiment.combinations(false);
    let name = &experiment.base.scenario;
    let scenarios = BTreeMap::from([(name.clone(), Scenario::built_in(name).unwrap())]);
    let mut matrix =
        Matrix::new(&experiment, &options, &combinations, &resources, &scenarios, complete);
    let mut runs = Vec::new();
    while let Some(run) = matrix.next().unwrap() {
        assert!(matrix.left() > Some(Duration::ZERO));
        loop {
            runs.push((run.planned.id.clone(), run.driver.rate_per_s()));
            let (planned, doubts) = (run.planned.clone(), run.doubts.clone());
            let record = Record { planned, doubts, ..gives(runs.len()) };
            if matrix.take(&record).unwrap() == Taken::Kept {
                break;
            }
        }
    }
    assert_eq!(matrix.done(), (2, 2));
    assert_eq!(matrix.left(), Some(Duration::ZERO));
    Some((runs, matrix.complete))
}

/// A run of this session rate and use of the processors, in which this share completed.
fn gave(per_s: f64, server_use: f64, completed_ratio: f64) -> Record {
    let each = requests_each(&Scenario::built_in("auction-bidding-normalised").unwrap());
    let figures = [
        ("requests_per_s", per_s * each),
        ("server_use", server_use),
        ("completed_ratio", completed_ratio),
    ];
    record("x", 0, &[], &figures)
}

#[test]
fn a_block_has_probes_and_baselines_until_one_is_carried_and_then_its_runs() {
    let gives = |number| match number {
        1 => gave(10.0, 0.1, 1.0),
        2 => gave(60.0, 0.8, 1.0),
        3 => gave(50.0, 1.0, 0.5),
        4 => gave(54.0, 0.9, 1.0),
        // The load generator was saturated once.
        5 => Record { driver_saturated: vec!["late".into()], ..gave(30.0, 0.5, 1.0) },
        _ => gave(30.0, 0.5, 1.0),
    };
    let Some((runs, _)) = course(BTreeMap::new(), gives) else { return };
    let ids: Vec<&str> = runs.iter().map(|(id, _)| id.as_str()).collect();
    let before = ["capacity-01", "capacity-02", "baseline-r01-b000-01", "baseline-r01-b000-02"];
    assert_eq!(ids[..4], before);
    assert_eq!((ids.len(), ids[4]), (7, ids[5]));
    assert!(ids[4..].iter().all(|id| id.starts_with("r01-00")), "{ids:?}");
    let rates: Vec<f64> = runs.iter().map(|(_, rate)| rate.unwrap()).collect();
    // Probes at 10 and at 0.6 of 100; baselines at 0.9 of 75 and of 0.85 of that; the last
    // of them tells 60, of which the loads are 0.5 and 2.
    let near = |rate: f64, expected: f64| (rate - expected).abs() < 1e-6;
    for (rate, expected) in rates.iter().zip([10.0, 60.0, 67.5, 57.375]) {
        assert!(near(*rate, expected), "{rates:?}");
    }
    assert!(rates[4..].iter().all(|rate| near(*rate, 30.0) || near(*rate, 120.0)), "{rates:?}");
}

#[test]
fn a_run_beside_other_programs_is_repeated_and_counts_in_the_end() {
    let others = |share| {
        let mut record = gave(60.0, 0.75, 1.0);
        record.figures.insert("others_use".into(), share);
        record
    };
    let Some((runs, _)) = course(BTreeMap::new(), |_| others(0.1)) else { return };
    assert_eq!(runs.len(), 4, "a probe, a baseline and two runs");
    // Two runs have one further attempt.
    let (runs, complete) = course(BTreeMap::new(), |_| others(0.2)).unwrap();
    assert_eq!((runs.len(), &runs[2].0), (5, &runs[3].0));
    assert!(complete.values().all(Record::is_sound));
}

#[test]
fn runs_of_a_capacity_that_no_baseline_confirmed_do_not_count_and_are_measured_again() {
    let gives = |number| match number {
        1 => gave(60.0, 0.75, 1.0),
        2..=7 => gave(60.0, 0.9, 0.5),
        _ => gave(60.0, 0.8, 1.0),
    };
    let Some((runs, complete)) = course(BTreeMap::new(), gives) else { return };
    let ids: Vec<&str> = runs.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!((ids[6], ids[9]), ("baseline-r01-b000-06", "baseline-r01-b001-01"), "{ids:?}");
    // Attempts are left for one of two runs.
    assert_eq!((ids.len(), ids[10]), (11, ids[7]));
    let doubts = |id: &str| complete[id].doubts.clone();
    assert_eq!((doubts(ids[7]), doubts(ids[8])), (vec![], vec![UNCONFIRMED.to_owned()]));
    assert_eq!((complete[ids[7]].is_sound(), complete[ids[8]].is_sound()), (true, false));
}

#[test]
fn what_is_complete_is_not_measured_again_and_tells_the_capacity() {
    let gives = |_| gave(60.0, 0.75, 1.0);
    let Some((runs, mut complete)) = course(BTreeMap::new(), gives) else { return };
    assert_eq!((runs.len(), complete.len()), (4, 4), "a probe, a baseline and two runs");
    complete.remove(&runs[3].0);
    let (rest, complete) = course(complete, gives).unwrap();
    assert_eq!(rest[0].0, "baseline-r01-b000-02", "and no probe");
    assert_eq!((&rest[1..], complete.len()), (&runs[3..], 5));
}
