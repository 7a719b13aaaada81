//! What the gate records of its connections, and the trace context that it passes on.

use crate::common::*;
use std::sync::mpsc;
use std::time::Instant;
use tidegate_trace::{Outcome, Phase, Process, Trace};

const HOST: &str = "Host: localhost\r\n";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn read(file: &std::path::Path) -> Process {
    Trace::read(&[file]).unwrap().processes.remove(0)
}

/// The configuration of a trace of every connection.
fn table(file: &std::path::Path) -> String {
    format!("[trace]\nfile = {:?}\ncpu_every = 1\n", file.display().to_string())
}

#[test]
fn the_phases_of_a_connection_add_up_to_its_life() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.trace");
    let gate = gate(hello(), &table(&file));
    let begun = Instant::now();
    let client = any_client();
    for _ in 0..2 {
        let mut connection = connect(&gate, &client);
        for path in ["/a", "/b"] {
            assert_eq!(get(&mut connection, path).unwrap().text(), "hello");
        }
        drop(connection);
        counted(&gate, "the connection is over", |totals| totals.open == 0);
    }
    drop(gate);
    let most = begun.elapsed().as_nanos() as u64;

    let process = read(&file);
    assert!(process.ending.is_some() && process.cut_at.is_none() && process.dropped == 0);
    let mut connections: Vec<u64> = process.lines.iter().map(|line| line.connection).collect();
    connections.dedup();
    connections.sort_unstable();
    connections.dedup();
    assert_eq!(connections.len(), 2);
    let mut all = 0;
    for (nth, connection) in connections.into_iter().enumerate() {
        let lines = process.lines.iter().filter(|line| line.connection == connection);
        let lines: Vec<_> = lines.collect();
        let mut at = lines[0].start_ns;
        for line in &lines {
            assert_eq!(line.start_ns, at, "no gap and no overlap");
            at += line.took_ns();
        }
        all += at - lines[0].start_ns;
        let phases: Vec<Phase> =
            lines.iter().flat_map(|line| &line.steps).map(|step| step.phase).collect();
        let handshake = [Phase::HandshakeFull, Phase::HandshakeResumed][nth];
        assert!(phases.contains(&handshake), "{phases:?}");
        let opening = [Phase::Accept, Phase::FirstFlight];
        assert!(phases.starts_with(&opening), "{phases:?}");
        let request = [Phase::ReadRequest, Phase::Service, Phase::Upstream, Phase::Respond];
        assert_eq!(phases.windows(4).filter(|four| *four == request).count(), 2, "{phases:?}");
        assert_eq!(phases.contains(&Phase::Queue), nth == 0, "only new sessions are queued");
        assert_eq!(lines.iter().filter(|line| line.status == 200).count(), 2);
        assert_eq!(lines.last().unwrap().outcome, Outcome::Done);
        let cpu = |phase| -> u64 {
            let steps = lines.iter().flat_map(|line| &line.steps);
            steps.filter(|step| step.phase == phase).map(|step| step.cpu_ns).sum()
        };
        // The queue is left by the one who admits, so its end is not the connection's.
        assert!(cpu(handshake) > 100 * cpu(Phase::Queue), "who waits uses no processor");
    }
    // One connection followed the other.
    assert!(all <= most, "{all} of {most}");
    assert!(process.samples.len() >= 2);
}

#[test]
fn the_upstream_receives_the_gates_span_of_the_customers_trace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.trace");
    let (sender, seen) = mpsc::channel();
    let upstream = answering(move |got| {
        let field = |name| got.header(name).map(str::to_owned);
        sender.send((field("traceparent"), field("tracestate"))).unwrap();
        ok("hello")
    });
    let gate = gate(upstream, &table(&file));
    let mut connection = connect(&gate, &any_client());
    let mut ask = |fields: &str| {
        send(&mut connection, format!("GET / HTTP/1.1\r\n{HOST}{fields}\r\n").as_bytes());
        receive(&mut connection, "GET").unwrap();
        let (parent, state) = seen.recv().unwrap();
        (parent.unwrap(), state)
    };
    let (passed, state) = ask(&format!("traceparent: {PARENT}\r\ntracestate: a=1\r\n"));
    assert_eq!(passed[..36], PARENT[..36], "the same trace");
    assert_ne!(passed[36..52], PARENT[36..52], "another parent");
    assert_eq!(state.as_deref(), Some("a=1"));
    let (begun, _) = ask("");
    assert_ne!(begun[..36], PARENT[..36]);
    for hostile in [
        "traceparent: 00-0-0-0\r\ntracestate: a=1\r\n".to_owned(),
        format!("traceparent: {PARENT}\r\ntraceparent: {PARENT}\r\ntracestate: a=1\r\n"),
        format!("traceparent: {}\r\ntracestate: a=1\r\n", "f".repeat(4000)),
    ] {
        let (replaced, state) = ask(&hostile);
        let context = tidegate_trace::Context::parse(replaced.as_bytes());
        assert!(context.is_some_and(|context| context.trace >> 64 != 0x4bf9_2f35_77b3_4da6));
        assert_eq!(state, None, "what belongs to the former trace goes");
    }
    drop(connection);
    drop(gate);
    let process = read(&file);
    let first = process.lines.iter().find_map(|line| line.context).unwrap();
    assert_eq!(first.parent, 0x00f0_67aa_0ba9_02b7);
    assert_eq!(format!("{:016x}", first.span), passed[36..52]);
}

#[test]
fn without_a_trace_there_is_no_file_and_no_field() {
    let (sender, seen) = mpsc::channel();
    let upstream = answering(move |got| {
        sender.send(got.header("traceparent").map(str::to_owned)).unwrap();
        ok("hello")
    });
    let gate = gate(upstream, "");
    let mut connection = connect(&gate, &any_client());
    get(&mut connection, "/").unwrap();
    assert_eq!(seen.recv().unwrap(), None);
    send(&mut connection, format!("GET / HTTP/1.1\r\n{HOST}traceparent: x\r\n\r\n").as_bytes());
    receive(&mut connection, "GET").unwrap();
    assert_eq!(seen.recv().unwrap().as_deref(), Some("x"), "it is end to end");
}

#[test]
fn a_request_that_the_gate_answers_itself_is_recorded_with_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.trace");
    let gate = gate(hello(), &table(&file));
    let mut connection = connect(&gate, &any_client());
    let request = format!("TRACE / HTTP/1.1\r\n{HOST}\r\n");
    send(&mut connection, request.as_bytes());
    let status = receive(&mut connection, "TRACE").unwrap().code;
    drop((connection, gate));
    let process = read(&file);
    let line = process.lines.iter().find(|line| line.status > 0).unwrap();
    assert_eq!(line.status, status);
    assert!(line.steps.iter().all(|step| step.phase != Phase::Upstream));
}

#[test]
fn a_trace_that_cannot_be_written_is_named() {
    let text = "[upstream]\nurl = \"http://127.0.0.1:9\"\n[listen]\naddress = \"127.0.0.1:0\"\n\
                [admin]\naddress = \"off\"\n[trace]\nfile = \"/nowhere/gate.trace\"\n";
    let config = tidegate_gate::config::Config::from_toml(text, "t").unwrap();
    let error = tidegate_gate::Gate::start(config).unwrap_err().to_string();
    assert!(error.contains("/nowhere/gate.trace") && error.contains("name a file"), "{error}");
}

#[test]
fn each_request_of_http2_has_a_line_of_its_own_beside_its_connections() {
    use crate::common::http2::{connect_http2, exchange, request, run};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.trace");
    let gate = gate(hello(), &table(&file));
    run(async {
        let sender = connect_http2(&gate).await;
        for _ in 0..3 {
            exchange(&sender, request("GET", "/")).await.unwrap();
        }
    });
    counted(&gate, "the connection is over", |totals| totals.open == 0);
    drop(gate);
    let process = read(&file);
    let openings = process.lines.iter().filter(|line| line.request == 0);
    assert_eq!(openings.count(), 1, "one connection");
    let requests: Vec<_> = process.lines.iter().filter(|line| line.status == 200).collect();
    assert_eq!(requests.len(), 3);
    for line in requests {
        let phases: Vec<Phase> = line.steps.iter().map(|step| step.phase).collect();
        let expected = [Phase::ReadRequest, Phase::Service, Phase::Upstream, Phase::Respond];
        assert_eq!(phases, expected);
    }
}
