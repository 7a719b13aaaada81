//! Servers that are dead, die, answer with errors or fail their checks.

use super::*;
use crate::common::plain::{connect_plain, while_served};
use crate::common::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tidegate_gate::telemetry::labels::{End, UpstreamFault};

/// A server that reads a request and closes the connection, and how many it read.
fn crashing() -> (SocketAddr, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = read.clone();
    let address = upstream(move |mut reader| {
        if read_request(&mut reader).is_some() {
            counted.fetch_add(1, Relaxed);
        }
    });
    (address, read)
}

#[test]
fn no_request_fails_while_a_server_is_dead_and_it_is_taken_out_until_it_works() {
    let (socket, dead) = refusing();
    let more = "eject_time = \"100ms\"\nslow_start = \"0s\"\n";
    let gate = clear_gate_of(&(urls("url", &[dead, named("alive")]) + more), "");
    while member(&gate, dead).share > 0.0 {
        assert_eq!(answer(&gate, "/"), "alive /");
        let response = post(&gate, "/post");
        assert_eq!(response.text(), "alive /post", "nothing of it was sent to the dead one");
    }
    let snapshot = gate.snapshot();
    let pool = &snapshot.pools[0];
    let told = &pool.members[0];
    assert!(told.ejections > 0 && told.failures >= 3, "{told:?}");
    assert_eq!(pool.retries, told.failures);
    assert_eq!(gate.totals().upstream_faults[UpstreamFault::Connect], 0, "no request failed");
    let metrics = snapshot.prometheus();
    let line = format!(
        "tidegate_pool_ejections_total{{pool=\"upstream\",member=\"http://{dead}\"}} {}\n",
        told.ejections
    );
    assert!(metrics.contains(&line), "{metrics}");
    socket.listen(8).unwrap();
    serve(socket.into(), |_| ok("back"));
    until("it is used again", || answer(&gate, "/") == "back");
}

#[test]
fn the_last_server_is_not_taken_out() {
    let ((_first, one), (_second, two)) = (refusing(), refusing());
    let gate = clear_gate_of(&urls("url", &[one, two]), "");
    let shares = || [one, two].map(|server| member(&gate, server).share);
    until("one is taken out", || {
        assert_eq!(get(&mut connect_plain(&gate), "/").unwrap().code, 502);
        shares().contains(&0.0)
    });
    for _ in 0..20 {
        assert_eq!(get(&mut connect_plain(&gate), "/").unwrap().code, 502);
    }
    let failures = || member(&gate, one).failures + member(&gate, two).failures;
    let before = failures();
    until("the other fails on", || {
        assert_eq!(get(&mut connect_plain(&gate), "/").unwrap().code, 502);
        failures() > before + 20
    });
    assert!(shares().contains(&1.0), "{:?}", shares());
}

#[test]
fn what_a_server_began_is_sent_to_another_one_only_where_that_is_safe() {
    let (crashes, begun) = crashing();
    let posts = Arc::new(AtomicUsize::new(0));
    let counted = posts.clone();
    let works = answering(move |got| {
        counted.fetch_add(usize::from(got.line.starts_with("POST")), Relaxed);
        ok("works")
    });
    let gate = clear_gate_of(&(urls("url", &[crashes, works]) + "eject_after = 0\n"), "");
    while begun.load(Relaxed) < 10 {
        assert_eq!(answer(&gate, "/"), "works");
    }
    let (before, mut failed, mut served) = (begun.load(Relaxed), 0, 0);
    while failed < 10 || served < 10 {
        match post(&gate, "/").code {
            502 => failed += 1,
            code => {
                assert_eq!(code, 200);
                served += 1;
            }
        }
    }
    assert_eq!(begun.load(Relaxed) - before, failed, "each is sent once");
    assert_eq!(posts.load(Relaxed), served, "none is sent to the other as well");
}

#[test]
fn a_process_that_is_killed_costs_no_customer_a_page() {
    let mut servers = [Python::start("one", None), Python::start("two", None)];
    let url = format!("url = [{:?}, {:?}]\n", servers[0].url, servers[1].url);
    let gate = clear_gate_of(&url, "");
    while_served(
        (&gate, "/"),
        &[true, true, false],
        |_| true,
        |served| {
            let more = |count| {
                let before = served.load(Relaxed);
                until("requests go on", || served.load(Relaxed) > before + count);
            };
            more(100);
            servers[0].kill();
            more(300);
        },
    );
    let pool = gate.snapshot().pools.swap_remove(0);
    assert!(pool.members.iter().all(|member| member.responses > 0), "{pool:?}");
    assert!(pool.retries > 0 && pool.members[0].failures > 0, "{pool:?}");
    let totals = gate.totals();
    assert_eq!(totals.ends[End::Broken] + totals.ends[End::Truncated], 0);
}

#[test]
fn a_server_that_answers_with_errors_is_taken_out_only_where_that_is_configured() {
    let fails = answering(|_| "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".into());
    let servers = urls("url", &[fails, named("works")]);
    let gate = clear_gate_of(&(servers.clone() + "eject_on_5xx = true\n"), "");
    until("it is taken out", || {
        get(&mut connect_plain(&gate), "/").unwrap();
        member(&gate, fails).share == 0.0
    });
    assert_eq!(member(&gate, fails).failures, 0, "it answered all");
    let gate = clear_gate_of(&servers, "");
    until("it has answered some", || {
        get(&mut connect_plain(&gate), "/").unwrap();
        member(&gate, fails).server_errors >= 20
    });
    assert_eq!(member(&gate, fails).share, 1.0);
}

#[test]
fn a_server_that_fails_its_checks_gets_no_requests_until_they_are_good() {
    let sick = Arc::new(AtomicBool::new(false));
    let seen = sick.clone();
    let checked = answering(move |got| match got.line.as_str() {
        "GET /healthz?deep HTTP/1.1" if seen.load(Relaxed) => {
            assert_eq!(got.header("user-agent"), Some("tidegate-check"));
            "HTTP/1.1 503 Sick\r\nContent-Length: 0\r\n\r\n".into()
        }
        _ => ok("checked"),
    });
    let other = answering(|_| ok("other"));
    let keys = "slow_start = \"0s\"\n";
    let gate = clear_gate_with(&(urls("url", &[checked, other]) + keys), "", |config| {
        config.upstream.check_interval = Duration::from_millis(5);
        config.upstream.check_path = "/healthz?deep".parse().ok();
    });
    until("it gets requests", || answer(&gate, "/") == "checked");
    sick.store(true, Relaxed);
    until("it is found sick", || member(&gate, checked).share == 0.0);
    for _ in 0..30 {
        assert_eq!(answer(&gate, "/"), "other");
    }
    let told = member(&gate, checked).problem.unwrap();
    assert_eq!(told, "GET /healthz?deep: its answer is 503");
    let snapshot = gate.snapshot();
    assert!(snapshot.upstream_problem.is_none(), "the other can be reached");
    assert_eq!(snapshot.upstream_failures, [], "and the upstream as a whole does not fail");
    sick.store(false, Relaxed);
    until("it gets requests again", || answer(&gate, "/") == "checked");
}
