mod without_value;

use super::*;
use crate::analysis::runs;
use crate::record::Record;
use crate::record::tests::record;

const FILE: &str = "\
name = \"x\"
about = \"x\"
[[factors]]
key = \"policy\"
levels = [\"off\", \"tide\"]
[[factors]]
key = \"load\"
levels = [1, 2, 4]
[[factors]]
key = \"processors\"
levels = [1, 2]
";

fn experiment(claim: &str) -> Experiment {
    let text = format!(
        "{FILE}[[claims]]\nid = \"c\"\nsource = \"s\"\ntext = \"t\"\nmetric = \"requests_per_s\"\n{claim}\n"
    );
    Experiment::from_toml(&text, "x").unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// Six rounds, every second one on a machine of half the speed. `off` collapses from load 2 on to
/// a fifth; with two processors everything is 1.8 times as much. A third of the rounds is `noise`
/// above, and a third below.
fn measured(noise: f64) -> Vec<Record> {
    let mut all = Vec::new();
    for round in 0..6_u32 {
        let speed = if round % 2 == 0 { 1.0 } else { 0.5 };
        for (processors, times) in [("1", 1.0), ("2", 1.8)] {
            for policy in ["off", "tide"] {
                for load in ["1", "2", "4"] {
                    let share = if policy == "off" && load != "1" { 0.2 } else { 1.0 };
                    let noise = [0.0, noise, -noise][round as usize % 3];
                    let noise = if load == "1" { 0.0 } else { noise };
                    let value = 100.0 * speed * times * share * (1.0 + noise);
                    let levels = [("policy", policy), ("load", load), ("processors", processors)];
                    let id = format!("{round}-{policy}-{load}-{processors}");
                    all.push(record(&id, round, &levels, &[("requests_per_s", value)]));
                }
            }
        }
    }
    all
}

fn checked(claim: &str, noise: f64) -> Vec<Claim> {
    check(&experiment(claim), &runs(&measured(noise)), false)
}

fn mean(claim: &Claim) -> f64 {
    claim.evidence["mean"].as_f64().unwrap()
}

const COLLAPSE: &str = "where = { policy = \"off\", load = \">= 2\" }\n\
                        compared_with = { policy = \"off\", load = 1 }\ncompared_take = \"mean\"\n";

#[test]
fn a_ratio_is_taken_within_a_round_so_that_drift_cancels() {
    let claims = checked(&format!("{COLLAPSE}at_most = 0.21"), 0.0);
    assert_eq!(claims.len(), 1);
    // Two loads, two numbers of processors, six rounds.
    assert_eq!(claims[0].evidence["values"], json!(24));
    assert_eq!(claims[0].evidence["conditions"].as_array().unwrap().len(), 4);
    assert!((mean(&claims[0]) - 0.2).abs() < 1e-9);
    assert_eq!(claims[0].verdict, Verdict::Holds);
}

#[test]
fn a_verdict_follows_from_the_whole_interval() {
    // Values 0.2, 0.22 and 0.18, twice each: the mean is 0.2, s = 0.017889 and with t(5) = 2.5706
    // the half width 0.018773.
    for (limit, expected) in [
        ("at_most = 0.22", Verdict::Holds),
        ("at_most = 0.21", Verdict::Undecided),
        ("at_most = 0.18", Verdict::DoesNotHold),
        ("at_least = 0.22", Verdict::DoesNotHold),
        ("at_least = 0.1\nat_most = 0.3", Verdict::Holds),
        ("at_least = 0.2\nat_most = 0.3", Verdict::Undecided),
        ("at_least = 0.3\nat_most = 0.4", Verdict::DoesNotHold),
    ] {
        let claims = checked(&format!("{COLLAPSE}{limit}"), 0.1);
        assert_eq!(claims[0].verdict, expected, "{limit}: {:?}", claims[0].evidence);
    }
    let claims = checked(&format!("{COLLAPSE}at_most = 1"), 0.1);
    assert!((mean(&claims[0]) - 0.2).abs() < 1e-9, "{:?}", claims[0].evidence);
    let high = claims[0].evidence["high_95"].as_f64().unwrap();
    assert!((high - 0.218_773).abs() < 1e-5, "{high}");
}

#[test]
fn a_claim_that_fails_at_one_load_does_not_hold_and_names_it() {
    let mut all = measured(0.0);
    // At load 4 with two processors there is no collapse: pooled with the three other conditions
    // the mean would be 0.375, within the limit.
    for record in &mut all {
        let levels = &record.planned.levels;
        if levels["policy"] == "off" && levels["load"] == "4" && levels["processors"] == "2" {
            let speed = if record.planned.round % 2 == 0 { 1.0 } else { 0.5 };
            let noise = [0.98, 1.0, 1.02][record.planned.round as usize % 3];
            record.figures.insert("requests_per_s".into(), 162.0 * speed * noise);
        }
    }
    let claims = check(&experiment(&format!("{COLLAPSE}at_most = 0.5")), &runs(&all), false);
    assert_eq!(claims[0].verdict, Verdict::DoesNotHold, "{:?}", claims[0].evidence);
    assert_eq!(claims[0].evidence["decided_by"], json!("load 4, processors 2"));
    assert!((mean(&claims[0]) - 0.9).abs() < 1e-9);
    let verdicts: Vec<&str> = claims[0].evidence["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| condition["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == "holds").count(), 3);
}

/// Six rounds of `off`, by load and processors; a third of the rounds is 5 % above, and a third
/// below.
fn collapse(value: impl Fn(&str, &str) -> f64) -> Vec<Record> {
    let mut all = measured(0.0);
    for record in all.iter_mut().filter(|record| record.planned.levels["policy"] == "off") {
        let levels = &record.planned.levels;
        let noise = [1.0, 1.05, 0.95][record.planned.round as usize % 3];
        let value = noise * value(&levels["load"], &levels["processors"]);
        record.figures.insert("requests_per_s".into(), value);
    }
    all
}

#[test]
fn a_collapse_at_one_load_is_no_smaller_collapse_at_both() {
    // 0.63 at twice the capacity and 0 at four times: pooled, 0.32 (0.16 to 0.47) of a peak, which
    // no load has.
    let share = |load: &str, _: &str| match load {
        "2" => 0.63,
        "4" => 0.0,
        _ => 1.0,
    };
    let claim = "where = { policy = \"off\", load = \">= 2\" }\nat_most = 0.25";
    let claims = check(&experiment(claim), &runs(&collapse(share)), false);
    let [claim] = &claims[..] else { panic!("{claims:?}") };
    assert_eq!(claim.verdict, Verdict::DoesNotHold, "{:?}", claim.evidence);
    let one_and_two = ["load 2, processors 1", "load 2, processors 2"];
    assert_eq!(claim.evidence["fails_at"], json!(one_and_two));
    assert!((mean(claim) - 0.63).abs() < 1e-9, "of a condition, not of the pool");
    let conditions = claim.evidence["conditions"].as_array().unwrap();
    let means: Vec<f64> = conditions.iter().map(|it| it["mean"].as_f64().unwrap()).collect();
    assert!(means.iter().all(|it| it.abs() < 1e-9 || (it - 0.63).abs() < 1e-9), "{means:?}");
}

#[test]
fn a_ratio_of_equal_loads_is_one_for_each_load() {
    // Two processors have twice the throughput of one at load 2, and at load 4 the same: summed
    // over both loads 102 to 52, a factor of 1.96, which no load has.
    let served = |load: &str, processors: &str| match (load, processors) {
        ("2", "1") => 50.0,
        ("2", _) => 100.0,
        _ => 2.0,
    };
    let claim = "where = { policy = \"off\", processors = 2, load = \">= 2\" }\n\
                 compared_with = { policy = \"off\", processors = 1, load = \">= 2\" }\n\
                 take = \"mean\"\ncompared_take = \"mean\"\nat_least = 1.7\nat_most = 2.3";
    let claims = check(&experiment(claim), &runs(&collapse(served)), false);
    assert_eq!(claims[0].verdict, Verdict::DoesNotHold, "{:?}", claims[0].evidence);
    assert_eq!(claims[0].evidence["fails_at"], json!(["load 4"]));
    assert!((mean(&claims[0]) - 1.0).abs() < 1e-9);
}

#[test]
fn rounds_are_replicates_and_fewer_than_five_decide_nothing() {
    let mut all = measured(0.0);
    all.retain(|record| record.planned.round < 4);
    let claims = check(&experiment(&format!("{COLLAPSE}at_most = 0.5")), &runs(&all), false);
    assert_eq!(claims[0].verdict, Verdict::Undecided);
    assert_eq!(claims[0].evidence["undecided_because"], json!("4 rounds; a verdict takes 5"));
}

#[test]
fn noise_alone_raises_no_peak() {
    // Every load has the same throughput but for noise: the load that is highest in its own round
    // would seem 9 % better than one processor's mean at all loads.
    let mut all = measured(0.0);
    for record in &mut all {
        let load = ["1", "2", "4"].iter().position(|it| *it == record.planned.levels["load"]);
        let high = (record.planned.round as usize + load.unwrap()).is_multiple_of(3);
        record.figures.insert("requests_per_s".into(), if high { 120.0 } else { 100.0 });
    }
    let claim = "where = { policy = \"off\", processors = 2 }\ntake = \"peak\"\n\
                 compared_with = { policy = \"tide\", processors = 1 }\n\
                 compared_take = \"mean\"\nat_most = 1.01";
    let claims = check(&experiment(claim), &runs(&all), false);
    assert!(mean(&claims[0]) < 1.01, "{:?}", claims[0].evidence);
}

#[test]
fn runs_are_not_compared_with_their_own_peak() {
    let claim = "where = { policy = \"off\", load = \">= 2\" }\n\
                 compared_with = { policy = \"off\" }\nat_most = 0.3";
    let text = format!(
        "{FILE}[[claims]]\nid = \"c\"\nsource = \"s\"\ntext = \"t\"\nmetric = \"requests_per_s\"\n{claim}\n"
    );
    let mistakes = Experiment::from_toml(&text, "x").unwrap_err().to_string();
    assert!(mistakes.contains("compared with their own peak"), "{mistakes}");
}

#[test]
fn a_peak_is_the_load_with_the_highest_mean_over_the_other_rounds() {
    let claim = "where = { policy = \"off\", processors = 2 }\ntake = \"peak\"\n\
                 compared_with = { policy = \"off\", processors = 1 }\nat_least = 1.7\nat_most = 1.9";
    let claims = checked(claim, 0.0);
    assert_eq!(claims[0].evidence["values"], json!(6));
    assert!((mean(&claims[0]) - 1.8).abs() < 1e-9);
    assert_eq!(claims[0].verdict, Verdict::Holds);
}

#[test]
fn the_load_of_a_peak_can_be_that_of_another_metric() {
    let mut all = measured(0.0);
    for record in &mut all {
        let load: f64 = record.planned.levels["load"].parse().unwrap();
        let processors: f64 = record.planned.levels["processors"].parse().unwrap();
        // Twice the processors are offered three times as much.
        let rate = load * if processors > 1.0 { 30.0 } else { 10.0 };
        record.figures.insert("offered_per_s".into(), rate);
        // The peak of two processors is at load 2, in place of 1.
        if processors > 1.0 && load == 2.0 {
            record.figures.insert("requests_per_s".into(), 1000.0);
        }
    }
    let claim = |more: &str| {
        let text = format!(
            "{FILE}[[claims]]\nid = \"c\"\nsource = \"s\"\ntext = \"t\"\n\
             metric = \"offered_per_s\"\ntake = \"peak\"\n{more}at_least = 1\n\
             where = {{ policy = \"off\", processors = 2 }}\n\
             compared_with = {{ policy = \"off\", processors = 1 }}\n"
        );
        let experiment = Experiment::from_toml(&text, "x").unwrap();
        mean(&check(&experiment, &runs(&all), false)[0])
    };
    // 30 × 2 at the throughput's peak, and 10 × 1.
    assert!((claim("peak_of = \"requests_per_s\"\n") - 6.0).abs() < 1e-9);
    // 30 × 4 and 10 × 4: what is offered is highest at the highest load.
    assert!((claim("") - 3.0).abs() < 1e-9);
}

#[test]
fn a_claim_about_a_phase_compares_the_time_in_it() {
    let mut all = measured(0.0);
    for record in &mut all {
        let (full, idle) = match record.planned.levels["load"].as_str() {
            "1" => (2.0, 8.0),
            _ => (30.0, 30.0),
        };
        record.phases.insert("gate.handshake_full".into(), full);
        record.phases.insert("gate.idle".into(), idle);
    }
    let with = |metric: &str, more: &str| {
        let text = format!(
            "{FILE}[system]\ntrace = true\n[[claims]]\nid = \"c\"\nsource = \"s\"\ntext = \"t\"\n\
             metric = \"{metric}\"\n{more}at_least = 1\n"
        );
        let experiment = Experiment::from_toml(&text, "x").unwrap();
        check(&experiment, &runs(&all), false).remove(0)
    };
    let grown = "where = { load = \">= 2\" }\ncompared_with = { load = 1 }\n";
    for (metric, expected) in [
        ("gate.handshake_full", 15.0),
        ("gate.handshake", 15.0),
        ("gate.connection", 6.0),
        ("gate.handshake_share", 2.5),
    ] {
        assert!((mean(&with(metric, grown)) - expected).abs() < 1e-9, "{metric}");
    }
    let below = with("gate.no_request_share", "where = { load = 1 }\n");
    assert!((mean(&below) - 0.8).abs() < 1e-9);
    let never = with("request.site", grown);
    let none = "no value in 6 of 6 rounds; a verdict takes 5";
    assert_eq!(never.evidence["undecided_because"], json!(none));
}

#[test]
fn sides_that_ask_the_same_of_a_factor_are_compared_at_each_of_its_levels() {
    let claims = checked(
        "where = { policy = \"tide\", load = 4, processors = [1, 2] }\n\
         compared_with = { policy = \"tide\", load = 1, processors = [1, 2] }\n\
         compared_take = \"mean\"\nat_least = 0.99\nat_most = 1.01\neach = \"processors\"",
        0.0,
    );
    // Beside the mean of both, one processor would have 0.71 and two 1.29.
    let means: Vec<f64> = claims.iter().map(mean).collect();
    assert!(means.len() == 2 && means.iter().all(|it| (it - 1.0).abs() < 1e-9), "{means:?}");
}

#[test]
fn a_claim_is_checked_for_each_level_with_a_name_of_its_own() {
    let claims = checked(&format!("{COLLAPSE}at_most = 0.3\neach = \"processors\""), 0.0);
    let ids: Vec<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(ids, ["c-1", "c-2"]);
    assert_eq!(claims[1].evidence["processors"], json!("2"));
    assert_eq!(claims[1].evidence["values"], json!(12));
    assert_eq!(slug("TLS 1.2, RSA-2048"), "tls-1-2-rsa-2048");
}

#[test]
fn each_is_of_the_levels_that_the_claim_selects_one_by_one() {
    let claim = "where = { policy = \"off\", processors = [2], load = \">= 2\" }\n\
                 compared_with = { policy = \"off\", load = 1 }\ncompared_take = \"mean\"\n\
                 at_most = 0.3\neach = \"processors\"";
    let claims = checked(claim, 0.0);
    let ids: Vec<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(ids, ["c-2"]);
    // Compared with the peak of two processors: with those of one it would be 1.8 times as much.
    let alone = checked(&format!("{COLLAPSE}at_most = 0.3\neach = \"processors\""), 0.0);
    assert_eq!(claims[0].evidence["values"], alone[1].evidence["values"]);
    assert!((mean(&claims[0]) - mean(&alone[1])).abs() < 1e-9, "{:?}", claims[0].evidence);
}

#[test]
fn what_was_not_measured_or_once_is_undecided() {
    let none = check(&experiment(&format!("{COLLAPSE}at_most = 1")), &[], false);
    assert_eq!(none[0].verdict, Verdict::Undecided);
    assert_eq!(none[0].evidence["undecided_because"], json!("not measured"));
    let mut all = measured(0.0);
    all.retain(|record| record.planned.round == 0 && record.planned.levels["processors"] == "1");
    all.retain(|record| record.planned.levels["load"] != "4");
    let once = check(&experiment(&format!("{COLLAPSE}at_most = 1")), &runs(&all), false);
    assert_eq!(once[0].verdict, Verdict::Undecided);
    assert!((mean(&once[0]) - 0.2).abs() < 1e-9);
}

#[test]
fn a_run_is_compared_at_the_speed_that_the_machine_had() {
    let mut all = measured(0.0);
    for record in &mut all {
        record.pulse_cost_s = Some(if record.planned.round == 0 { 1.0 } else { 2.0 });
    }
    let runs = runs(&all);
    let at_speed = |round| {
        let run = runs.iter().find(|run| run.round == round && run.levels["load"] == "1");
        run.and_then(|run| run.figure("requests_per_s_at_speed")).unwrap()
    };
    assert!((at_speed(0) - at_speed(1)).abs() < 1e-9);
}

/// Five rounds of the study of messages, every second one on a machine of half the speed; figures
/// by configuration and metric.
fn messages(figures: &[(&str, &str, f64)]) -> Vec<Record> {
    let mut configurations: Vec<&str> = figures.iter().map(|it| it.0).collect();
    configurations.dedup();
    let of = |(round, configuration): (u32, &str)| {
        let times = if round % 2 == 0 { 1.0 } else { 2.0 };
        let here = figures.iter().filter(|it| it.0 == configuration);
        let here: Vec<_> = here.map(|(_, metric, value)| (*metric, times * value)).collect();
        record(
            &format!("{round}{configuration}"),
            round,
            &[("configuration", configuration)],
            &here,
        )
    };
    let turns = (0..5).flat_map(|round| configurations.iter().map(move |it| (round, *it)));
    turns.map(of).collect()
}

#[track_caller]
fn decided(figures: &[(&str, &str, f64)], id: &str, verdict: Verdict, expected: f64) {
    let study = crate::experiment::BuiltIn::named("messages").unwrap().experiment();
    let claims = check(&study, &runs(&messages(figures)), false);
    let claim = claims.iter().find(|claim| claim.id == id).unwrap();
    assert!((mean(claim) - expected).abs() < 1e-9, "{id}: {:?}", claim.evidence);
    assert_eq!(claim.verdict, verdict, "{id}: {:?}", claim.evidence);
}

#[test]
fn the_service_that_answers_more_requests_is_the_one_with_the_shorter_time() {
    let warm = "settled_two_clients_ms";
    let rates = |jsp, soap| [("jsp-clear", warm, jsp), ("soap-clear", warm, soap)];
    decided(&rates(0.1, 0.25), "jsp-answers-more", Verdict::Holds, 2.5);
    decided(&rates(0.25, 0.1), "jsp-answers-more", Verdict::DoesNotHold, 0.4);
    let first = |jsp, soap| {
        [("jsp-clear", "first_request_ms", jsp), ("soap-clear", "first_request_ms", soap)]
    };
    decided(&first(1.0, 4.0), "jsp-starts-sooner", Verdict::Holds, 4.0);
    decided(&first(1.0, 1.5), "jsp-starts-sooner", Verdict::DoesNotHold, 1.5);
}

#[test]
fn two_metrics_are_compared_in_the_same_run_and_across_levels() {
    let https = |new, keep| [("rust-https", "new_ms", new), ("rust-https", "keep_ms", keep)];
    decided(&https(0.7, 0.1), "handshake-is-the-price", Verdict::Holds, 7.0);
    decided(&https(0.15, 0.1), "handshake-is-the-price", Verdict::DoesNotHold, 1.5);
    let by_message = [("rust-https", "new_ms", 0.6), ("rust-xml", "keep_ms", 1.2)];
    decided(&by_message, "rust-xml-costs-less-than-handshakes", Verdict::DoesNotHold, 0.5);
}

#[test]
fn an_overhead_is_compared_with_another_one() {
    let of = |wss| {
        [("jsp-clear", 0.2), ("jsp-https", 0.6), ("soap-clear", 1.0), ("soap-wss", wss)]
            .map(|(configuration, ms)| (configuration, "settled_two_clients_ms", ms))
    };
    decided(&of(15.0), "message-costs-more", Verdict::Holds, 5.0);
    decided(&of(30.0), "message-costs-more", Verdict::DoesNotHold, 10.0);
    decided(&of(1.5), "message-costs-more", Verdict::DoesNotHold, 0.5);
    decided(&of(15.0), "message-overhead", Verdict::Holds, 15.0);
    decided(&of(15.0), "connection-overhead", Verdict::Holds, 3.0);
    let study = crate::experiment::BuiltIn::named("messages").unwrap().experiment();
    let without = check(&study, &runs(&messages(&of(15.0)[2..])), false);
    let claim = without.iter().find(|claim| claim.id == "message-costs-more").unwrap();
    assert_eq!(claim.verdict, Verdict::Undecided, "the other overhead was not measured");
    let early = of(15.0).map(|(configuration, _, ms)| (configuration, "early_ms", ms));
    decided(&early, "connection-overhead-early", Verdict::Holds, 3.0);
    let cold = check(&study, &runs(&messages(&early)), false);
    let claim = cold.iter().find(|claim| claim.id == "connection-overhead").unwrap();
    assert_eq!(claim.verdict, Verdict::Undecided, "no part was warm: {:?}", claim.evidence);
}

#[test]
fn a_level_has_the_ratios_to_its_reference_of_the_same_round() {
    let study = crate::experiment::BuiltIn::named("messages").unwrap().experiment();
    let records = messages(&[
        ("rust-clear", "two_clients_ms", 0.1),
        ("rust-jose", "two_clients_ms", 1.2),
        ("rust-jose", "keep_ms", 0.8),
        ("rust-jose", "keep_bytes_out", 1200.0),
        ("jsp-https", "two_clients_ms", 0.6),
    ]);
    let tables = crate::analysis::tables::tables(&study, &records, &runs(&records));
    let [jose, https] = &tables["ratios"][..] else { panic!("{:?}", tables["ratios"]) };
    assert_eq!(
        (&jose["configuration"], &jose["compared_with"]),
        (&json!("rust-jose"), &json!("rust-clear"))
    );
    let ratio = |end: &str| jose[&format!("two_clients_ms_by_reference{end}")].as_f64().unwrap();
    assert!((ratio("") - 12.0).abs() < 1e-9 && (ratio("_low_95") - 12.0).abs() < 1e-6);
    assert_eq!(https["two_clients_ms_by_reference"], Value::Null, "its reference is missing");
    assert_eq!(https["paper_two_clients_ms_by_reference"], json!(2.9));
    let keep = tables["series"].iter().find(|row| row["series"] == "keep").unwrap();
    assert_eq!(keep["configuration"], "rust-jose");
    assert!((keep["ms"].as_f64().unwrap() - 0.8 * 1.4).abs() < 1e-9, "the mean of the rounds");
}
