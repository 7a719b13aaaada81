//! The goals of the load generator, and whether a run met them.

use super::customers::{Customers, Kept, Memory, NEAR};
use super::row::Row;
use super::tool::Tool;
use crate::goals::Goal;

/// The generators that Tidegate must not cost more than.
pub const PEERS: [Tool; 2] = [Tool::Wrk, Tool::H2load];
/// Most memory of an idle customer, bytes.
const MEMORY: f64 = 8.0 * 1024.0;
/// Largest relative deviation of an achieved rate, up to a use of [`USE`].
const RATE: f64 = 0.01;
/// Use of the processor up to which the rate must be kept.
const USE: f64 = 0.8;

/// The goals for what was measured.
pub fn of(rows: &[Row], memory: &[Memory], rates: &[Kept]) -> Vec<Goal> {
    let goal = |what, value, limit| Goal::at_most(limit, what, value, (value, value));
    let mut goals = Vec::new();
    for row in rows {
        for (peer, ratio) in row.against.iter().filter(|(peer, _)| PEERS.contains(peer)) {
            let what = format!("{}: CPU of tidegate / {}", row.work.id(), peer.name());
            goals.push(Goal::at_most(1.0, what, ratio.median, (ratio.low, ratio.high)));
        }
    }
    for memory in memory {
        let how = if memory.tls { "over TLS" } else { "over plain HTTP" };
        let Customers { number, asked } = memory.customers;
        let fewer = match number < asked {
            true => format!(", {number} of {asked} (open files)"),
            false => String::new(),
        };
        let what = format!("bytes of an idle customer {how}{fewer}");
        goals.push(goal(what, memory.bytes_per_customer, MEMORY));
    }
    let judged = |kept: &&Kept| kept.cpu_share <= USE + NEAR && kept.limited_by_driver();
    for kept in rates.iter().filter(judged) {
        let what = format!(
            "{:.0} requests/s, {:.0} % of a core: deviation from the requested rate",
            kept.asked_per_s,
            100.0 * kept.cpu_share
        );
        goals.push(goal(what, (kept.achieved_per_s / kept.asked_per_s - 1.0).abs(), RATE));
    }
    goals
}
