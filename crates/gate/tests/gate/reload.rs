//! A reload of the configuration while customers are connected.

use crate::common::*;
use std::net::SocketAddr;
use tidegate_gate::Gate;
use tidegate_gate::config::{Config, Mistakes, Refusal};
use tidegate_gate::telemetry::labels::{Class, End};

/// A configuration as [`gate`] has it, with other lines.
fn configuration(upstream: SocketAddr, more: &str) -> Result<Config, Mistakes> {
    let admission = if more.contains("[admission]") { "" } else { "[admission]\npolicy = \"off\"" };
    let text = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\ncores = \"{}\"\n[admin]\naddress = \"off\"\n\
         {admission}\n[upstream]\nprocesses = \"none\"\nurl = \"http://{upstream}\"\n{more}",
        a_core()
    );
    let mut config = Config::from_toml(&text, "test.toml")?;
    config.admission.refuse = Refusal::Reset;
    Ok(config)
}

fn reload(gate: &Gate, upstream: SocketAddr, more: &str) {
    assert!(gate.reload(|| configuration(upstream, more)), "the configuration is sound");
}

/// What a customer of a new connection receives.
fn answer(gate: &Gate) -> String {
    get(&mut connect(gate, &any_client()), "/").unwrap().text().to_owned()
}

#[test]
fn new_connections_have_the_new_upstream_and_open_ones_keep_theirs() {
    let (one, two) = (answering(|_| ok("one")), answering(|_| ok("two")));
    let gate = gate(one, "");
    let config = any_client();
    let mut before = connect(&gate, &config);
    assert_eq!(get(&mut before, "/").unwrap().text(), "one");
    reload(&gate, two, "");
    until("new connections have it", || answer(&gate) == "two");
    for _ in 0..3 {
        assert_eq!(get(&mut before, "/").unwrap().text(), "one");
    }
    drop(before);
    let mut again = connect(&gate, &config);
    assert_eq!(get(&mut again, "/").unwrap().text(), "two");
    assert_eq!(kind(&again), rustls::HandshakeKind::Resumed, "tickets stay valid");
    // The connection to the first upstream went with its last customer.
    counted(&gate, "one connection to the upstream", |totals| totals.upstream_open == 1);
}

#[test]
fn a_request_that_is_with_the_upstream_is_answered_across_a_reload() {
    let (upstream, requested, go) = answering_on_request();
    let gate = gate(upstream, "");
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    comes_to_the_upstream(&gate, &requested);
    reload(&gate, answering(|_| ok("two")), "[limits]\nidle_deadline = \"0s\"\n");
    until("new connections have it", || answer(&gate) == "two");
    go.send(()).unwrap();
    assert_eq!(receive(&mut connection, "GET").unwrap().text(), "hello");
}

#[test]
fn the_admission_policy_changes_and_its_counts_stay() {
    let upstream = hello();
    let gate = gate(upstream, "");
    assert_eq!(answer(&gate), "hello");
    let off = "[admission]\npolicy = \"static\"\nrate = 0.01\nhold_time = \"0s\"\n";
    reload(&gate, upstream, off);
    let refused = || get(&mut connect(&gate, &any_client()), "/").is_err();
    until("a new session is refused", refused);
    let status = gate.snapshot().control.unwrap();
    assert_eq!(status.policy.to_string(), "static");
    assert!(status.admitted >= 1);
    reload(&gate, upstream, "");
    until("new sessions are admitted again", || !refused());
}

#[test]
fn a_session_refused_by_its_rate_follows_the_new_rate() {
    let upstream = hello();
    let limited = "[admission]\npolicy = \"off\"\nsession_rate = 0.1\nsession_burst = 1\n";
    let gate = gate(upstream, limited);
    let config = any_client();
    let kinds = |n: usize| {
        (0..n).for_each(|_| drop(get(&mut connect(&gate, &config), "/").unwrap()));
        gate.totals().admitted[Class::Returning]
    };
    assert_eq!(kinds(2), 0);
    reload(&gate, upstream, "[admission]\npolicy = \"off\"\nsession_rate = 100000\n");
    until("a session returns", || kinds(1) > 0);
}

#[test]
fn a_broken_configuration_changes_nothing() {
    let gate = gate(hello(), "");
    let before = gate.config();
    let broken = || Config::from_toml("[upstream]\nurl = 7\n[limits]\nidle = 3\n", "test.toml");
    assert!(!gate.reload(broken));
    assert_eq!(gate.config().changed_keys(&before), Vec::<String>::new());
    assert_eq!(answer(&gate), "hello");
    assert_eq!(gate.snapshot().config_reloads, [("ok", 0), ("failed", 1)]);
}

#[test]
fn an_upstream_that_is_the_gate_itself_is_not_put_in_force() {
    let gate = gate(hello(), "");
    // The file has another address, but the gate still has its own.
    let own = format!("127.0.0.1:{}", gate.address().port());
    assert!(!gate.reload(|| configuration(own.parse().unwrap(), "")));
    assert_eq!(answer(&gate), "hello");
}

#[test]
fn what_needs_a_restart_stays_and_the_rest_is_put_in_force() {
    let upstream = hello();
    let gate = gate(upstream, "");
    let address = gate.address();
    let text = format!(
        "[listen]\naddress = \"127.0.0.1:1\"\nbacklog = 3\n[admin]\naddress = \"127.0.0.1:2\"\n\
         [upstream]\nprocesses = \"none\"\nurl = \"http://{upstream}\"\n\
         [limits]\nidle_deadline = \"500ms\"\n"
    );
    assert!(gate.reload(|| Config::from_toml(&text, "test.toml")));
    assert_eq!((gate.address(), gate.admin_address()), (address, None));
    assert_eq!(gate.config().listen.backlog, 1024);
    assert_eq!(gate.snapshot().config_reloads, [("ok", 1), ("failed", 0)]);
    until("a connection ends by the new deadline", || {
        let mut connection = connect(&gate, &any_client());
        // The new deadline may come before the request.
        let served = get(&mut connection, "/").is_ok();
        let begun = std::time::Instant::now();
        let over = receive_head(&mut connection).is_err();
        served && over && begun.elapsed() < std::time::Duration::from_secs(9)
    });
    counted(&gate, "an idle end", |totals| totals.ends[End::Idle] > 0);
}

#[test]
fn a_self_signed_certificate_stays_across_a_reload() {
    let upstream = hello();
    let gate = gate(upstream, "");
    let certificate = || {
        let mut connection = connect(&gate, &any_client());
        get(&mut connection, "/").unwrap();
        connection.get_ref().conn.peer_certificates().unwrap()[0].to_vec()
    };
    let before = certificate();
    reload(&gate, answering(|_| ok("two")), "");
    until("new connections have it", || answer(&gate) == "two");
    assert_eq!(certificate(), before);
}
