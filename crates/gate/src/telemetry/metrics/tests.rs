//! The metrics text, read back by the rules of its format.

use super::*;
use crate::telemetry::durations::Durations;
use std::collections::BTreeMap;
use std::time::Duration;
use tidegate_control::{ByResource, Controller, Range, Reading, Settings, Usage};

/// A family as read back: its type, and its samples by series.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    samples: BTreeMap<String, f64>,
}

/// Reads a text in the exposition format; panics where it breaks a rule.
///
/// Source: Prometheus documentation, "Exposition formats", text format 0.0.4.
fn parse(text: &str) -> BTreeMap<String, Family> {
    assert!(text.ends_with('\n'), "the last line ends too");
    let mut families = BTreeMap::<String, Family>::new();
    let mut current = String::new();
    let mut helped = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty() && !families.contains_key(name), "{name} once");
            helped = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, helped, "HELP before TYPE");
            assert!(["counter", "gauge", "histogram"].contains(&kind));
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name} {kind}");
            current = name.to_owned();
            families.insert(current.clone(), Family { kind: kind.into(), ..Family::default() });
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let suffix = name.strip_prefix(&current).expect("samples follow their TYPE");
            let family = families.get_mut(&current).unwrap();
            let histogram = family.kind == "histogram";
            let suffixes: &[_] = if histogram { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(suffixes.contains(&suffix), "{line}");
            let fine = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(name.chars().all(fine), "{name}");
            let value = value.parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
            assert!(family.samples.insert(series.into(), value).is_none(), "{series} once");
        }
    }
    families
}

fn snapshot() -> Snapshot {
    let mut controller = Controller::new(Settings::default());
    let usage = Usage { capacity_cpus: 1.5, used_cpu_s: Some(0.05), idle: None };
    let reading = Reading {
        elapsed: Duration::from_millis(100),
        usage: ByResource::default()
            .with(ResourceName::Gate, usage)
            .with(ResourceName::Upstream, usage)
            .with(ResourceName::Host, Usage { capacity_cpus: 2.0, ..usage }),
        ..Reading::default()
    };
    controller.observe(Duration::from_secs(1), &reading);
    let mut durations = Durations::default();
    for seconds in [0.0005, 0.001, 0.2, 400.0] {
        durations.record(seconds);
    }
    Snapshot {
        version: "1.2.3",
        new: Verdicts { admitted: 5, held: 3, refused: 2 },
        returning: Verdicts { admitted: 9, held: 0, refused: 1 },
        full_handshakes: Handshakes { ok: 4, failed: 1 },
        resumed_handshakes: Handshakes { ok: 9, failed: 0 },
        sessions_active: 7,
        requests: vec![(200, 40), (502, 1)],
        class_requests: vec![("new", 25), ("returning", 16)],
        durations,
        work_cpu_seconds: vec![("arrival", 0.25), ("request_new", 1.5)],
        connections_ended: vec![("idle", 3)],
        tickets: vec![("good", 9), ("over_rate", 0)],
        session_cookies: vec![("good", 8)],
        not_tls: vec![("ssh", 2)],
        accept_errors: 6,
        upstream_retries: 8,
        control: Some(controller.status(Duration::from_secs(1))),
        ..Snapshot::default()
    }
}

#[test]
fn the_text_obeys_its_format_full_and_empty() {
    parse(&snapshot().prometheus());
    parse(&Snapshot::default().prometheus());
}

#[test]
fn the_documented_names_and_labels_are_there() {
    let families = parse(&snapshot().prometheus());
    let expected: &[(&str, &str, f64)] = &[
        ("tidegate_connections_total", r#"{class="new",verdict="admitted"}"#, 5.0),
        ("tidegate_connections_total", r#"{class="new",verdict="held"}"#, 3.0),
        ("tidegate_connections_total", r#"{class="new",verdict="refused"}"#, 2.0),
        ("tidegate_connections_total", r#"{class="returning",verdict="admitted"}"#, 9.0),
        ("tidegate_connections_total", r#"{class="returning",verdict="refused"}"#, 1.0),
        ("tidegate_handshakes_total", r#"{kind="full",result="ok"}"#, 4.0),
        ("tidegate_handshakes_total", r#"{kind="full",result="failed"}"#, 1.0),
        ("tidegate_handshakes_total", r#"{kind="resumed",result="ok"}"#, 9.0),
        ("tidegate_tickets_total", r#"{fate="good"}"#, 9.0),
        ("tidegate_session_cookies_total", r#"{fate="good"}"#, 8.0),
        ("tidegate_tickets_total", r#"{fate="over_rate"}"#, 0.0),
        ("tidegate_not_tls_total", r#"{looks="ssh"}"#, 2.0),
        ("tidegate_accept_errors_total", "", 6.0),
        ("tidegate_upstream_retries_total", "", 8.0),
        ("tidegate_sessions_active", "", 7.0),
        ("tidegate_requests_total", r#"{code="200"}"#, 40.0),
        ("tidegate_requests_total", r#"{code="502"}"#, 1.0),
        ("tidegate_class_requests_total", r#"{class="new"}"#, 25.0),
        ("tidegate_class_requests_total", r#"{class="returning"}"#, 16.0),
        ("tidegate_work_cpu_seconds_total", r#"{work="request_new"}"#, 1.5),
        ("tidegate_capacity_cpus", r#"{resource="gate"}"#, 1.5),
        ("tidegate_capacity_cpus", r#"{resource="upstream"}"#, 1.5),
        ("tidegate_capacity_cpus", r#"{resource="host"}"#, 2.0),
    ];
    for (family, labels, value) in expected {
        let series = format!("{family}{labels}");
        assert_eq!(families[*family].samples.get(&series), Some(value), "{series}");
    }
    for class in ["new", "returning"] {
        let cost = |resource: &str| {
            let series =
                format!(r#"tidegate_cost_seconds{{class="{class}",resource="{resource}"}}"#);
            families["tidegate_cost_seconds"].samples[&series]
        };
        let (gate, upstream, host) = (cost("gate"), cost("upstream"), cost("host"));
        assert!(gate > 0.0 && upstream > 0.0 && (host - gate - upstream).abs() < 1e-12);
    }
    assert!(
        families["tidegate_new_sessions_budget"].samples["tidegate_new_sessions_budget"] >= 0.0
    );
    assert_eq!(families["tidegate_request_duration_seconds"].kind, "histogram");
}

#[test]
fn buckets_add_up_to_the_count() {
    let families = parse(&snapshot().prometheus());
    let samples = &families["tidegate_request_duration_seconds"].samples;
    let name = "tidegate_request_duration_seconds";
    let bucket = |bound: &str| samples[&format!("{name}_bucket{{le=\"{bound}\"}}")];
    let counts = ["0.001", "0.1", "0.25", "300", "+Inf"].map(bucket);
    assert_eq!(counts, [2.0, 2.0, 3.0, 3.0, 4.0]);
    assert_eq!(samples[&format!("{name}_count")], 4.0);
    assert!((samples[&format!("{name}_sum")] - 400.2015).abs() < 1e-9);
}

#[test]
fn a_gate_without_a_limit_has_an_infinite_budget() {
    let settings = Settings { policy: tidegate_control::PolicyKind::Off, ..Settings::default() };
    let control = Some(Controller::new(settings).status(Duration::ZERO));
    let text = Snapshot { control, ..Snapshot::default() }.prometheus();
    assert!(text.contains("\ntidegate_new_sessions_budget +Inf\n"), "{text}");
}

#[test]
fn what_the_service_carries_has_a_range_once_it_is_known() {
    let text = snapshot().prometheus();
    assert!(text.contains("# TYPE tidegate_sustainable_sessions gauge\n#"), "no sample: {text}");
    let mut control = Controller::new(Settings::default()).status(Duration::ZERO);
    control.sustainable.sessions_per_s = Some(Range { value: 20.0, low: 18.5, high: None });
    let control = Some(control);
    let families = parse(&Snapshot { control, ..Snapshot::default() }.prometheus());
    let family = &families["tidegate_sustainable_sessions_per_second"].samples;
    for (bound, value) in [("low", 18.5), ("estimate", 20.0), ("high", f64::INFINITY)] {
        let series = format!("tidegate_sustainable_sessions_per_second{{bound=\"{bound}\"}}");
        assert_eq!(family[&series], value);
    }
}

#[test]
fn labels_are_escaped() {
    let mut text = Exposition::default();
    text.family("tidegate_x", "gauge", "X.");
    text.sample("", &[("a", "b\"c\\d\ne")], 1_u64);
    assert!(text.text.ends_with("tidegate_x{a=\"b\\\"c\\\\d\\ne\"} 1\n"), "{}", text.text);
}

#[test]
fn json_names_codes_and_reasons() {
    let json = serde_json::to_value(snapshot()).unwrap();
    assert_eq!(json["requests"]["200"], 40);
    assert_eq!(json["connections_ended"]["idle"], 3);
    assert_eq!(json["tickets"]["good"], 9);
    assert_eq!(json["class_requests"]["returning"], 16);
    assert_eq!(json["work_cpu_seconds"]["arrival"], 0.25);
    assert_eq!(json["control"]["policy"], "tide");
    assert!(json["upstream_note"].is_null());
    assert!(json["control"]["why"].as_str().is_some_and(|why| !why.is_empty()));
}
