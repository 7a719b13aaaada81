use std::collections::BTreeSet;

use tidegate_host::Machine;

use super::*;
use crate::experiment::BuiltIn;
use crate::record::tests::record;

/// Five rounds of `overload`: `off` collapses from twice the capacity on, the others keep it.
fn measured() -> Measured {
    let mut records: Vec<Record> = Vec::new();
    let overload = BuiltIn::named("overload").unwrap().experiment();
    for round in 0..5_u32 {
        for one in overload.combinations(false) {
            let level = |name: &str| one.levels.get(name).map_or("", String::as_str);
            let load: f64 = level("load").parse().unwrap_or(1.0);
            let collapses = level("policy") == "off" && load >= 2.0;
            let kept = if collapses { 0.2 } else { load.min(1.0) } + 0.01 * f64::from(round);
            let levels: Vec<(&str, &str)> =
                one.levels.iter().map(|(name, level)| (name.as_str(), level.as_str())).collect();
            let figures = [
                ("offered_per_s", 50.0 * load),
                ("requests_per_s", 600.0 * kept),
                ("requests_of_capacity", kept),
                ("completed_of_capacity", 0.9 * kept),
                ("completed_per_s", 45.0 * kept),
                ("response_mean_ms", 2.0 / kept),
                ("full_handshake_share", if collapses { 0.7 } else { 0.3 }),
            ];
            let id = format!("{round}-{}", levels.iter().map(|it| it.1).collect::<String>());
            records.push(record(&id, round, &levels, &figures));
        }
    }
    let (unit, cores) = ("processors of a quarter of a core".into(), ("0".into(), "1".into()));
    let machine = Machine { cpu: "AMD EPYC 7763".into(), ..Machine::default() };
    Measured { records, notes: vec!["A note.".into()], unit, cores, machine }
}

#[test]
fn a_report_begins_with_conclusions_then_has_three_figures_then_the_method_then_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        out: folder.path().join("out"),
        quick: false,
        resume: false,
        seed: 1,
        server_cores: None,
        driver_cores: None,
        without_java: false,
    };
    let experiment = BuiltIn::named("overload").unwrap().experiment();
    let summary = finish(&experiment, &options, &measured()).unwrap();
    let page = std::fs::read_to_string(options.out.join("report.html")).unwrap();
    let heads = [
        "The paper's conclusions</h2>",
        "Claims of this project</h2>",
        "<h2>Figures</h2>",
        "<h2>How it was measured</h2>",
        "AMD EPYC 7763",
        "<h2>Peak, and what is left in overload</h2>",
        "<h2>Further figures</h2>",
    ];
    let places = heads.map(|head| page.find(head).unwrap_or_else(|| panic!("{head}: {page}")));
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(page[places[2]..places[3]].matches("<figure").count(), 3);
    // One of each rule of the file, which draws one for each handshake.
    let figures =
        summary.tables["figures"].iter().take(3).map(|row| row["title"].as_str().unwrap());
    let titles: BTreeSet<&str> =
        figures.map(|title| title.split(" (").next().unwrap_or_default()).collect();
    assert_eq!(titles.len(), 3, "{titles:?}");
    for title in titles {
        assert!(page[places[2]..places[3]].contains(title), "{title}");
    }
    assert!(page.contains("14 to 21 %") && page.contains("✗ does not hold"));
    let environment = &summary.tables["environment"];
    assert!(environment.iter().any(|row| row["value"] == "AMD EPYC 7763, 0 processors"));
}

#[test]
fn a_neighbour_that_the_study_starts_itself_is_no_other_program() {
    let mut beside = record("a", 0, &[], &[("others_use", 0.49)]);
    beside.planned.settings.neighbour = 0.5;
    let quiet = record("b", 0, &[], &[("others_use", 0.01)]);
    assert_eq!(disturbance(&[beside.clone(), quiet.clone()]), None);
    beside.figures.insert("others_use".into(), 0.99);
    let told = disturbance(&[beside, quiet]).unwrap();
    assert!(told.starts_with("Other programs used 25 % of"), "{told}");
}
