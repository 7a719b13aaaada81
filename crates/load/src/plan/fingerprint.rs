//! Identifies plans that belong to the same test.

use std::fmt::{self, Write as _};

use super::Plan;
use crate::scenario::thresholds::Threshold;

/// A hash of bytes, or of what a value shows when it is debugged.
///
/// Source: G. Fowler, L. C. Noll and P. Vo, FNV-1a of 64 bits.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv {
    /// The hash of a value.
    pub(crate) fn of(value: &impl fmt::Debug) -> Self {
        let mut hash = Self::default();
        // Writing to it cannot fail.
        let _ = write!(hash, "{value:?}");
        hash
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

impl fmt::Display for Fnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A hash of everything in a plan that determines what customers do. Plans with the same
/// fingerprint belong to the same test, whatever their output files are.
pub(crate) fn fingerprint(plan: &Plan) -> String {
    let scenario = plan.scenario.parts();
    // Thresholds by the name of their figure.
    let limit = |t: &Threshold| (t.to_string(), t.min, t.max, t.abort_after);
    let limits: Vec<_> = scenario.thresholds.iter().map(limit).collect();
    // Machines may have the same file in different folders.
    let feeders = scenario.feeders.iter();
    let feeders: Vec<_> = feeders.map(|it| (it.pick, &it.rows, &it.parameters)).collect();
    let all = (
        (&scenario.session, &scenario.pages, &scenario.classes),
        (&scenario.parameters, &scenario.fields, feeders, limits),
        (plan.arrivals().ok(), plan.warm_up, plan.measure, plan.seed, plan.max_sessions),
        (plan.time_scale, plan.patience_scale, plan.customers),
        (plan.tls, &plan.suites, &plan.groups, plan.full_share, plan.tickets_of()),
        (plan.forged_tickets, &plan.server_name),
        (plan.keep, plan.close, plan.http, scenario.connections.parallel, plan.accept_encoding),
    );
    Fnv::of(&all).to_string()
}
