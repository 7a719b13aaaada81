//! Most connections in use to a server, and the queue of requests for which there is none.

use super::*;
use crate::common::plain::connect_plain;
use crate::common::*;
use tidegate_gate::telemetry::labels::UpstreamFault;

#[test]
fn beyond_the_limit_requests_wait_in_turn_and_beyond_the_queue_they_get_503() {
    let (slow, requested, go) = answering_on_request();
    let keys = "max_connections = 1\nqueue_length = 2\nqueue_time = \"5m\"\n";
    let gate = clear_gate_of(&(urls("url", &[slow]) + keys), "");
    let pool = || gate.snapshot().pools.swap_remove(0);
    let mut customers = Vec::new();
    for waiting in 0..3 {
        let mut customer = connect_plain(&gate);
        send(&mut customer, format!("GET /long{waiting} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        until("it waits", || {
            pool().waiting == waiting && pool().members[0].connections_in_use == 1
        });
        customers.push(customer);
    }
    let refused = get(&mut connect_plain(&gate), "/full").unwrap();
    assert_eq!(refused.code, 503);
    assert!(refused.head.to_ascii_lowercase().contains("retry-after: "), "{}", refused.head);
    assert_eq!(pool().queue, [("served", 0), ("full", 1), ("late", 0)]);
    assert_eq!(gate.totals().upstream_faults[UpstreamFault::Queue], 1);
    // One that leaves makes room, and is not served.
    drop(customers.remove(1));
    until("it has left", || pool().waiting == 1);
    for mut customer in customers {
        comes_to_the_upstream(&gate, &requested);
        go.send(()).unwrap();
        assert_eq!(receive(&mut customer, "GET").unwrap().text(), "hello");
    }
    assert_eq!(pool().queue, [("served", 1), ("full", 1), ("late", 0)]);
    assert!(requested.try_recv().is_err(), "no other request came");
    assert_eq!(gate.totals().upstream_connects, 1);
}

#[test]
fn who_has_waited_too_long_gets_503() {
    let (slow, requested, go) = answering_on_request();
    let keys = "max_connections = 1\nqueue_time = \"30ms\"\n";
    let gate = clear_gate_of(&(urls("url", &[slow]) + keys), "");
    let mut first = connect_plain(&gate);
    send(&mut first, b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    comes_to_the_upstream(&gate, &requested);
    assert_eq!(post(&gate, "/").code, 503);
    assert_eq!(gate.snapshot().pools[0].queue, [("served", 0), ("full", 0), ("late", 1)]);
    go.send(()).unwrap();
    assert_eq!(receive(&mut first, "GET").unwrap().text(), "hello");
    until("the connection is free", || get(&mut connect_plain(&gate), "/").unwrap().code == 200);
}
