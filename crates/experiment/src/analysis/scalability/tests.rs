use super::*;
use crate::analysis::runs;
use crate::analysis::tables::tables;
use crate::record::Record;
use crate::record::tests::record;

const FILE: &str = "\
about = \"x\"
[[factors]]
key = \"policy\"
levels = [\"off\", \"eac\"]
[[factors]]
key = \"processors\"
levels = [1, 2, 3, 4]
[[factors]]
key = \"load\"
levels = [0.9, 2]
";

fn experiment(name: &str) -> Experiment {
    Experiment::from_toml(&format!("name = \"{name}\"\n{FILE}"), "x")
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// Runs of two rounds, the second on a machine of half the speed. Beyond the peak a tenth of it
/// is left.
fn measured(policy: &str, peaks: &[(&str, f64)]) -> Vec<Record> {
    let mut all = Vec::new();
    for (round, speed) in [(0, 1.0), (1, 0.5)] {
        for (processors, peak) in peaks {
            for (load, share) in [("0.9", 1.0), ("2", 0.1)] {
                let levels = [("policy", policy), ("processors", processors), ("load", load)];
                let id = format!("{round}-{policy}-{processors}-{load}");
                let value = peak * speed * share;
                all.push(record(&id, round, &levels, &[("requests_per_s", value)]));
            }
        }
    }
    all
}

/// Table 1 of paper 001.
const TABLE_1: [(&str, f64); 4] = [("1", 90.0), ("2", 155.0), ("3", 208.0), ("4", 256.0)];

fn number(row: &Row, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name}: {}", row[name]))
}

fn close(row: &Row, name: &str, expected: f64, by: f64) {
    assert!((number(row, name) - expected).abs() <= by, "{name}: {}", row[name]);
}

#[test]
fn a_server_that_scales_as_the_papers_has_its_coefficients() {
    let rows = scalability(&experiment("overload"), &runs(&measured("off", &TABLE_1)));
    let [row] = &rows[..] else { panic!("{rows:?}") };
    // Mean of the rounds, at the load of the peak.
    close(row, "peak_with_2_requests_per_s_at_speed", 0.75 * 155.0, 1e-9);
    close(row, "usl_alpha", 0.19, 0.005);
    close(row, "usl_beta", -0.013, 0.0005);
    close(row, "amdahl_sigma", 0.14, 0.005);
    for name in ["usl_alpha", "usl_beta", "amdahl_sigma"] {
        assert!(number(row, &format!("{name}_low_95")) <= number(row, name), "{name}");
        assert!(number(row, name) <= number(row, &format!("{name}_high_95")), "{name}");
        close(row, name, number(row, &format!("paper_{name}")), 1e-6);
    }
    let warning = row["usl_warning"].as_str().unwrap();
    assert!(warning.contains("coherency is negative"), "{warning}");
    assert_eq!(row["paper_usl_warning"], row["usl_warning"]);
    assert_eq!(row["amdahl_warning"], Value::Null);
}

#[test]
fn growth_beyond_the_processors_has_a_warning() {
    let steep = [("1", 90.0), ("2", 190.0), ("3", 300.0), ("4", 420.0)];
    let rows = scalability(&experiment("overload"), &runs(&measured("off", &steep)));
    let warning = rows[0]["amdahl_warning"].as_str().unwrap();
    assert!(warning.starts_with("contention is negative"), "{warning}");
    assert!(number(&rows[0], "amdahl_sigma") < 0.0);
}

#[test]
fn each_policy_has_a_row_and_the_paper_stands_beside_the_original_server_alone() {
    let mut all = measured("off", &TABLE_1);
    all.extend(measured("eac", &TABLE_1));
    let rows = scalability(&experiment("overload"), &runs(&all));
    let policies: Vec<&Value> = rows.iter().map(|row| &row["policy"]).collect();
    assert_eq!(policies, ["off", "eac"]);
    assert!(rows[0].contains_key("paper_amdahl_sigma"));
    assert!(!rows[1].contains_key("paper_amdahl_sigma"));
    let others = scalability(&experiment("mine"), &runs(&all));
    assert!(others.iter().all(|row| !row.contains_key("paper_amdahl_sigma")));
}

#[test]
fn three_levels_are_enough_for_amdahls_law_and_two_for_no_table() {
    let experiment = experiment("overload");
    let of = |peaks: &[(&str, f64)]| {
        let all = measured("off", peaks);
        tables(&experiment, &all, &runs(&all)).remove("scalability")
    };
    let rows = of(&TABLE_1[..3]).unwrap();
    assert!(number(&rows[0], "amdahl_sigma") > 0.0);
    assert_eq!(rows[0]["usl_alpha"], Value::Null);
    let warning = rows[0]["usl_warning"].as_str().unwrap();
    assert!(warning.contains("are too few"), "{warning}");
    // As in a quick run: one and four processors.
    assert_eq!(of(&[TABLE_1[0], TABLE_1[3]]), None);
}

#[test]
fn without_one_processor_its_throughput_is_fitted() {
    // 100 N / (1 + 0.1 (N - 1)), at 2, 3 and 4.
    let peaks = [("2", 200.0 / 1.1), ("3", 300.0 / 1.2), ("4", 400.0 / 1.3)];
    let mut all = measured("off", &peaks);
    all.retain(|record| record.planned.round == 0);
    let rows = scalability(&experiment("overload"), &runs(&all));
    close(&rows[0], "amdahl_sigma", 0.1, 1e-6);
}

#[test]
fn a_site_that_answers_nothing_has_a_reason_in_place_of_coefficients() {
    let none = TABLE_1.map(|(processors, _)| (processors, 0.0));
    let rows = scalability(&experiment("overload"), &runs(&measured("off", &none)));
    assert_eq!(rows[0]["amdahl_sigma"], Value::Null);
    assert!(rows[0]["amdahl_warning"].is_string());
}
