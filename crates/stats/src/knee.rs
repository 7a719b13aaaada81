//! The capacity of a service from a staircase of offered rates: the highest rate at which what
//! completes follows what is offered. It needs the outcome of sessions, and no response times.
//!
//! Other questions: the load beyond which the response time grows, in a trace without steps
//! (`trace::analysis::knee`); which resource is the limit (`trace::analysis::bottleneck`,
//! `study::capacity::bottleneck`); what the service carries, estimated while it runs below its
//! limit (`control::sustainable`).

use serde::Serialize;

/// One step of a staircase: the offered rate and the outcome of its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Sessions that arrived per second.
    pub offered_per_s: f64,
    /// Sessions completed per second.
    pub completed_per_s: f64,
    /// Share, 0 to 1, of the sessions ended in this step that completed.
    pub completed_ratio: f64,
}

/// Limits from which a step counts as carried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Carried {
    /// Lowest `completed_ratio`.
    pub completed_ratio: f64,
    /// Lowest `completed_per_s / offered_per_s`. Less strict than the other limit: in a
    /// short step arrivals vary, and some sessions end after the step.
    pub completed_per_offered: f64,
}

impl Default for Carried {
    fn default() -> Self {
        Self { completed_ratio: 0.98, completed_per_offered: 0.9 }
    }
}

/// The capacity found from a staircase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// The highest offered rate that was carried, in sessions per second; 0
    /// if none was.
    pub sessions_per_s: f64,
    /// Completed sessions per second at that rate.
    pub completed_per_s: f64,
    /// The most sessions completed per second at any step, carried or not.
    pub peak_completed_per_s: f64,
    /// The lowest offered rate above it that was not carried; `None` if every higher step
    /// was carried, so that `sessions_per_s` is only a lower bound of the capacity.
    pub broke_at_per_s: Option<f64>,
}

/// Finds the highest offered rate that a service carried. Steps may be in any order; those
/// with a rate that is not finite and above 0 are ignored. A single step that is not
/// carried counts as noise if the next two are carried; otherwise the steps above it do not
/// count.
///
/// `None` if no step is usable.
pub fn capacity(steps: &[Step], carried: Carried) -> Option<Capacity> {
    let mut steps: Vec<Step> = steps.iter().copied().filter(usable).collect();
    steps.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    let peak = steps.iter().map(|step| step.completed_per_s).max_by(f64::total_cmp)?;
    let good: Vec<bool> = steps.iter().map(|step| is_carried(step, carried)).collect();
    // Continue while steps are carried; skip one that is not if the next two are.
    let mut best = None;
    let mut at = 0;
    while at < steps.len() {
        if good[at] {
            best = Some(at);
            at += 1;
        } else if good.get(at + 1) == Some(&true) && good.get(at + 2) == Some(&true) {
            at += 1;
        } else {
            break;
        }
    }
    Some(Capacity {
        sessions_per_s: best.map_or(0.0, |best| steps[best].offered_per_s),
        completed_per_s: best.map_or(0.0, |best| steps[best].completed_per_s),
        peak_completed_per_s: peak,
        broke_at_per_s: steps.get(at).map(|step| step.offered_per_s),
    })
}

fn usable(step: &Step) -> bool {
    let rate = step.offered_per_s;
    rate.is_finite() && rate > 0.0 && step.completed_per_s.is_finite()
}

fn is_carried(step: &Step, carried: Carried) -> bool {
    step.completed_ratio >= carried.completed_ratio
        && step.completed_per_s >= carried.completed_per_offered * step.offered_per_s
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(offered_per_s: f64, completed_per_s: f64, completed_ratio: f64) -> Step {
        Step { offered_per_s, completed_per_s, completed_ratio }
    }

    #[test]
    fn the_knee_of_a_collapsing_server() {
        let steps = [
            step(50.0, 50.0, 1.0),
            step(100.0, 99.0, 1.0),
            step(150.0, 147.0, 0.99),
            step(200.0, 160.0, 0.80),
            step(250.0, 30.0, 0.12),
        ];
        let found = capacity(&steps, Carried::default()).unwrap();
        assert_eq!((found.sessions_per_s, found.completed_per_s), (150.0, 147.0));
        assert_eq!((found.peak_completed_per_s, found.broke_at_per_s), (160.0, Some(200.0)));
    }

    #[test]
    fn one_failed_step_below_two_carried_ones_is_noise() {
        let steps = [
            step(50.0, 50.0, 1.0),
            step(100.0, 80.0, 0.85),
            step(150.0, 149.0, 1.0),
            step(200.0, 195.0, 0.99),
            step(250.0, 100.0, 0.4),
        ];
        assert_eq!(capacity(&steps, Carried::default()).unwrap().sessions_per_s, 200.0);
    }

    #[test]
    fn one_carried_step_above_the_knee_is_noise() {
        let steps = [
            step(100.0, 100.0, 1.0),
            step(150.0, 90.0, 0.6),
            step(200.0, 190.0, 0.99),
            step(250.0, 20.0, 0.1),
        ];
        assert_eq!(capacity(&steps, Carried::default()).unwrap().sessions_per_s, 100.0);
    }

    #[test]
    fn a_staircase_without_a_failed_step_gives_a_lower_bound() {
        let steps = [step(20.0, 20.0, 1.0), step(10.0, 10.0, 1.0)];
        let found = capacity(&steps, Carried::default()).unwrap();
        assert_eq!((found.sessions_per_s, found.broke_at_per_s), (20.0, None));
    }

    #[test]
    fn a_server_that_carries_nothing_has_no_capacity() {
        let found = capacity(&[step(10.0, 1.0, 0.1)], Carried::default()).unwrap();
        assert_eq!((found.sessions_per_s, found.broke_at_per_s), (0.0, Some(10.0)));
        assert_eq!(capacity(&[step(f64::NAN, 1.0, 1.0)], Carried::default()), None);
    }
}
