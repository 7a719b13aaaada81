//! Requests that several processes recorded, joined by their trace context: where the
//! customer's wait went.

use crate::format::header::Role;
use crate::format::record::Line;
use crate::read::Trace;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;

/// Means of the requests that are in the files of load generator and gate, milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Joined {
    /// Requests with a response that load generator and gate recorded.
    pub requests: u64,
    /// Of those, the ones that the site recorded too.
    pub with_site: u64,
    /// The customer's wait, from sending the request to its last byte.
    pub customer_ms: f64,
    /// The gate's own part: reading, service and sending the response.
    pub gate_ms: f64,
    /// The request with the upstream, as the gate sees it.
    pub upstream_ms: f64,
    /// The customer's wait that is in no phase of the gate: network, the kernel's buffers, and
    /// the waits of both processes for a processor.
    pub before_gate_ms: f64,
    /// The site's service without the database; `None` without a site.
    pub site_ms: Option<f64>,
    /// The site's time in the database.
    pub database_ms: Option<f64>,
    /// The time with the upstream that is in no phase of the site.
    pub before_site_ms: Option<f64>,
}

/// Joins the requests that began in a window of the monotonic clock (nanoseconds); `None` is the
/// whole trace. Gives `None` if no answered one is in the files of load generator and gate.
pub fn join(trace: &Trace, window: Option<Range<u64>>) -> Option<Joined> {
    let of = |role: Role| {
        let processes = trace.processes.iter().filter(move |p| p.header.role == role);
        processes.flat_map(|process| &process.lines)
    };
    let by_parent = |role: Role| -> HashMap<u64, &Line> {
        of(role).filter_map(|line| Some((line.context?.parent, line))).collect()
    };
    let (gate, site) = (by_parent(Role::Gate), by_parent(Role::Site));
    let of_request = |line: &Line| -> f64 {
        let steps = line.steps.iter().filter(|step| step.phase.is_of_request());
        steps.map(|step| step.took_ns as f64 / 1e6).sum()
    };
    let in_phase = |line: &Line, phase| -> f64 {
        let steps = line.steps.iter().filter(|step| step.phase == phase);
        steps.map(|step| step.took_ns as f64 / 1e6).sum()
    };
    let (mut requests, mut with_site) = (0u64, 0u64);
    let [mut customer, mut in_gate, mut upstream, mut before_gate] = [0.0; 4];
    let [mut in_site, mut database, mut before_site] = [0.0; 3];
    // A request without a response has no last byte that the customer waited for.
    let begins = |line: &Line| window.as_ref().is_none_or(|it| it.contains(&line.start_ns));
    for line in of(Role::Load).filter(|line| line.status > 0 && begins(line)) {
        let Some(context) = line.context else { continue };
        let Some(at_gate) = gate.get(&context.span) else { continue };
        let same = |other: &Line| other.context.is_some_and(|other| other.trace == context.trace);
        if !same(at_gate) {
            continue;
        }
        requests += 1;
        let (waited, gate_all) = (of_request(line), of_request(at_gate));
        let with_upstream = in_phase(at_gate, crate::Phase::Upstream);
        customer += waited;
        in_gate += gate_all - with_upstream;
        upstream += with_upstream;
        before_gate += (waited - gate_all).max(0.0);
        let span = at_gate.context.map_or(0, |context| context.span);
        if let Some(at_site) = site.get(&span).filter(|at_site| same(at_site)) {
            with_site += 1;
            let site_all = of_request(at_site);
            let with_database = in_phase(at_site, crate::Phase::Database);
            in_site += site_all - with_database;
            database += with_database;
            before_site += (with_upstream - site_all).max(0.0);
        }
    }
    let mean = |sum: f64, of: u64| sum / of as f64;
    let of_site = |sum: f64| (with_site > 0).then(|| mean(sum, with_site));
    (requests > 0).then(|| Joined {
        requests,
        with_site,
        customer_ms: mean(customer, requests),
        gate_ms: mean(in_gate, requests),
        upstream_ms: mean(upstream, requests),
        before_gate_ms: mean(before_gate, requests),
        site_ms: of_site(in_site),
        database_ms: of_site(database),
        before_site_ms: of_site(before_site),
    })
}
