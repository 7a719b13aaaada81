//! The text report: answers by class of status, and each page, within 80 columns.

use std::time::Duration;

use crate::common::{Manner, Seen, Server, plan};
use tidegate_load::{Scenario, Summary, report, run};

const SHOP: &str = r#"
name = "a shop with a rather long name for the first line of its report"
[session]
steps = ["Home", "Item", "Order"]
think = "0s"
[pages]
Home = { path = "/" }
Item = { path = "/item", allow = [404] }
Order = { path = "/order" }
Never = { path = "/never" }
"#;

fn shop(seen: &Seen) -> (&'static str, String, String) {
    let status = match seen.path.as_str() {
        "/" => "200 OK",
        "/item" => "404 Not Found",
        _ => "503 Service Unavailable",
    };
    (status, String::new(), String::new())
}

fn visit(manner: Manner) -> Summary {
    let server = Server::with_site(manner, shop);
    let scenario = Scenario::from_toml(SHOP, "shop.toml").unwrap();
    run(plan(scenario, &server, 200.0, 5), &mut |_| ()).unwrap()
}

/// Cells of the line that begins with a word.
fn cells<'t>(text: &'t str, first: &str) -> Vec<&'t str> {
    let row = |line: &&str| line.split_whitespace().next() == Some(first);
    text.lines()
        .find(row)
        .unwrap_or_else(|| panic!("no {first} in\n{text}"))
        .split_whitespace()
        .collect()
}

#[test]
fn each_page_and_each_class_of_status_has_its_figures() {
    let summary = visit(Manner::Answer { after: Duration::ZERO });
    let text = report(&summary);
    let answers = "\nanswers         2xx 5, 3xx 0, 4xx 5 (404 5), 5xx 5 (503 5)\nno answer       connection errors 0, timed out 0, open at the end 0\n";
    assert!(text.contains(answers), "{text}");
    assert_eq!(cells(&text, "page"), ["page", "requests", "failed", "p50", "p95", "ms"]);
    assert_eq!(cells(&text, "Home")[..3], ["Home", "5", "0"]);
    assert_eq!(cells(&text, "Item")[..3], ["Item", "5", "0"]);
    assert_eq!(cells(&text, "Order")[..3], ["Order", "5", "5"]);
    assert!(!text.contains("Never"), "{text}");
    // Five answers are too few for a 95th percentile.
    let p95: f64 = cells(&text, "Item")[4].strip_prefix('~').unwrap().parse().unwrap();
    // Rounded to two decimals, or to three digits.
    let exact = summary.pages["Item"].response.p95_ms;
    assert!((p95 - exact).abs() < 0.006 * exact.max(1.0), "{text}");
    let line = cells(&text, "response");
    assert!(line.contains(&"p95") && line[6].starts_with('~'), "{text}");
    assert!(text.contains("\n~               one of the few longest times"), "{text}");
    assert_eq!(summary.response_few, ["p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms"]);
}

#[test]
fn requests_without_an_answer_are_connection_errors() {
    let summary = visit(Manner::Reset);
    assert_eq!((summary.totals.connection_errors, summary.totals.refused), (5, 5));
    let text = report(&summary);
    assert!(
        text.contains(
            "5xx 0\nno answer       connection errors 5, timed out 0, open at the end 0\n"
        ),
        "{text}"
    );
    assert_eq!(cells(&text, "Home"), ["Home", "5", "5", "-", "-"]);
}

#[test]
fn no_line_of_a_report_is_wider_than_a_terminal() {
    let text = report(&visit(Manner::Answer { after: Duration::ZERO }));
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}
