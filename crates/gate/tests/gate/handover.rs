//! A gate takes the place of another.

use crate::common::*;
use rustls::HandshakeKind;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use tidegate_gate::Gate;
use tidegate_gate::config::Config;
use tidegate_gate::handover::{Inherited, knock};

fn config(upstream: SocketAddr, more: &str) -> Config {
    config_of(&format!("url = \"http://{upstream}\""), more)
}

/// Starts a gate that takes the place of one, which drains then.
pub fn replace(before: &Gate, config: Config) -> Gate {
    let (here, there) = UnixStream::pair().unwrap();
    let service = before.service();
    let giving = std::thread::spawn(move || {
        service.hand_over(&here, |pid| assert_eq!(pid, std::process::id()))
    });
    let after = Gate::start_from(config, Inherited::receive(there).unwrap()).unwrap();
    giving.join().unwrap().unwrap();
    assert!(before.is_draining() && !after.is_draining());
    after
}

/// Two gates, one after the other.
fn one_after_the_other(more: &str) -> (Gate, impl FnOnce(&Gate) -> Gate) {
    let upstream = hello();
    let next = config(upstream, more);
    (Gate::start(config(upstream, more)).unwrap(), |before: &Gate| replace(before, next))
}

#[test]
fn a_customer_is_known_to_the_next_gate_without_a_file_of_keys() {
    let (before, replace) = one_after_the_other("");
    let customer = any_client();
    let visit = |gate: &Gate| {
        let mut connection = connect(gate, &customer);
        assert_eq!(get(&mut connection, "/").unwrap().text(), "hello");
        kind(&connection)
    };
    assert_eq!(visit(&before), HandshakeKind::Full);
    let after = replace(&before);
    assert_eq!(after.addresses(), before.addresses());
    before.join().unwrap();
    assert_eq!(visit(&after), HandshakeKind::Resumed);
}

#[test]
fn sessions_that_were_active_and_costs_that_were_learned_are_known_at_once() {
    let (before, replace) = one_after_the_other("[admission]\npolicy = \"tide\"\n");
    let kinds = |gate: &Gate| gate.snapshot().control.unwrap().kinds;
    // A handshake before the control loop's first look is not learned from.
    let mut open = Vec::new();
    until("a handshake is learned from", || {
        let mut connection = connect(&before, &any_client());
        get(&mut connection, "/").unwrap();
        open.push(connection);
        let asked = Instant::now();
        while kinds(&before).is_empty() && asked.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(10));
        }
        !kinds(&before).is_empty()
    });
    let after = replace(&before);
    assert_eq!(kinds(&after), kinds(&before));
    assert_eq!((after.snapshot().sessions_active, after.totals().accepted), (open.len() as u64, 0));
}

#[test]
fn a_request_under_way_is_finished_by_the_gate_that_has_it() {
    let (upstream, requested, go) = answering_on_request();
    let before = Gate::start(config(upstream, "")).unwrap();
    let mut slow = connect(&before, &any_client());
    send(&mut slow, b"GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");
    comes_to_the_upstream(&before, &requested);
    let after = replace(&before, config(upstream, ""));
    let mut other = connect(&after, &any_client());
    assert_eq!(get(&mut other, "/").unwrap().text(), "hello");
    assert_eq!((before.totals().accepted, after.totals().accepted), (1, 1));
    go.send(()).unwrap();
    let response = receive(&mut slow, "GET").unwrap();
    assert_eq!(response.text(), "hello");
    assert!(response.head.to_ascii_lowercase().contains("connection: close"));
    before.join().unwrap();
}

#[test]
fn an_idle_connection_is_closed_with_the_answer_to_its_next_request() {
    let (before, replace) = one_after_the_other("");
    let mut used = connect(&before, &any_client());
    get(&mut used, "/").unwrap();
    let _after = replace(&before);
    let response = get(&mut used, "/").unwrap();
    assert_eq!(response.text(), "hello");
    assert!(response.head.to_ascii_lowercase().contains("connection: close"));
    before.join().unwrap();
}

#[test]
fn a_session_in_the_queue_is_still_admitted() {
    let more = "[admission]\npolicy = \"static\"\nrate = 1\nhold_time = \"30s\"\n";
    let (before, replace) = one_after_the_other(more);
    let mut connections: Vec<_> = (0..3).map(|_| connect(&before, &any_client())).collect();
    let customers: Vec<_> = connections
        .drain(..)
        .map(|mut it| std::thread::spawn(move || get(&mut it, "/").unwrap().code))
        .collect();
    counted(&before, "all are admitted or queued", |totals| totals.accepted == 3);
    let _after = replace(&before);
    for customer in customers {
        assert_eq!(customer.join().unwrap(), 200);
    }
}

#[test]
fn a_gate_without_connections_ends_after_those_who_watch_it_know_the_next_one() {
    let (before, _) = one_after_the_other("");
    let next = config(hello(), "");
    let (here, there) = UnixStream::pair().unwrap();
    let service = before.service();
    let (over, is_over) = std::sync::mpsc::channel();
    let first = std::thread::spawn(move || {
        before.join().unwrap();
        let _ = over.send(());
    });
    let giving = std::thread::spawn(move || {
        let mut over_before = None;
        let taken = |_| {
            over_before = Some(is_over.recv_timeout(Duration::from_millis(300)).is_ok());
        };
        service.hand_over(&here, taken).unwrap();
        over_before
    });
    let after = Gate::start_from(next, Inherited::receive(there).unwrap()).unwrap();
    assert_eq!(giving.join().unwrap(), Some(false));
    first.join().unwrap();
    assert_eq!(get(&mut connect(&after, &any_client()), "/").unwrap().text(), "hello");
}

#[test]
fn a_gate_accepts_nobody_once_the_next_one_is_told_that_it_does_not() {
    let (before, _) = one_after_the_other("");
    let next = config(hello(), "");
    let (here, there) = UnixStream::pair().unwrap();
    let (service, address) = (before.service(), before.address());
    let giving = std::thread::spawn(move || {
        service.hand_over(&here, |_| {
            let come = |_| TcpStream::connect(address).unwrap();
            drop((0..200).map(come).collect::<Vec<_>>());
        })
    });
    let after = Gate::start_from(next, Inherited::receive(there).unwrap()).unwrap();
    giving.join().unwrap().unwrap();
    let accepted = |gate: &Gate| gate.totals().accepted;
    until("all are accepted", || accepted(&before) + accepted(&after) == 200);
    assert_eq!(accepted(&before), 0);
}

#[test]
fn a_next_gate_that_fails_leaves_the_first_in_service() {
    let (before, replace) = one_after_the_other("");
    let (here, there) = UnixStream::pair().unwrap();
    let service = before.service();
    let giving = std::thread::spawn(move || service.hand_over(&here, |_| {}));
    // As a process does that fails after it has received everything.
    drop(Inherited::receive(there).unwrap());
    let error = giving.join().unwrap().unwrap_err().to_string();
    assert!(error.ends_with("ended before it was ready"), "{error}");
    assert!(!before.is_draining());
    assert_eq!(get(&mut connect(&before, &any_client()), "/").unwrap().text(), "hello");
    let after = replace(&before);
    assert_eq!(get(&mut connect(&after, &any_client()), "/").unwrap().text(), "hello");
}

#[test]
fn the_next_gate_may_have_more_addresses_and_admin_pages() {
    let upstream = hello();
    let before = Gate::start(config(upstream, "")).unwrap();
    let at = before.address();
    let core = a_core();
    let more = format!(
        "[listen]\naddress = [\"{at}\", \"[::1]:0\"]\nclear = \"127.0.0.1:0\"\ncores = \"{core}\"\n\
         [admin]\naddress = \"127.0.0.1:0\"\n"
    );
    let after = replace(&before, config(upstream, &more));
    before.join().unwrap();
    assert_eq!((after.addresses().len(), after.address()), (2, at));
    let (pages, clear) = (after.admin_address(), after.clear_address());
    let last = replace(&after, config(upstream, &more));
    assert_eq!((last.admin_address(), last.clear_address()), (pages, clear));
    assert_eq!(last.addresses(), after.addresses());
}

#[test]
fn a_gate_waits_at_its_socket_for_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("handover");
    let core = a_core();
    let more =
        format!("[listen]\naddress = \"127.0.0.1:0\"\ncores = \"{core}\"\nhandover = {path:?}\n");
    let upstream = hello();
    assert!(knock(&path).unwrap().is_none(), "nobody is there");
    let before = Gate::start(config(upstream, &more)).unwrap();
    let error = Gate::start(config(upstream, &more)).unwrap_err().to_string();
    assert!(error.contains("another gate is in service there"), "{error}");
    let next = || {
        let inherited = Inherited::receive(knock(&path).unwrap().unwrap()).unwrap();
        Gate::start_from(config(upstream, &more), inherited).unwrap()
    };
    let after = next();
    assert_eq!(after.address(), before.address());
    before.join().unwrap();
    let last = next();
    after.join().unwrap();
    assert_eq!(get(&mut connect(&last, &any_client()), "/").unwrap().text(), "hello");
    drop(last);
    assert!(!path.exists(), "a gate that ends leaves no socket");
}

#[test]
fn a_gate_that_drains_is_not_handed_over() {
    let (before, _) = one_after_the_other("");
    before.drain();
    let (here, _there) = UnixStream::pair().unwrap();
    let error = before.service().hand_over(&here, |_| {}).unwrap_err().to_string();
    assert_eq!(error, "it drains already");
}
