//! The status reports why the upstream cannot be measured.

use crate::common::*;
use tidegate_gate::config::Processes;

#[test]
fn an_upstream_that_cannot_be_seen_is_reported_with_a_remedy_unless_it_is_not_searched_for() {
    // It listens in the gate's own process, which is never its upstream.
    let gate = gate_with(hello(), "", |config| config.upstream.processes = Processes::Auto);
    until("reported", || gate.snapshot().upstream_note.is_some());
    let note = gate.snapshot().upstream_note.unwrap();
    assert!(note.contains("cannot be seen") && note.contains("upstream.processes"), "{note}");
    let status = serde_json::to_value(gate.snapshot()).unwrap();
    assert_eq!(status["upstream_note"], note);

    let quiet = crate::common::gate(hello(), "");
    until("the controller has read", || {
        quiet.snapshot().control.is_some_and(|control| !control.resources.is_empty())
    });
    let status = serde_json::to_value(quiet.snapshot()).unwrap();
    assert!(status["upstream_note"].is_null());
}
