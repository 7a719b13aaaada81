//! Identifies plans that belong to the same test.

use std::fmt::Write as _;

use super::Plan;
use crate::scenario::thresholds::Threshold;

/// A hash of everything in a plan that determines what customers do. Plans with the same
/// fingerprint belong to the same test, whatever their output files are.
///
/// Source: G. Fowler, L. C. Noll and P. Vo, FNV-1a of 64 bits.
pub(crate) fn fingerprint(plan: &Plan) -> String {
    struct Fnv(u64);
    impl std::fmt::Write for Fnv {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
            }
            Ok(())
        }
    }
    let mut hash = Fnv(0xCBF2_9CE4_8422_2325);
    let scenario = plan.scenario.parts();
    // Thresholds by the name of their figure.
    let limit = |t: &Threshold| (t.to_string(), t.min, t.max, t.abort_after);
    let limits: Vec<_> = scenario.thresholds.iter().map(limit).collect();
    // Writing to it cannot fail.
    let _ = write!(
        hash,
        "{:?}",
        (
            (&scenario.session, &scenario.pages, &scenario.classes),
            (&scenario.parameters, &scenario.fields, limits),
            (plan.arrivals().ok(), plan.warm_up, plan.measure, plan.seed, plan.max_sessions),
            (plan.time_scale, plan.patience_scale, plan.customers),
            (plan.tls, &plan.suites, &plan.groups, plan.full_share, plan.tickets_of()),
            (plan.forged_tickets, &plan.server_name),
            (plan.keep, plan.close, plan.http, scenario.connections.parallel, plan.accept_encoding),
        )
    );
    format!("{:016x}", hash.0)
}
