//! Servers that change by a reload, or since a name has other addresses.

use super::*;
use crate::common::plain::{connect_plain, while_served};
use crate::common::*;
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, mpsc};
use tidegate_gate::config::Config;
use tidegate_gate::telemetry::labels::End;

#[test]
fn servers_come_and_go_by_reload_and_no_request_is_lost() {
    let servers = [named("one"), named("two"), named("three")];
    let configuration = |servers: &[SocketAddr]| {
        let text = format!(
            "[listen]\naddress = \"127.0.0.1:0\"\ncores = \"{}\"\n[admin]\naddress = \"off\"\n\
             [admission]\npolicy = \"off\"\n[upstream]\nprocesses = \"none\"\n\
             check_interval = \"0s\"\n{}",
            a_core(),
            urls("url", servers)
        );
        Config::from_toml(&text, "test.toml")
    };
    let gate = clear_gate_of(&urls("url", &servers), "");
    while_served(
        (&gate, "/"),
        &[true, false],
        |_| true,
        |served| {
            for gone in (0..3).cycle().take(30) {
                let mut stay = servers.to_vec();
                stay.remove(gone);
                let before = served.load(Relaxed);
                assert!(gate.reload(|| configuration(&stay)), "the configuration is sound");
                until("requests go on", || served.load(Relaxed) > before + 2);
            }
        },
    );
    assert!(gate.reload(|| configuration(&servers[..1])));
    until("the last servers are in force", || (0..10).all(|_| answer(&gate, "/") == "one /"));
    let connects = gate.totals().upstream_connects;
    assert!(gate.reload(|| configuration(&servers[..2])));
    until("the new one is used", || answer(&gate, "/") == "two /");
    assert_eq!(gate.totals().upstream_connects, connects + 1, "that to the first is kept");
    counted(&gate, "the others are closed", |totals| totals.upstream_open == 2);
    let totals = gate.totals();
    assert_eq!(totals.ends[End::Broken] + totals.ends[End::Truncated], 0);
}

/// A name whose addresses the test sets: it runs in a mount namespace with a hosts file of its own.
#[test]
fn a_name_is_resolved_again_and_requests_to_a_former_address_are_answered() {
    let hosts = tempfile::NamedTempFile::new().unwrap();
    let script = "mount --bind \"$HOSTS\" /etc/hosts && exec \"$TEST\" --ignored --exact \
                  pools::changes::in_a_namespace";
    let run = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command.env("HOSTS", hosts.path()).env("TEST", std::env::current_exe().unwrap());
        command.output()
    };
    let can = run("mount --bind \"$HOSTS\" /etc/hosts");
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this user cannot make a mount namespace");
        return;
    }
    let output = run(script).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "a_name_is_resolved_again runs it with a hosts file of its own"]
fn in_a_namespace() {
    let hosts = std::env::var("HOSTS").expect("the other test sets it");
    let resolves_to = |addresses: &[&str]| {
        let lines = addresses.iter().map(|address| format!("{address} shop.test\n"));
        std::fs::write(&hosts, lines.collect::<String>()).unwrap();
    };
    let (sender, requested) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let one = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = one.local_addr().unwrap().port();
    let two = TcpListener::bind(("127.0.0.2", port)).unwrap();
    for (name, listener) in [("one", one), ("two", two)] {
        let (sender, wait) = (sender.clone(), wait.clone());
        serve(listener, move |got| {
            if got.line.contains("/long") {
                sender.send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
            }
            ok(name)
        });
    }
    resolves_to(&["127.0.0.1"]);
    let url = format!("url = \"http://shop.test:{port}\"\nresolve_interval = \"5ms\"\n");
    let gate = clear_gate_of(&url, "");
    assert_eq!(answer(&gate, "/"), "one");
    resolves_to(&["127.0.0.1", "127.0.0.2"]);
    until("the second address is used", || answer(&gate, "/") == "two");
    until("the first is used too", || answer(&gate, "/") == "one");
    resolves_to(&["127.0.0.1"]);
    until("the second is gone", || (0..20).all(|_| answer(&gate, "/") == "one"));
    let mut waiting = connect_plain(&gate);
    send(&mut waiting, b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    comes_to_the_upstream(&gate, &requested);
    resolves_to(&["127.0.0.2"]);
    until("the first is gone", || (0..20).all(|_| answer(&gate, "/") == "two"));
    go.send(()).unwrap();
    assert_eq!(receive(&mut waiting, "GET").unwrap().text(), "one");
    // A name that does not resolve now keeps its addresses.
    resolves_to(&[]);
    until("that is told", || !gate.snapshot().upstream_failures.is_empty());
    assert_eq!(answer(&gate, "/"), "two");
    let pool = gate.snapshot().pools.swap_remove(0);
    let server = format!("http://shop.test:{port} (127.0.0.2)");
    assert_eq!(pool.members[0].server, server);
}
