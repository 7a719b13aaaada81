//! `tidegate tca live`: a site whose costs are known, behind the gate, under its customers' load.

use std::time::Duration;

use serde_json::Value;

use super::known_costs::site;
use crate::common::{Running, Text, gate, tidegate};
use crate::study::known_site::Kind;

/// Customers with one request each, so that the mix is another one in each window.
const CUSTOMERS: &str = r#"
[session]
start = "Home"
[[classes]]
name = "home"
share = 20
steps = ["Home"]
[[classes]]
name = "item"
share = 10
steps = ["Item"]
[[classes]]
name = "order"
share = 4
steps = ["Order"]
[pages]
Home = { path = "/" }
Item = { path = "/item" }
Order = { path = "/order", method = "POST" }
"#;

fn before(url: &str, folder: &std::path::Path) -> Running {
    let config = folder.join("gate.toml");
    let route = |path: &str| format!("[[routes]]\npath = \"{path}\"\nurl = \"{url}\"\n");
    let routes = route("/item") + &route("/order");
    std::fs::write(&config, routes + "[admission]\npolicy = \"off\"\n").unwrap();
    gate(url, &["--config", config.to_str().unwrap()])
}

#[test]
fn what_requests_cost_is_told_from_the_readings_of_the_gate() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (_site, url) = site(Kind::Computes).process();
    let gate = before(&url, folder.path());
    let scenario = path("customers.toml");
    std::fs::write(&scenario, CUSTOMERS).unwrap();
    let target = gate.address("gate").to_owned();
    let load = std::thread::spawn(move || {
        let rate = ["--rate", "34", "--warm-up", "0s", "--duration", "28s"];
        let fixed = ["load", &scenario, "--target", &target, "--insecure"];
        tidegate(&[&fixed[..], &rate].concat())
    });
    std::thread::sleep(Duration::from_secs(1));
    let (csv, json) = (path("windows.csv"), path("costs.json"));
    let admin = gate.address("admin");
    let output = tidegate(&[
        "tca",
        "live",
        "--gate-admin",
        admin,
        "--for",
        "24s",
        "--window",
        "2s",
        "--csv",
        &csv,
        "--json",
        &json,
    ]);
    let load = load.join().unwrap();
    // On a busy machine the driver may be saturated; the requests that it made count all the same.
    assert_ne!(load.status.code(), Some(2), "{}", load.stderr_text());
    let text = output.stdout_text();
    assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
    println!("{text}");
    let found: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let operations = found["site"]["operations"].as_array().unwrap();
    let (mut told_s, mut known_s) = (0.0, 0.0);
    for (name, ms) in [("other requests", 3.0), ("/item", 6.0), ("/order", 15.0)] {
        let one = operations.iter().find(|it| it["operation"] == name).unwrap();
        let told = |part: &str| 1e3 * one["cost"][part].as_f64().unwrap();
        // A busy machine makes costs rise, and half a minute leaves them uncertain.
        assert!(told("low") < 1.5 * ms && told("high") > ms / 1.5, "{name}: {one}");
        let count = found["gate"].as_array().unwrap().iter().find(|it| it["operation"] == name);
        let count = count.unwrap()["count"].as_f64().unwrap();
        (told_s, known_s) = (told_s + 1e-3 * told("value") * count, known_s + 1e-3 * ms * count);
        let own = found["gate"].as_array().unwrap().iter().find(|it| it["operation"] == name);
        let own = own.unwrap()["gate_cpu_s"].as_f64().unwrap();
        assert!(own > 0.0 && own < 0.01, "{name}: {own} s\n{text}");
    }
    let idle_s = 24.0 * found["site"]["idle"]["value"].as_f64().unwrap();
    let all = (told_s + idle_s) / known_s;
    assert!((0.6..1.8).contains(&all), "all of them together: {all} of what is known\n{text}");
    assert!(text.contains("full handshake"), "{text}");
    // The windows give the same costs again.
    let again = tidegate(&["tca", "--data", &csv]);
    assert_eq!(again.status.code(), Some(0), "{}", again.stderr_text());
    let table = |text: &str| text.split("What an operation costs").nth(1).unwrap().to_owned();
    let first = |text: &str| table(text).lines().take(5).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(first(&again.stdout_text()), first(&text));
}

#[test]
fn a_measurement_that_cannot_begin_says_what_to_give() {
    let run = |args: &[&str]| {
        let output = tidegate(&[&["tca", "live"], args].concat());
        (output.status.code(), output.stderr_text())
    };
    let (code, error) = run(&["--gate-admin", "http://127.0.0.1:1"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("/status cannot be read") && error.contains("admin.address"), "{error}");
    let (code, error) = run(&["--gate-admin", "http://127.0.0.1:1", "--window", "100ms"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("must be at least 1s"), "{error}");
}
