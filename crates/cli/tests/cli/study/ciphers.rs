//! `tidegate study ciphers --target`: a gate with known keys and groups, and where it refuses.

use std::path::Path;

use serde_json::Value;

use crate::common::{Running, Text, gate, tidegate};
use crate::study::known_site::KnownSite;

/// Four requests over one connection.
const CUSTOMERS: &str = r#"
[session]
steps = ["Home", "Item", "Item", "Home"]
think = "1s"
[pages]
Home = { path = "/" }
Item = { path = "/item" }
"#;

/// A gate with two keys and two groups before a site.
fn before(url: &str, folder: &Path) -> Running {
    let config = folder.join("gate.toml");
    let text = "[tls]\nself_signed = [\"ecdsa-p256\", \"rsa-2048\"]\n\
                groups = [\"X25519MLKEM768\", \"x25519\"]\n[admission]\npolicy = \"off\"\n";
    std::fs::write(&config, text).unwrap();
    gate(url, &["--config", config.to_str().unwrap()])
}

#[test]
fn what_a_site_offers_is_measured_and_a_choice_is_told_with_its_costs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (_site, url) = KnownSite::pool(8, 1).process();
    let gate = before(&url, folder.path());
    std::fs::write(path("b2b.toml"), CUSTOMERS).unwrap();
    let output = tidegate(&[
        "study",
        "ciphers",
        "--target",
        gate.address("gate"),
        "--scenario",
        &path("b2b.toml"),
        "--gate-admin",
        gate.address("admin"),
        "--insecure",
        "--rounds",
        "2",
        "--step",
        "300ms",
        "--out",
        &path("out"),
    ]);
    let text = format!("{}{}", output.stdout_text(), output.stderr_text());
    assert_eq!(output.status.code(), Some(0), "{text}");
    println!("{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Choose TLS 1.3 with "), "{text}");
    assert!(words.contains("a session in place of one for each interaction"), "{text}");
    let summary: Value =
        serde_json::from_slice(&std::fs::read(path("out/summary.json")).unwrap()).unwrap();
    let table = |name: &str| summary["tables"][name].as_array().unwrap().clone();
    assert_eq!(table("result")[0]["own_use"], "kept");
    assert_eq!(table("result")[0]["cost_is_cpu_time"], true, "the gate is seen");
    let factors: Vec<Value> = table("advice").iter().map(|it| it["factor"].clone()).collect();
    assert_eq!(factors, ["protocol", "cipher", "key", "group"]);
    let sessions = table("sessions");
    let of = |kind: &str, mode: &str, field: &str| {
        let row = sessions
            .iter()
            .find(|it| it["mode"] == mode && it["kind"].as_str().unwrap().starts_with(kind));
        row.unwrap_or_else(|| panic!("{kind} {mode} in {text}"))[field].as_f64().unwrap()
    };
    assert!(words.contains("today: TLS 1.3, AES-128-GCM, ECDSA P-256, x25519"), "{text}");
    let today = "today";
    let near = |a: f64, b: f64| (a - b).abs() < 0.3;
    assert!(near(of(today, "full", "full"), 4.0) && near(of(today, "kept", "full"), 1.0), "{text}");
    assert!(near(of(today, "resumed", "resumed"), 3.0), "{text}");
    assert!(near(of(today, "open", "full"), 0.0) && near(of(today, "returning", "full"), 0.0));
    // Opening a connection, its handshake, and the request: with TLS 1.2 a round trip more.
    // On a busy machine two flights may arrive as one.
    let about = |a: f64, b: f64| (a - b).abs() < 1.0;
    assert!(about(of(today, "full", "round_trips"), 12.0), "{text}");
    assert!(about(of("TLS 1.2", "full", "round_trips"), 16.0), "{text}");
    // ML-KEM-768 has 1184 bytes on the way there and 1088 back, four times.
    let more = of("X25519MLKEM768", "full", "bytes") - of(today, "full", "bytes");
    assert!((4.0 * 2272.0 - more).abs() < 0.1 * more, "{more}: {text}");
    let connections = table("connections");
    let rsa = connections.iter().find(|it| it["kind"] == "RSA-2048").unwrap();
    assert!(rsa["gate_full_ms"].as_f64().unwrap() > 0.0, "{rsa}");
    assert_eq!(rsa["certificates"], 1);
    let lacking = table("not_offered");
    assert!(lacking.iter().any(|it| it["level"] == "MLKEM1024"), "{lacking:?}");
    assert!(lacking.iter().all(|it| it["level"] != "RSA"), "{lacking:?}");
    for file in ["report.html", "results.parquet", "operations/001.json"] {
        assert!(Path::new(&path("out")).join(file).metadata().unwrap().len() > 100, "{file}");
    }
}

#[test]
fn what_cannot_be_measured_is_told_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").to_str().unwrap().to_owned();
    let scenario = folder.path().join("b2b.toml");
    std::fs::write(&scenario, CUSTOMERS).unwrap();
    let scenario = scenario.to_str().unwrap();
    let refused = |more: &[&str]| {
        let output = tidegate(&[&["study"], more, &["--out", &out]].concat());
        (output.status.code(), output.stderr_text())
    };
    for (args, told) in [
        (
            &["ciphers", "--target", "http://127.0.0.1:1", "--scenario", scenario][..],
            "has no TLS; give the https:// address",
        ),
        (
            &["ciphers", "--target", "127.0.0.1:1", "--scenario", scenario],
            "write https://127.0.0.1:1",
        ),
        (
            &["ciphers", "--target", "https://192.0.2.1", "--scenario", scenario],
            "add --yes-this-is-mine",
        ),
        (
            &["security", "--target", "https://127.0.0.1:1", "--scenario", scenario],
            "`tidegate study ciphers` measures a site of yours",
        ),
        (&["ciphers", "--target", "https://127.0.0.1:1"], "--scenario"),
        (&["ciphers", "--gate-admin", "http://127.0.0.1:1"], "--target"),
    ] {
        let (code, text) = refused(args);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(told), "{text}");
    }
}
