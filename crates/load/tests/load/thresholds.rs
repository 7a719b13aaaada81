//! Thresholds of pages and classes, and those that end a run.

use std::time::Duration;

use crate::common::{Manner, Server, plan};
use tidegate_load::{Plan, Scenario, report, run};

const SHOP: &str = r#"
[session]
steps = ["Home", "Item"]
think = "0s"
patience = "60s"
[pages]
Home = { path = "/" }
Item = { path = "/item" }
[[classes]]
name = "people"
share = 1
[[classes]]
name = "bots"
share = 1
steps = ["Item"]
[thresholds]
"#;

/// Customers of a server that answers after 20 ms, for ten minutes or as many sessions.
fn visits(server: &Server, thresholds: &str, sessions: u64) -> Plan {
    let scenario = Scenario::from_toml(&format!("{SHOP}{thresholds}"), "shop.toml").unwrap();
    let mut plan = plan(scenario, server, 50.0, sessions);
    plan.measure = Duration::from_secs(600);
    plan
}

fn slow() -> Server {
    Server::start(Manner::Answer { after: Duration::from_millis(20) })
}

#[test]
fn each_page_and_class_meets_or_misses_its_own_threshold() {
    let thresholds = "page.Home.response_p95_ms = { max = 5 }\n\
                      page.Item.response_p95_ms = { min = 5 }\n\
                      page.Item.requests_failed_ratio = { max = 0 }\n\
                      class.bots.completed_ratio = { min = 1 }\n\
                      class.people.response_p50_ms = { max = 5 }\n";
    let summary = run(visits(&slow(), thresholds, 20), &mut |_| ()).unwrap();
    let met: Vec<bool> = summary.thresholds.iter().map(|verdict| verdict.met).collect();
    assert_eq!(met, [false, true, true, true, false], "{:#?}", summary.thresholds);
    assert_eq!((summary.exit_code(), summary.aborted.is_none()), (1, true));
    let text = report(&summary);
    assert!(text.contains("\nMISSED page.Home.response_p95_ms = "), "{text}");
    assert!(text.contains("\nok     class.bots.completed_ratio = 1.000 (at least 1)\n"), "{text}");
}

#[test]
fn a_threshold_that_is_missed_ends_the_run_after_its_grace() {
    let limit =
        "page.Item.response_p50_ms = { max = 5, abort_on_fail = true, abort_after = \"1s\" }";
    let summary = run(visits(&slow(), limit, u64::MAX), &mut |_| ()).unwrap();
    let aborted = summary.aborted.as_ref().expect("the run was aborted");
    assert_eq!(aborted.verdict.metric, "page.Item.response_p50_ms");
    assert!(aborted.verdict.value.unwrap() >= 20.0 && aborted.at_s >= 1.0, "{aborted:?}");
    assert!(summary.interrupted && summary.measured_s < 600.0, "{}", summary.measured_s);
    assert_eq!(summary.exit_code(), 1);
    let text = report(&summary);
    assert!(text.starts_with("ABORTED: page.Item.response_p50_ms = "), "{text}");
    let line = format!("(at most 5), {:.1} s after the start\n", aborted.at_s);
    assert!(text.contains(&line), "{text}");
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["aborted"]["metric"], "page.Item.response_p50_ms");
    assert_eq!(json["thresholds"][0]["met"], false);
}

#[test]
fn a_run_within_its_grace_or_its_limits_goes_on_to_its_end() {
    for (limit, code) in [
        ("response_p50_ms = { max = 5, abort_on_fail = true, abort_after = \"1h\" }", 1),
        ("response_p50_ms = { min = 5, abort_on_fail = true, abort_after = \"0s\" }", 0),
    ] {
        let summary = run(visits(&slow(), limit, 20), &mut |_| ()).unwrap();
        assert_eq!((summary.totals.completed, summary.exit_code()), (20, code), "{limit}");
        assert!(summary.aborted.is_none() && !summary.interrupted);
    }
}
