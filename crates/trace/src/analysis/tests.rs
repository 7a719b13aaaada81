//! Analyses of traces made by hand.

use super::*;
use crate::context::Context;
use crate::format::header::Header;
use crate::format::metric::Metric;
use crate::format::record::{Line, Sample, Step};
use crate::phase::{Outcome, Phase};
use crate::read::Process;
use std::path::PathBuf;

const MS: u64 = 1_000_000;

fn process(role: Role, processors: f64) -> Process {
    let header = Header {
        role,
        pid: role as u32 + 1,
        host: "h".into(),
        boot: "b".into(),
        machine: Default::default(),
        processors,
        started_ns: 0,
        started_unix_ns: 0,
        cpu_every: 1,
        sample_ms: 100,
        pressure: true,
    };
    Process::new(PathBuf::from(role.name()), header)
}

fn line(connection: u64, request: u32, start_ms: u64, steps: &[(Phase, u64)]) -> Line {
    let step = |(phase, ms): &(Phase, u64)| Step {
        phase: *phase,
        took_ns: ms * MS,
        cpu_ns: if phase.is_without_request() { 0 } else { ms * MS / 2 },
    };
    Line {
        connection,
        request,
        start_ns: start_ms * MS,
        measured: true,
        outcome: Outcome::Open,
        status: if request == 0 { 0 } else { 200 },
        context: None,
        steps: steps.iter().map(step).collect(),
    }
}

/// A gate with so many connections per second, of a handshake and one request each, from
/// `from_s` on for ten seconds.
fn serve(gate: &mut Process, from_s: u64, per_s: u64, full: bool, ms: u64) {
    let handshake = if full { Phase::HandshakeFull } else { Phase::HandshakeResumed };
    for second in from_s..from_s + 10 {
        for nth in 0..per_s {
            let connection = gate.lines.len() as u64;
            let at = second * 1000 + nth * 1000 / per_s;
            gate.lines.push(line(connection, 0, at, &[(Phase::Accept, 0), (handshake, ms)]));
            let steps = [(Phase::AwaitRequest, 1), (Phase::Service, 1), (Phase::Upstream, 2 * ms)];
            gate.lines.push(line(connection, 1, at + ms, &steps));
            let last = line(connection, 2, at + 3 * ms + 2, &[(Phase::Idle, 10)]);
            gate.lines.push(Line { outcome: Outcome::Done, status: 0, ..last });
        }
        for tenth in 0..10 {
            let at = second * 1000 + tenth * 100;
            let cpu = at * MS;
            let values = vec![
                (Metric::CoreBusy, 0, if per_s > 20 { 1000 } else { 200 }),
                (Metric::CoreBusy, 1, if per_s > 20 { 900 } else { 100 }),
                (Metric::ProcessCpu, 0, cpu),
            ];
            gate.samples.push(Sample { at_ns: at * MS, values });
        }
    }
}

#[test]
fn the_phase_that_grew_above_the_knee_is_named_with_the_bottleneck() {
    let mut gate = process(Role::Gate, 2.0);
    serve(&mut gate, 0, 10, false, 2);
    serve(&mut gate, 10, 20, false, 2);
    serve(&mut gate, 20, 30, true, 100);
    let analysis = analyse(&Trace::of(vec![gate]).unwrap());
    let knee = analysis.knee.unwrap();
    assert!((15.0..25.0).contains(&knee.offered_per_s), "{knee:?}");
    assert!((19.0..=21.0).contains(&knee.first_above_s), "{knee:?}");
    let split = &analysis.phases[0];
    let grew = split.grew_most.as_ref().unwrap();
    assert_eq!(grew.phase, "upstream");
    assert!((grew.above_ms - 200.0).abs() < 20.0 && grew.below_ms < 20.0, "{grew:?}");
    assert!(split.full_share_below.unwrap() < 0.1 && split.full_share_above.unwrap() > 0.9);
    let bottleneck = analysis.bottleneck;
    let busy = bottleneck.resource.unwrap();
    assert_eq!(busy.name, "processors of the machine");
    assert!((busy.utilisation - 0.95).abs() < 0.02, "{busy:?}");
    // 0.95 of 2 processors for 30 requests per second.
    let demand = bottleneck.demand_ms.unwrap();
    assert!((demand - 1.9 / 30.0 * 1e3).abs() < 5.0, "{demand}");
    let estimate = bottleneck.estimate.unwrap();
    assert_eq!(estimate.most, 1.5);
    // 3 / 1.28 over 2 / 1.14.
    assert!((estimate.with_serial_part - 1.335_94).abs() < 1e-4, "{estimate:?}");
}

#[test]
fn a_machine_with_time_left_has_no_bottleneck_and_no_estimate() {
    let mut gate = process(Role::Gate, 2.0);
    serve(&mut gate, 0, 10, false, 2);
    let analysis = analyse(&Trace::of(vec![gate]).unwrap());
    assert!(analysis.knee.is_none());
    assert!(analysis.phases[0].above.is_empty());
    assert_eq!((analysis.bottleneck.resource, analysis.bottleneck.estimate), (None, None));
    assert_eq!(analysis.bottleneck.longest_phase.unwrap().0, "upstream");
}

#[test]
fn a_quota_that_was_set_after_the_start_is_the_bottleneck_of_idle_processors() {
    let mut gate = process(Role::Gate, 1.0);
    serve(&mut gate, 0, 10, false, 2);
    for (at, sample) in gate.samples.iter_mut().enumerate() {
        let seconds = sample.at_ns as f64 / 1e9;
        let used = (0.25 * seconds * 1e9) as u64;
        sample.values.retain(|(metric, ..)| *metric == Metric::CoreBusy);
        sample.values.push((Metric::GroupCpu, 0, used));
        if at > 0 {
            sample.values.push((Metric::GroupQuota, 0, 250));
        }
    }
    let found = analyse(&Trace::of(vec![gate]).unwrap()).bottleneck;
    let resource = found.resource.unwrap();
    assert_eq!(resource.name, "quota of the gate's control group");
    assert!((resource.utilisation - 1.0).abs() < 0.01, "{resource:?}");
    assert_eq!(found.estimate.unwrap().processors, 0.25);
    // A quarter of a second of CPU time each second, for ten requests.
    assert!((found.demand_ms.unwrap() - 25.0).abs() < 0.5, "{:?}", found.demand_ms);
}

#[test]
fn means_by_phase_are_per_connection_that_ended_in_the_window() {
    let mut gate = process(Role::Gate, 2.0);
    let steps = [(Phase::Accept, 1), (Phase::HandshakeFull, 20)];
    gate.lines.push(line(1, 0, 0, &steps));
    gate.lines.push(line(1, 1, 21, &[(Phase::AwaitRequest, 4), (Phase::Service, 6)]));
    gate.lines.push(line(2, 0, 0, &[(Phase::HandshakeResumed, 2)]));
    gate.lines.push(line(2, 1, 2, &[(Phase::AwaitRequest, 2), (Phase::Service, 4)]));
    gate.lines.push(line(2, 2, 8, &[(Phase::Idle, 30), (Phase::Service, 2)]));
    let end = |connection, request, at| Line {
        outcome: Outcome::Done,
        status: 0,
        ..line(connection, request, at, &[(Phase::Idle, 10)])
    };
    gate.lines.push(end(1, 2, 31));
    gate.lines.push(end(2, 3, 40));
    let refused = line(3, 0, 40, &[(Phase::Accept, 0), (Phase::Queue, 7)]);
    gate.lines.push(Line { outcome: Outcome::Refused, ..refused });
    // Not over.
    gate.lines.push(line(4, 0, 40, &[(Phase::HandshakeFull, 500)]));

    let means = phase_means(&gate, None);
    assert_eq!((means.connections, means.refused, means.requests), (2, 1, 3));
    assert_eq!((means.full, means.resumed, means.full_share()), (1, 1, Some(0.5)));
    let mean = |phase| means.mean_ms(phase);
    assert_eq!(mean(Phase::HandshakeFull), 10.0);
    assert_eq!(mean(Phase::HandshakeResumed), 1.0);
    assert_eq!(mean(Phase::Service), 6.0);
    assert_eq!(mean(Phase::Idle), 25.0);
    assert_eq!(mean(Phase::Queue), 0.0);
    // 41 ms and 50 ms.
    assert_eq!(means.connection_ms(), 45.5);
    let service = means.phases.iter().find(|mean| mean.phase == "service").unwrap();
    assert_eq!(service.cpu_mean_ms, Some(3.0));

    let first = phase_means(&gate, Some(0..45 * MS));
    assert_eq!((first.connections, first.mean_ms(Phase::HandshakeFull)), (1, 20.0));
    let none = phase_means(&gate, Some(0..1));
    assert!(none.connections == 0 && none.phases.is_empty());
}

#[test]
fn a_customers_wait_is_divided_among_gate_site_and_database() {
    let with = |line: Line, parent, span| Line {
        context: Some(Context { trace: 9, parent, span }),
        ..line
    };
    let mut load = process(Role::Load, 1.0);
    load.lines.push(with(line(1, 1, 0, &[(Phase::Wait, 18), (Phase::Receive, 2)]), 0, 11));
    load.lines.push(with(line(1, 2, 50, &[(Phase::Wait, 99)]), 0, 12));
    let mut gate = process(Role::Gate, 1.0);
    let steps =
        [(Phase::Idle, 50), (Phase::Service, 1), (Phase::Upstream, 12), (Phase::Respond, 2)];
    gate.lines.push(with(line(1, 1, 0, &steps), 11, 21));
    // Another customer's trace with the same span, by chance.
    let stranger = Context { trace: 8, parent: 12, span: 22 };
    gate.lines.push(Line { context: Some(stranger), ..line(2, 1, 0, &steps) });
    let mut site = process(Role::Site, 1.0);
    site.lines.push(with(line(1, 1, 3, &[(Phase::Service, 4), (Phase::Database, 5)]), 21, 31));
    let trace = Trace::of(vec![site, gate, load]).unwrap();
    assert_eq!(
        analyse(&trace).joined,
        Some(Joined {
            requests: 1,
            with_site: 1,
            customer_ms: 20.0,
            gate_ms: 3.0,
            upstream_ms: 12.0,
            before_gate_ms: 5.0,
            site_ms: Some(4.0),
            database_ms: Some(5.0),
            before_site_ms: Some(3.0),
        })
    );
}

#[test]
fn a_request_without_a_response_is_not_among_the_customers_waits() {
    let with = |line: Line, parent, span| Line {
        context: Some(Context { trace: 9, parent, span }),
        ..line
    };
    let mut load = process(Role::Load, 1.0);
    load.lines.push(with(line(1, 1, 0, &[(Phase::Wait, 18), (Phase::Receive, 2)]), 0, 11));
    // The run ended, or the customer left, before the response that the gate sent.
    let open = Line { status: 0, ..line(1, 2, 50, &[(Phase::Wait, 1)]) };
    load.lines.push(with(open, 0, 12));
    let mut gate = process(Role::Gate, 1.0);
    for (parent, span) in [(11, 21), (12, 22)] {
        gate.lines.push(with(line(1, 1, 0, &[(Phase::Upstream, 12)]), parent, span));
    }
    let trace = Trace::of(vec![gate, load]).unwrap();
    let joined = analyse(&trace).joined.unwrap();
    assert_eq!((joined.requests, joined.customer_ms), (1, 20.0));
    assert_eq!(join(&trace, Some(0..1)), Some(joined), "it began in the window");
    assert_eq!(join(&trace, Some(1..u64::MAX)), None, "it began before");
}

#[test]
fn every_metric_that_is_sampled_is_in_the_analysis() {
    let mut gate = process(Role::Gate, 1.0);
    for at in 1..=3u64 {
        let values = Metric::ALL.into_iter().map(|metric| (metric, 0, 100 * at));
        gate.samples.push(Sample { at_ns: at * 100 * MS, values: values.collect() });
    }
    let all = Resources::of(&gate, 0, u64::MAX);
    let fields = serde_json::to_value(&all).unwrap();
    for (name, value) in fields.as_object().unwrap() {
        assert!(!value.is_null(), "{name}");
    }
    for metric in Metric::ALL {
        let mut without = gate.clone();
        for sample in &mut without.samples {
            sample.values.retain(|(found, ..)| *found != metric);
        }
        assert_ne!(Resources::of(&without, 0, u64::MAX), all, "{}", metric.name());
    }
}

#[test]
fn memory_switches_and_pressure_are_told_apart_below_and_above_the_knee() {
    let mut gate = process(Role::Gate, 2.0);
    serve(&mut gate, 0, 10, false, 2);
    serve(&mut gate, 10, 20, false, 2);
    serve(&mut gate, 20, 30, true, 100);
    let (mut switches, mut stalled_us) = (0, 0);
    for (at, sample) in gate.samples.iter_mut().enumerate() {
        // A tenth of a second each; overload begins after 20 s.
        let above = at >= 200;
        switches += if above { 50 } else { 5 };
        stalled_us += if above { 30_000 } else { 1000 };
        // Two seconds later than that: no window below the knee has it.
        let memory = if at >= 220 { 80 << 20 } else { 40 << 20 };
        sample.values.extend([
            (Metric::Involuntary, 0, switches),
            (Metric::GroupPressureCpu, 0, stalled_us),
            (Metric::GroupMemory, 0, memory),
            (Metric::Resident, 0, memory / 2),
            (Metric::ListenOverflows, 0, switches),
        ]);
    }
    let overflows = switches - 5;
    let analysis = analyse(&Trace::of(vec![gate]).unwrap());
    let split = &analysis.phases[0];
    let (below, above) = (&split.resources_below, split.resources_above.as_ref().unwrap());
    // A window across the limit may be on either side.
    let near = |found: Option<f64>, expected: f64| {
        let found = found.unwrap();
        assert!(found > expected / 1.5 && found < expected * 1.5, "{found} for {expected}");
    };
    near(below.involuntary_per_s, 50.0);
    near(above.involuntary_per_s, 500.0);
    near(below.group_pressure_cpu, 0.01);
    near(above.group_pressure_cpu, 0.3);
    assert_eq!(below.group_memory_most, Some(40 << 20));
    assert_eq!((above.group_memory_most, above.resident_most), (Some(80 << 20), Some(40 << 20)));
    let whole = &analysis.processes[0].resources;
    assert_eq!((whole.resident_first, whole.resident_last), (Some(20 << 20), Some(40 << 20)));
    let counted = below.listen_overflows.unwrap() + above.listen_overflows.unwrap();
    assert_eq!((counted, whole.listen_overflows), (overflows, Some(overflows)));
}

#[test]
fn an_empty_trace_is_analysed() {
    let trace = Trace::of(vec![process(Role::Gate, 1.0)]).unwrap();
    let analysis = analyse(&trace);
    assert!(analysis.windows.is_empty() && analysis.joined.is_none());
    serde_json::to_string(&analysis).unwrap();
}
