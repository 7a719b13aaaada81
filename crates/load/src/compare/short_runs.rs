//! Runs of five seconds, simulated: equal ones are not called different more often than the
//! level says, and a tenfold difference is found.

use std::time::Duration;

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use serde_json::json;
use tidegate_stats::Histogram;

use super::run::tests::{read, saved};
use super::{Change, SavedRun, Selection, compare};
use crate::result::series::Subwindow;
use crate::rng::Rng;

const STRETCHES: usize = 32;
const SECONDS: f64 = 5.0;

/// A run in which requests arrive at random at 60 a second, and what `response` gives for each
/// arrival, in seconds.
fn run(seed: u64, mut response: impl FnMut(f64, &mut Rng) -> f64) -> Vec<SavedRun> {
    let mut rng = Rng::seed_from_u64(seed);
    let exponential = |rng: &mut Rng| -> f64 { Exp1.sample(rng) };
    let length_s = SECONDS / STRETCHES as f64;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); STRETCHES];
    let mut offered = [0; STRETCHES];
    let mut at = 0.0;
    loop {
        at += exponential(&mut rng) / 60.0;
        let took = response(at, &mut rng);
        let stretch = |at: f64| (at / length_s) as usize;
        if at >= SECONDS {
            break;
        }
        offered[stretch(at)] += 1;
        if let Some(times) = times.get_mut(stretch(at + took)) {
            times.push(took);
        }
    }
    let stretches = times.iter().zip(offered).map(|(times, offered)| {
        let mut response = Histogram::new();
        times.iter().for_each(|took| response.record(Duration::from_secs_f64(*took)));
        let count = times.len() as u64;
        Subwindow {
            length_s,
            offered,
            completed: count,
            admitted_ended: count,
            requests_ok: count,
            full_handshakes: count,
            response: response.encode(),
            ..Subwindow::default()
        }
    });
    let mut json = saved(seed, &[]);
    json["stretches"] = json!(stretches.collect::<Vec<_>>());
    json["measured_s"] = json!(SECONDS);
    read(&json)
}

/// A server of one place that is busy for so much of the time.
fn queue(seed: u64, busy: f64) -> Vec<SavedRun> {
    let mut free_at: f64 = 0.0;
    run(seed, |at, rng| {
        let service: f64 = Exp1.sample(rng);
        free_at = free_at.max(at) + service * busy / 60.0;
        free_at - at
    })
}

/// A service of this mean, which wanders by `swing` around it within about a second.
fn wandering(seed: u64, mean_s: f64, swing: f64) -> Vec<SavedRun> {
    let (mut level, mut before): (f64, f64) = (0.0, 0.0);
    run(seed, |at, rng| {
        let kept = (before - at).exp();
        let new: f64 = StandardNormal.sample(rng);
        (level, before) = (kept * level + (1.0 - kept * kept).max(0.0).sqrt() * new, at);
        let service: f64 = Exp1.sample(rng);
        mean_s * (swing * level).exp() * (0.5 + 0.5 * service)
    })
}

fn verdicts(a: &[SavedRun], b: &[SavedRun]) -> Vec<(&'static str, Change)> {
    let comparison = compare(a, b, 0.0, &Selection::default(), 0.05);
    comparison.rows.iter().map(|row| (row.figure, row.verdict)).collect()
}

/// In how many of 100 pairs any figure is called different.
fn false_alarms(run: impl Fn(u64) -> Vec<SavedRun>) -> usize {
    let alarm = |pair: &u64| {
        let found = verdicts(&run(2 * pair), &run(2 * pair + 1));
        let none = [Change::NoDifference, Change::Undecided];
        found.iter().any(|(_, verdict)| !none.contains(verdict))
    };
    (1..=100).filter(alarm).count()
}

#[test]
fn equal_runs_of_five_seconds_are_called_different_in_at_most_one_of_twenty() {
    for busy in [0.3, 0.6] {
        let alarms = false_alarms(|seed| queue(seed, busy));
        // 5 % of 100 are 5, with a deviation of 2.2.
        assert!(alarms <= 10, "{alarms} of 100, busy for {busy}");
    }
    let alarms = false_alarms(|seed| wandering(seed, 0.014, 0.3));
    assert!(alarms <= 10, "{alarms} of 100 that wander");
}

#[test]
fn most_runs_of_five_seconds_tell_14_from_145_ms_by_median_and_95th_percentile() {
    let found = (1..=40).filter(|pair| {
        let (a, b) = (wandering(2 * pair, 0.014, 0.05), wandering(2 * pair + 1, 0.145, 0.05));
        let found = verdicts(&a, &b);
        let worse = |name| found.contains(&(name, Change::Worse));
        worse("response_p50_ms") && worse("response_p95_ms")
    });
    let found = found.count();
    assert!(found >= 26, "{found} of 40");
}
