//! Cost of a decision of the controller.

use crate::in_process;
use anyhow::bail;
use serde::Serialize;
use std::hint::black_box;
use std::time::Duration;
use tidegate_control::{AGES, ClassWork, Controller, Moment, Reading, Settings, Usage};
use tidegate_stats::Summary;

/// Time between two readings.
const TICK: Duration = Duration::from_millis(100);

/// Cost of one kind of call of the controller with its default policy.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionCost {
    /// The call.
    pub what: &'static str,
    /// Whether it is made for each connection; else once per tick.
    pub per_connection: bool,
    /// Nanoseconds per call.
    pub nanoseconds: Summary,
}

/// Measures as many batches as there are rounds.
///
/// # Errors
/// The controller does not decide as its state requires, which is a defect.
pub fn measure(rounds: u32, core: usize, home: usize) -> anyhow::Result<Vec<DecisionCost>> {
    in_process::pinned(core, home, || all(rounds))
}

fn all(rounds: u32) -> anyhow::Result<Vec<DecisionCost>> {
    let (mut calm, mut crowded, mut learning) =
        (controller(500), controller(100_000), controller(500));
    Ok(vec![
        cost("a new session, admitted", true, rounds, |now| {
            calm.offered();
            calm.decide(now, Moment::in_flight(0, 0)).is_admit()
        })?,
        cost("a new session, not admitted yet", true, rounds, |now| {
            crowded.offered();
            !crowded.decide(now, Moment::in_flight(3, 40)).is_admit()
        })?,
        cost("a returning customer", true, rounds, |now| {
            learning.returning(now);
            true
        })?,
        cost("a reading, ten times a second", false, rounds, |now| {
            learning.observe(now, &reading(500));
            true
        })?,
    ])
}

/// A controller with so many active sessions.
fn controller(sessions: u32) -> Controller {
    let mut controller = Controller::new(Settings::default());
    for tick in 1..100 {
        controller.observe(TICK * tick, &reading(sessions));
    }
    controller
}

fn reading(sessions_active: u32) -> Reading {
    let usage = Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.02), idle: Some(0.6) };
    let work = ClassWork {
        connections: 10,
        handshakes: 10,
        handshake_cpu_s: 0.005,
        requests: 100,
        request_cpu_s: 0.01,
        ..ClassWork::default()
    };
    Reading {
        elapsed: TICK,
        gate: usage,
        upstream: Some(usage),
        shared: Some(usage),
        new: work,
        returning: work,
        in_flight_requests: 5,
        sessions_active,
        thinking: std::array::from_fn(|age| u64::from(sessions_active) >> age),
        asked: [10; AGES],
        sessions_started: 10,
        upstream_responses: 200,
        upstream_time_s: 0.2,
        upstream_time_ln: 2763.0,
        ..Reading::default()
    }
}

/// Measures `call`, whose argument is a time that grows by 20 ms a call and
/// which returns whether the controller decided as required.
fn cost(
    what: &'static str,
    per_connection: bool,
    rounds: u32,
    mut call: impl FnMut(Duration) -> bool,
) -> anyhow::Result<DecisionCost> {
    let mut now = Duration::from_secs(60);
    let nanoseconds = in_process::nanoseconds(rounds, || {
        now += Duration::from_millis(20);
        if !black_box(call(black_box(now))) {
            bail!("the controller does not decide as required: {what}");
        }
        Ok(())
    })?;
    Ok(DecisionCost { what, per_connection, nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_decides_as_required_and_takes_time() {
        let core = tidegate_host::Cores::of_this_thread().unwrap().list()[0];
        let costs = measure(1, core, core).unwrap();
        assert_eq!(costs.len(), 4);
        assert!(costs.iter().all(|cost| cost.nanoseconds.median > 0.0));
    }
}
