//! What the operator reads in the log.

#[path = "gate/common/mod.rs"]
mod common;

use common::plain::{clear_gate, connect_plain};
use common::*;
use std::io::Read;
use std::sync::{Arc, LazyLock, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Collects what is logged, as `LEVEL message`.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn has(&self, line: &str) -> bool {
        self.0.lock().unwrap().iter().any(|logged| logged.starts_with(line))
    }

    fn count(&self, part: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|logged| logged.contains(part)).count()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= &Level::INFO
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 += &format!(" {value:?}");
        }
    }
}

/// The log of all gates of this file.
static LOG: LazyLock<Log> = LazyLock::new(|| {
    let log = Log::default();
    tracing::subscriber::set_global_default(log.clone()).unwrap();
    log
});

#[test]
fn a_dead_upstream_is_told_once_with_the_first_request() {
    let log = &*LOG;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let gate = clear_gate(address, "");
    let mut connection = connect_plain(&gate);
    for path in ["/cart?card=4242", "/2", "/3", "/4"] {
        assert_eq!(get(&mut connection, path).unwrap().code, 502);
    }
    let line = format!("WARN the upstream cannot be reached: {address}: Connection refused");
    until(&line, || log.has(&line));
    assert!(log.count("4242") == 0 && log.count("GET /cart") == 1);
    assert_eq!(log.count(&line), 1);
}

#[test]
fn refusals_and_malformed_messages_are_told() {
    let log = &*LOG;
    let upstream = answering(|got| match got.line.contains("/bad") {
        true => "HTTP/1.1 200 OK\nContent-Length: 0\n\n".into(),
        false => ok("hello"),
    });
    let policy = "[admission]\npolicy = \"static\"\nrate = 0.01\nhold_time = \"0s\"\n";
    let gate = clear_gate(upstream, policy);
    let mut admitted = connect_plain(&gate);
    assert_eq!(get(&mut admitted, "/bad").unwrap().code, 502);
    let mut refused = connect_plain(&gate);
    send(&mut refused, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(refused.read(&mut [0; 1]).is_err());
    send(&mut admitted, b"GET / HTTP/1.1\nHost: a\n\n");
    assert_eq!(receive(&mut admitted, "GET").unwrap().code, 400);
    for line in [
        "WARN new sessions are refused: 1 (1 at once)",
        "WARN malformed from the upstream: 1 (1 head)",
        "INFO malformed from customers: 1 (1 head)",
    ] {
        until(line, || log.has(line));
    }
}
