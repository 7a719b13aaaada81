//! The gate behind nginx in an overload: virtual customers of `tidegate load` keep the cookie, and
//! nobody inside is refused.

use std::process::Command;

use serde_json::Value;

use crate::common::upstream::Upstream;
use crate::common::{Running, Text, tidegate};

const SCENARIO: &str = r#"
[session]
steps = ["Home", "Search", "Basket", "Order"]
think = "100ms"
[run]
warm_up = "0s"
duration = "6s"
[arrivals]
rate = 15
process = "even"
[pages]
Home = { path = "/" }
Search = { path = "/search" }
Basket = { path = "/basket" }
Order = { path = "/order" }
"#;

#[test]
fn virtual_customers_who_are_admitted_are_never_refused_behind_nginx() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name).display().to_string();
    let upstream = Upstream::start();
    let gate = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\n\
         [upstream]\nurl = \"{}\"\nprocesses = \"none\"\nforwarded = \"append\"\n\
         [admission]\npolicy = \"static\"\nrate = 5.0\nhold_time = \"200ms\"\nrefuse = \"reset\"\n\
         [admin]\naddress = \"127.0.0.1:0\"\n",
        upstream.url
    );
    std::fs::write(path("gate.toml"), gate).unwrap();
    let gate = Running::tidegate(&["gate", "--config", &path("gate.toml")]);
    let clear = gate.address("clear").trim_start_matches("http://");
    let free = tidegate_lab::free_address().unwrap();
    let nginx = format!(
        "daemon off; master_process off; pid pid; error_log stderr warn;\n\
         events {{ worker_connections 512; }}\n\
         http {{ access_log off; client_body_temp_path a; proxy_temp_path b;\n\
         fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;\n\
         upstream gate {{ server {clear}; keepalive 4; }}\n\
         server {{ listen {free}; location / {{ proxy_pass http://gate; proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\"; proxy_set_header Host $host;\n\
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }} }} }}\n"
    );
    std::fs::write(path("nginx.conf"), nginx).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder.path()).args(["-c", &path("nginx.conf"), "-e", "stderr"]);
    let _nginx = Running::silent(&mut command, &free.to_string());

    std::fs::write(path("shop.toml"), SCENARIO).unwrap();
    let target = format!("http://{free}");
    let (file, json) = (path("shop.toml"), path("summary.json"));
    let output = tidegate(&["load", &file, "--target", &target, "--json", &json, "--plain"]);
    let said = format!("{}{}", output.stdout_text(), output.stderr_text());
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let page = |name: &str, what: &str| summary["pages"][name][what].as_u64().unwrap();
    assert!(page("Home", "failed") >= 10, "it is an overload: {said}");
    assert!(page("Home", "ok") >= 10, "some are admitted: {said}");
    for inside in ["Search", "Basket", "Order"] {
        assert_eq!(page(inside, "failed"), 0, "{inside}: {said}");
        assert!(page(inside, "ok") >= 5, "{inside}: {said}");
    }
    assert!(gate.metric("tidegate_session_cookies_total{fate=\"good\"}") >= 15.0);
    let heads = upstream.whole_requests();
    assert!(heads.iter().all(|head| !head.contains("tidegate=")), "the cookie stays at the gate");
}
