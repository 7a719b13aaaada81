//! Pages of results that nobody ran: what they say, and what they must not do.

use std::time::Duration;

use serde_json::{Value, json};
use tidegate_stats::Histogram;

use super::headline::{Headline, Level};
use tidegate_load::compare::SavedResult;

fn histogram(ms: &[u64]) -> Histogram {
    let mut all = Histogram::new();
    ms.iter().for_each(|ms| all.record(Duration::from_millis(*ms)));
    all
}

fn percentiles(ms: &[u64]) -> Value {
    serde_json::to_value(histogram(ms).percentiles()).unwrap()
}

/// A second with these response times.
fn second(at_s: f64, ms: &[u64]) -> Value {
    json!({
        "at_s": at_s, "length_s": 1.0, "measured": at_s > 2.0, "offered_per_s": 10.0,
        "admitted_per_s": 10.0, "refused_per_s": 1.0, "completed_per_s": 9.0,
        "abandoned_per_s": 0.0, "failed_per_s": 0.0, "requests_per_s": ms.len(),
        "full_handshakes_per_s": 10.0, "resumed_handshakes_per_s": 1.0, "in_flight": 12,
        "response": percentiles(ms), "driver_cpu_share": 0.25, "missed_starts": 0,
    })
}

fn stretch(ms: &[u64]) -> Value {
    json!({
        "length_s": 1.0, "offered": 10, "completed": 9, "refused": 1, "abandoned": 0, "failed": 0,
        "admitted_ended": 9, "requests_ok": ms.len(), "requests_failed": 1,
        "full_handshakes": 10, "resumed_handshakes": 1, "response": histogram(ms).encode(),
    })
}

const TIMES: &[u64] = &[4, 5, 6, 7, 8, 9, 10, 11, 12, 40];

/// A run of three seconds after two of warm-up; its fourth second has no response.
fn result() -> Value {
    let times = percentiles(TIMES);
    let group = |name: &str| {
        json!({
            "name": name, "offered": 15, "completed": 13, "refused": 1, "abandoned": 0,
            "failed": 1, "requests_ok": 10, "requests_failed": 2, "response": times,
        })
    };
    let driver = json!({
        "threads": 2, "cpu_share": 0.25, "cpu_s": 1.5, "folding_cpu_s": 0.1, "start_delay": times,
        "loop_delay": times, "stalled_s": 0.0, "stalled_share": 0.0, "missed_share": 0.0,
        "events_lost": 0, "saturated_because": [],
    });
    let mut one = driver.clone();
    one["part"] = json!("1/2");
    one["machine"] = json!({ "cpu": "some", "cpus": 2, "kernel": "6.1" });
    let mut result = json!({
        "format": 1, "scenario": "shop", "target": "https://127.0.0.1:8443", "arrivals": "partly open: 10/s",
        "seed": 7, "version": "0.1.0", "command": "tidegate load shop.toml",
        "machine": { "cpu": "some", "cpus": 2, "kernel": "6.1" },
        "started_at_unix_ms": 1_700_000_000_000_u64, "warm_up_s": 2.0, "measured_s": 3.0,
        "interrupted": false, "http": "1.1", "time_scale": 1.0, "patience_scale": 1.0,
        "patience_ms": 10_000.0,
        "session_length": { "mean_requests": 8.5, "median_requests": 8, "p99_requests": 20, "back_share": 0.1 },
        "warnings": ["sessions are longer than the run"],
        "offered_per_s": 10.0, "completed_per_s": 8.7, "requests_per_s": 3.3,
        "full_share_asked": 0.9, "response": times, "response_uncorrected": times,
        "phases": {
            "connect": times, "full_handshake": times, "resumed_handshake": times,
            "first_byte": times, "last_byte": times,
        },
        "tls": [{ "version": "1.3", "suite": "TLS_AES_128_GCM_SHA256", "group": "x25519", "full": 30, "resumed": 3 }],
        "pages": { "Home": { "ok": 10, "failed": 3, "response": times } },
        "classes": [group("people"), group("bots")],
        "models": [group("closed: 3 customers"), group("open: 5/s")],
        "unmet": [{ "page": "Home", "kind": "check", "expected": "contains \"a\"", "example": "<p>b", "count": 2 }],
        "driver": driver, "drivers": [one],
        "thresholds": [
            { "metric": "response_p95_ms", "value": 40.0, "min": null, "max": 50.0, "met": true },
            { "metric": "page.Home.requests_failed_ratio", "value": 0.23, "min": null, "max": 0.01, "met": false },
        ],
        "raw_error": null,
    });
    result["totals"] = totals();
    result["responses_by_status"] = json!({ "200": 10, "405": 2 });
    result["failures"] = json!([
        { "page": "Login", "cause": "status_405", "count": 2, "sample": {
            "request": "POST /login HTTP/1.1\nCookie: sid=…", "response": "HTTP/1.1 405 No",
            "body": "<p>only GET" } },
        { "page": "Home", "asset": "/a.css", "cause": "tls", "count": 1, "sample": {
            "request": "GET /a.css HTTP/1.1", "error": "invalid peer certificate" } },
    ]);
    result["series"] = [TIMES, TIMES, TIMES, &[], TIMES]
        .into_iter()
        .enumerate()
        .map(|(before, ms)| second(before as f64 + 1.0, ms))
        .collect();
    result["stretches"] = json!([stretch(TIMES), stretch(&[]), stretch(TIMES)]);
    result
}

fn totals() -> Value {
    json!({
            "offered": 30, "started": 30, "admitted": 27, "refused": 3, "refused_by_kind": { "alert": 3 },
            "failed": 1, "failed_by_kind": { "status_5xx": 1 }, "completed": 26,
            "requests_ok": 10, "requests_failed": 3, "connection_errors": 1,
            "responses_by_class": { "2xx": 10, "5xx": 1 }, "received_bytes": 123_456,
            "full_attempted": 30, "full_ok": 30, "resumed_attempted": 3, "resumed_ok": 3,
            "starts": 40, "missed_starts": 0,
    })
}

fn parse(value: &Value) -> Result<SavedResult, String> {
    SavedResult::parse("x.json", value.to_string().as_bytes())
}

fn read(value: Value) -> SavedResult {
    parse(&value).unwrap_or_else(|why| panic!("{why}"))
}

fn page(result: &SavedResult) -> String {
    let runs: Vec<_> = result.runs.iter().map(|run| &run.summary).collect();
    super::page(&runs, &result.figures)
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut value = result();
    change(&mut value);
    value
}

fn refusal(value: Value) -> String {
    parse(&value).expect_err("it is refused")
}

#[test]
fn a_page_shows_every_part_of_a_result() {
    let page = page(&read(result()));
    for text in [
        "1 of 2 thresholds missed",
        "<td>405</td><td>2</td>",
        "<td>Login</td><td class=\"text\">status 405</td><td>2</td><td>66.7\u{a0}%</td>",
        "Home, asset /a.css: TLS failed, the first of them",
        "<pre>POST /login HTTP/1.1\nCookie: sid=…</pre><pre>HTTP/1.1 405 No\n\n&lt;p&gt;only GET</pre>",
        "<pre>invalid peer certificate</pre>",
        "Sessions are longer than the run",
        "page.Home.requests_failed_ratio",
        "23.0\u{a0}%",
        "at most 1\u{a0}%",
        "warm-up",
        "TLS alert",
        "status 500 to 599",
        "contains &quot;a&quot;",
        "bots",
        "closed: 3 customers",
        "p99.9",
        "tidegate load shop.toml",
        "14 November 2023, 22:13:20 UTC",
        "tidegate 0.1.0",
        "prefers-color-scheme: dark",
        "@media print",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for line in [
        "offered",
        "completed",
        "refused",
        "ok",
        "failed",
        "p50",
        "p95",
        "p99",
        "full",
        "resumed",
        "cpu",
    ] {
        assert!(page.contains(&format!("class=\"line {line}\"")), "{line}");
    }
}

#[test]
fn a_page_refers_to_no_other_file_and_runs_nothing() {
    let page = page(&read(result()));
    for outside in ["<script", "<link", "<img", "<iframe", "@import", "url(", "src=", "href="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_second_without_a_response_is_a_gap_in_its_percentiles() {
    let page = page(&read(result()));
    let wide = page.split("<div class=\"wide\">");
    let chart = wide.filter_map(|part| part.split("</svg>").next());
    let chart = chart.filter(|chart| chart.contains("class=\"line p95\"")).collect::<Vec<_>>();
    // Three seconds in a row, and one beyond the gap.
    assert_eq!(chart[0].matches("<polyline class=\"line p95\"").count(), 1, "{}", chart[0]);
    assert_eq!(chart[0].matches("<circle class=\"mark p95\"").count(), 1, "{}", chart[0]);
}

/// Puts a text into every string and key that is not of this program.
fn infect(value: &mut Value, text: &str) {
    match value {
        Value::String(old) if Histogram::decode(old).is_none() => *old = text.to_owned(),
        Value::Array(all) => all.iter_mut().for_each(|one| infect(one, text)),
        Value::Object(all) => {
            // The number of a driver is read as two numbers.
            for (key, one) in all.iter_mut().filter(|(key, _)| *key != "part") {
                let counts = ["pages", "refused_by_kind", "failed_by_kind", "responses_by_class"];
                if counts.contains(&key.as_str()) {
                    let old = std::mem::take(one.as_object_mut().unwrap());
                    one[text] = old.into_iter().next().unwrap().1;
                }
                infect(one, text);
            }
        }
        _ => {}
    }
}

#[test]
fn no_text_of_a_scenario_target_or_server_becomes_markup() {
    let hostile = "\"'><img src=x onerror=alert(1)></td></style></title><script>alert(1)</script>";
    let mut single = result();
    infect(&mut single, hostile);
    let repeated = json!({ "format": 1, "runs": [single.clone(), single.clone()], "figures": [
        { "figure": hostile, "unit": "ms", "values": [1.0, 2.0], "mean": { "value": 1.5, "low": 1.0, "high": 2.0 } },
    ] });
    for value in [single, repeated] {
        let page = page(&read(value));
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
        for markup in ["<img", "<script", "</td></style>"] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert_eq!(page.matches("</style>").count(), 1);
        assert_eq!(
            page.matches("</title></head>").count() + page.matches("</title><style>").count(),
            1
        );
    }
}

#[test]
fn the_verdict_is_that_of_the_exit_code() {
    let level = |value: Value| Headline::of(&read(value).runs[0].summary).level;
    assert_eq!(level(result()), Level::Missed);
    assert_eq!(level(with(|v| v["thresholds"][1]["met"] = true.into())), Level::Passed);
    assert_eq!(level(with(|v| v["thresholds"] = json!([]))), Level::Measured);
    let failed: [fn(&mut Value); 4] = [
        |v| v["driver"]["saturated_because"] = json!(["a thread used 99 % of its processor"]),
        |v| v["incomplete"] = json!(["driver 2 was lost"]),
        |v| v["raw_error"] = json!("raw.jsonl: no space"),
        |v| v["totals"]["requests_ok"] = 0.into(),
    ];
    for change in failed {
        assert_eq!(level(with(change)), Level::Failed);
    }
    let aborted = with(|v| {
        v["thresholds"] = json!([]);
        v["aborted"] = json!({ "metric": "refused_ratio", "value": 0.5, "min": null, "max": 0.1, "met": false, "at_s": 12.0 });
    });
    assert_eq!(level(aborted), Level::Missed);
}

#[test]
fn several_runs_have_their_intervals_and_a_section_each() {
    let runs = [result(), with(|v| v["seed"] = 8.into())];
    let value = json!({ "format": 1, "runs": runs, "figures": [
        { "figure": "response_p95_ms", "unit": "ms", "values": [40.0, 50.0], "mean": { "value": 45.0, "low": 20.0, "high": 70.0 } },
        { "figure": "refused_ratio", "unit": "share", "values": [0.1, null], "mean": null },
    ] });
    let page = page(&read(value));
    for text in
        ["In all 2 runs: 1 of 2 thresholds missed", "20.0\u{a0}ms to 70.0\u{a0}ms", "Run 2, seed 8"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(page.matches("<details>").count(), 2);
}

#[test]
fn what_is_no_result_of_this_version_is_refused_with_the_remedy() {
    let other = refusal(with(|v| v["format"] = 2.into()));
    assert!(other.contains("has format 2, and this tidegate reads format 1"), "{other}");
    assert!(refusal(with(|v| v["format"] = Value::Null)).contains("says no format"));
    assert!(refusal(json!({})).contains("says no format"));
    assert!(refusal(json!([1])).contains("says no format"));
    assert!(refusal(json!({ "format": 1 })).contains("missing field"));
    assert!(refusal(json!({ "format": 1, "runs": [], "figures": [] })).contains("holds no run"));
    assert!(refusal(json!({ "format": 1, "rows": [] })).contains("is a comparison"));
}

#[test]
fn a_damaged_result_is_refused_and_not_drawn() {
    for (change, why) in [
        ((|v| v["series"][1]["at_s"] = 0.5.into()) as fn(&mut Value), "series[1].at_s = 0.5"),
        (|v| v["series"][1]["at_s"] = 1e300.into(), "series[1].at_s"),
        (|v| v["series"][0]["length_s"] = (-1.0).into(), "series[0]"),
        (|v| v["warm_up_s"] = (-5.0).into(), "a time is -5 s"),
        (|v| v["stretches"][0]["response"] = "AAAA".into(), "not a histogram"),
        (|v| v["stretches"] = json!(vec![stretch(&[]); 33]), "stretches: 33, at most 32"),
        (|v| v["totals"]["offered"] = (-1).into(), "invalid value"),
    ] {
        let text = refusal(with(change));
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn a_run_that_measured_nothing_has_a_page() {
    let empty = with(|v| {
        (v["series"], v["stretches"], v["pages"]) = (json!([]), json!([]), json!({}));
        v["totals"] = json!({});
        v["response"] = percentiles(&[]);
        (v["warm_up_s"], v["measured_s"]) = (0.0.into(), 0.0.into());
    });
    let page = page(&read(empty));
    assert!(page.contains("No request succeeded") && page.ends_with("</html>"));
    assert!(!page.contains("NaN") && !page.contains(">inf"));
}

#[test]
fn extreme_numbers_are_drawn_within_the_frame() {
    let extreme = with(|v| {
        for second in v["series"].as_array_mut().unwrap() {
            second["offered_per_s"] = 1e300.into();
            second["response"]["p99_ms"] = 1e300.into();
            second["missed_starts"] = u64::MAX.into();
        }
        for name in ["completed", "failed", "requests_ok", "requests_failed"] {
            v["totals"][name] = u64::MAX.into();
        }
    });
    assert!(page(&read(extreme)).ends_with("</html>"));
}

#[test]
fn the_page_of_a_day_is_no_larger_than_that_of_some_minutes() {
    let of = |seconds: u32| {
        let series = (1..=seconds).map(|n| second(f64::from(n), TIMES)).collect::<Vec<_>>();
        page(&read(with(|v| v["series"] = series.into()))).len()
    };
    let (minutes, day) = (of(240), of(86_400));
    assert!(day < 2 * minutes && day < 1_000_000, "{minutes} and {day}");
}
