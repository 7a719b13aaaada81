//! Identifies plans that belong to the same test.

use super::Plan;
use crate::fnv::Fnv;
use crate::scenario::thresholds::Threshold;

/// A hash of everything in a plan that determines what customers do. Plans with the same
/// fingerprint belong to the same test, whatever their output files are.
pub(crate) fn fingerprint(plan: &Plan) -> String {
    let scenario = plan.scenario.definition();
    // Thresholds by the name of their figure.
    let limit = |t: &Threshold| (t.to_string(), t.min, t.max, t.abort_after);
    let limits: Vec<_> = scenario.thresholds.iter().map(limit).collect();
    // Machines may have the same file in different folders.
    let feeders = scenario.feeders.iter();
    let feeders: Vec<_> = feeders.map(|it| (it.pick, &it.rows, &it.parameters)).collect();
    let hosts = scenario.hosts.iter();
    let hosts: Vec<_> = hosts.map(|it| (it.url(), it.insecure, &it.server_name, it.http)).collect();
    let all = (
        (&scenario.session, &scenario.pages, &scenario.classes),
        (&scenario.parameters, &scenario.fields, feeders, limits, hosts),
        (plan.arrivals().ok(), plan.warm_up, plan.measure, plan.seed, plan.max_sessions),
        (plan.time_scale, plan.patience_scale, plan.customers),
        (plan.tls, &plan.suites, &plan.groups, plan.full_share, plan.tickets_of()),
        (plan.forged_tickets, &plan.server_name, plan.server_key),
        (plan.keep, plan.close, plan.http, scenario.connections.parallel, plan.accept_encoding),
    );
    Fnv::of(&all).to_string()
}
