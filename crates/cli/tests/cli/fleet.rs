//! `tidegate fleet status` and the gates that it shows, as processes.

use crate::common::{Running, Text, private, tidegate, wait_until};
use tidegate_lab::services::Nats;

#[test]
fn the_status_of_a_fleet_shows_its_gates_and_tells_by_its_exit_code_whether_one_divides() {
    let Some(mut nats) = Nats::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    private(&secret, &"s".repeat(44));
    let secret = secret.display().to_string();
    let (any, url) = ("127.0.0.1:0", nats.url());
    let by_flags = ["fleet", "status", "--nats", &url, "--secret", &secret, "--json"];
    let empty = tidegate(&by_flags);
    assert_eq!(empty.status.code(), Some(1), "{}", empty.stderr_text());
    let gates = ["a", "b"].map(|name| {
        let file = folder.path().join(format!("{name}.toml"));
        let text = format!(
            "[upstream]\nurl = \"http://127.0.0.1:9\"\n[fleet]\nnats = {url:?}\nsecret_file = {secret:?}\ngate = {name:?}\n"
        );
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let args = ["gate", "--config", &file, "--listen", any, "--clear", any, "--admin", any];
        (Running::tidegate(&args), file)
    });
    wait_until("both gates have a share", || {
        let both = |gate: &Running| gate.status()["fleet"]["gates"].as_array().unwrap().len() == 2;
        gates.iter().all(|(gate, _)| both(gate))
    });
    // Where a gate stands still for half a second, the lease changes hands, and the next holder
    // hears of the others one by one.
    wait_until("the metrics show both gates", || gates[0].0.metric("tidegate_fleet_gates") == 2.0);
    wait_until("the status shows a gate that divides", || {
        let status = tidegate(&["fleet", "status", "--config", &gates[0].1]);
        let text = status.stdout_text();
        status.status.success()
            && text.contains("divides the service (epoch ")
            && text.contains("share %")
    });
    wait_until("the status shows both gates", || {
        let json = tidegate(&by_flags);
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap_or_default();
        json["gates"].as_array().is_some_and(|gates| gates.len() == 2)
    });
    nats.kill();
    let gone = tidegate(&by_flags);
    assert_eq!(gone.status.code(), Some(3), "{}", gone.stderr_text());
    assert!(gone.stderr_text().contains("NATS does not answer"), "{}", gone.stderr_text());
    let wrong = tidegate(&["fleet", "status", "--nats", "http://x", "--secret", &secret]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(wrong.stderr_text().contains("nats://host:port"), "{}", wrong.stderr_text());
    for (former, now) in [("--ca", "--nats-ca"), ("--name", "--fleet-name")] {
        let refused = tidegate(&[&by_flags[..], &[former, "x"]].concat());
        assert_eq!(refused.status.code(), Some(2));
        let told = format!("the flag is named {now} now");
        assert!(refused.stderr_text().contains(&told), "{}", refused.stderr_text());
    }
}
