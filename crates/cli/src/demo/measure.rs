//! The measurements of the demo: the ramp that finds the capacity, and one
//! policy at one multiple of it.

use std::time::Duration;

use anyhow::{Context, bail};
use tidegate_load::arrivals::{Process, Segment};
use tidegate_load::{Arrivals, RunStage, Snapshot, Stop};
use tidegate_stats::{Carried, Step};

use super::lab::Lab;
use super::plan::{Plan, TIME_SCALE};
use super::summary::{Point, RampStep, Second};
use super::view::{Event, Label, View};

/// A stop that Ctrl-C and SIGTERM pull; the second one ends the demo at once.
///
/// # Errors
/// When the handler's thread cannot be started.
pub fn stop_on_signal() -> anyhow::Result<Stop> {
    let stop = Stop::default();
    let pulled = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            // A second signal finds the handlers still installed, so it is
            // waited for as well.
            for _ in 0..2 {
                if crate::signals::stop_requested().await.is_err() {
                    return;
                }
                if pulled.is_stopped() {
                    std::process::exit(3);
                }
                pulled.stop();
            }
        });
    })?;
    Ok(stop)
}

/// Sessions per second of the first probe: light for any machine that can
/// compile this.
const PROBE_PER_S: f64 = 15.0;
/// Each further probe's share of what the one before it promised. Work costs
/// more on a processor that mostly sleeps, so a light probe promises too little.
const PROBE_SHARES: [f64; 2] = [0.6, 0.8];
/// The ramp's first step, as a share of what the probe's CPU time promises,
/// and the factor between steps: the resolution of the capacity.
const RAMP_BEGIN: f64 = 0.8;
const RAMP_FACTOR: f64 = 1.07;
/// The ramp ends here even if nothing breaks: 0.8 × 1.07^13 is 1.9 times the
/// promise.
const RAMP_STEPS: i32 = 14;
/// Overload shows in customers who leave. How many complete per second is told
/// less sharply by a step of seconds: its arrivals are random, and sessions
/// that began in the step before still end in it.
const CARRIED: Carried = Carried { completed_ratio: 0.98, completed_per_offered: 0.75 };

/// Finds the capacity without admission control: a light load's CPU time says
/// where to look, a staircase of offered rates says what is really carried.
pub fn capacity(
    plan: &Plan,
    lab: &mut Lab,
    stop: &Stop,
    view: &mut View,
) -> anyhow::Result<(f64, Vec<RampStep>)> {
    lab.open_gate("off")?;
    view.show(&Event::Phase("Finding the capacity: the CPU time of a session under light load"));
    let mut promise = probe(PROBE_PER_S, plan, lab, stop, view)?;
    for share in PROBE_SHARES {
        promise = probe(share * promise, plan, lab, stop, view)?;
    }
    for _ in 0..3 {
        view.show(&Event::Phase("Finding the capacity: a ramp, until customers leave"));
        let steps = ramp(plan, lab, promise, stop, view)?;
        let staircase: Vec<Step> = steps.iter().map(stair).collect();
        let found = tidegate_stats::capacity(&staircase, CARRIED)
            .context("the ramp had no step")?;
        match (found.sessions_per_s > 0.0, found.broke_at_per_s) {
            (true, Some(_)) => return Ok((found.sessions_per_s, steps)),
            (true, None) => promise *= 1.6,
            (false, _) => promise /= 1.6,
        }
    }
    bail!("the ramp found no capacity: a step that is carried below one that is not");
}

fn stair(step: &RampStep) -> Step {
    let RampStep { offered_per_s, completed_per_s, completed_ratio, .. } = *step;
    Step { offered_per_s, completed_per_s, completed_ratio }
}

/// Sessions per second that the server's processors promise, by the CPU time
/// of site and gate for one session.
fn probe(per_s: f64, plan: &Plan, lab: &Lab, stop: &Stop, view: &mut View) -> anyhow::Result<f64> {
    let mut load = base(plan, lab, Arrivals::poisson(per_s))?;
    load.warm_up = plan.times.probe / 2;
    load.measure = plan.times.probe;
    // Caches are cold and tables are empty at first: the warm-up's CPU time
    // tells nothing about a session's.
    let mut at_warm_up_end = None;
    let label = Label { policy: "probe".into(), multiple: None };
    let summary = drive(load, &label, stop, view, &mut |snapshot| {
        if snapshot.stage == RunStage::Measure {
            at_warm_up_end.get_or_insert_with(|| (lab.cpu_s(), snapshot.totals.requests_ok));
        }
    })?;
    let (cpu_s, requests) = at_warm_up_end.context("the probe ended before it began")?;
    let spent = lab.cpu_s()? - cpu_s?;
    // Sessions cut off at the end spent less than a whole one, so requests are
    // counted rather than sessions.
    let requests = (summary.totals.requests_ok - requests) as f64;
    if requests < 1.0 || spent <= 0.0 {
        bail!("the probe completed no request");
    }
    Ok(lab.cpus() * requests / plan.scenario.session_length().mean_requests / spent)
}

fn ramp(
    plan: &Plan,
    lab: &Lab,
    promise: f64,
    stop: &Stop,
    view: &mut View,
) -> anyhow::Result<Vec<RampStep>> {
    let rates: Vec<f64> =
        (0..RAMP_STEPS).map(|i| promise * RAMP_BEGIN * RAMP_FACTOR.powi(i)).collect();
    let (fill, lasts) = (plan.times.warm_up, plan.times.ramp_step);
    let segment = |lasts, rate: f64| Segment { lasts, from_per_s: rate, to_per_s: rate };
    // At first nobody has had the time to complete a session.
    let mut segments = vec![segment(fill, rates[0])];
    segments.extend(rates.iter().map(|rate| segment(lasts, *rate)));
    let mut load = base(plan, lab, Arrivals::segments(Process::Poisson, segments))?;
    load.warm_up = fill;
    load.measure = lasts * rates.len() as u32;
    let broken = load.stop.clone();
    let label = Label { policy: "ramp".into(), multiple: None };
    let mut seconds: Vec<tidegate_load::Point> = Vec::new();
    drive(load, &label, stop, view, &mut |snapshot| {
        seconds.extend(snapshot.second.filter(|second| second.measured));
        if is_broken(&steps(&rates, lasts, &seconds)) {
            broken.stop();
        }
    })?;
    Ok(steps(&rates, lasts, &seconds))
}

/// Two steps in a row that were not carried end the ramp: one may be noise.
fn is_broken(steps: &[RampStep]) -> bool {
    let lost = |step: &RampStep| step.completed_ratio < 0.9;
    matches!(steps, [.., a, b] if lost(a) && lost(b))
}

/// The finished steps of a ramp from its seconds; the first third of each is
/// left out, in which the step before it still ends.
fn steps(rates: &[f64], lasts: Duration, seconds: &[tidegate_load::Point]) -> Vec<RampStep> {
    let length = lasts.as_secs_f64();
    let begin = seconds.first().map_or(0.0, |first| first.at_s - first.length_s);
    let measured = |step: usize| {
        let (from, to) =
            (begin + (step as f64 + 1.0 / 3.0) * length, begin + (step as f64 + 1.0) * length);
        let inside = move |second: &&tidegate_load::Point| {
            second.at_s > from + 0.5 && second.at_s <= to + 0.01
        };
        let inside: Vec<_> = seconds.iter().filter(inside).collect();
        let complete = seconds.last().is_some_and(|last| last.at_s > to - 0.5);
        (complete && !inside.is_empty()).then_some(inside)
    };
    rates
        .iter()
        .enumerate()
        .map_while(|(i, rate)| measured(i).map(|inside| step(*rate, &inside)))
        .collect()
}

fn step(rate: f64, seconds: &[&tidegate_load::Point]) -> RampStep {
    let mean = |of: fn(&tidegate_load::Point) -> f64| {
        seconds.iter().map(|s| of(s)).sum::<f64>() / seconds.len() as f64
    };
    let completed = mean(|s| s.completed_per_s);
    let lost = mean(|s| s.abandoned_per_s + s.failed_per_s);
    RampStep {
        offered_per_s: rate,
        completed_per_s: completed,
        completed_ratio: if completed + lost > 0.0 { completed / (completed + lost) } else { 0.0 },
        response_p95_ms: mean(|s| s.response.p95_ms),
    }
}

/// One policy at one multiple of the capacity.
pub fn point(
    plan: &Plan,
    lab: &Lab,
    policy: &str,
    multiple: f64,
    capacity: f64,
    stop: &Stop,
    view: &mut View,
) -> anyhow::Result<Point> {
    let label = Label { policy: policy.into(), multiple: Some(multiple) };
    view.show(&Event::Phase(&format!("Policy {policy}, {multiple} times the capacity")));
    let load = base(plan, lab, Arrivals::poisson(multiple * capacity))?;
    let summary = drive(load, &label, stop, view, &mut |_| ())?;
    if summary.totals.requests_ok == 0 {
        bail!("{label}: no request succeeded");
    }
    // Failures below the capacity are no overload: something is broken.
    if multiple < 1.0 && summary.totals.failed > summary.totals.offered / 20 {
        bail!(
            "{label}: {} of {} sessions failed: {:?}",
            summary.totals.failed,
            summary.totals.offered,
            summary.totals.failed_by_kind
        );
    }
    Ok(Point {
        policy: policy.into(),
        multiple,
        offered_per_s: summary.offered_per_s,
        admitted_per_s: summary.admitted_per_s,
        refused_per_s: summary.refused_per_s,
        completed_per_s: summary.completed_per_s,
        abandoned_per_s: summary.abandoned_per_s,
        admitted_completed_ratio: summary.completed_ratio,
        response_p50_ms: summary.response.p50_ms,
        response_p95_ms: summary.response.p95_ms,
        response_p99_ms: summary.response.p99_ms,
        requests_per_s: summary.requests_per_s,
        full_handshake_share: summary.full_handshake_share,
        returning_refused: summary.totals.returning_refused,
        driver_saturated: summary.driver_saturated,
        series: summary.series.iter().map(second).collect(),
    })
}

/// What every run of the demo has in common.
fn base(plan: &Plan, lab: &Lab, arrivals: Arrivals) -> anyhow::Result<tidegate_load::Plan> {
    let mut load = tidegate_load::Plan::new(plan.scenario.clone(), &lab.target()?);
    load.arrivals = Some(arrivals);
    load.warm_up = plan.times.warm_up;
    load.measure = plan.times.window;
    load.time_scale = TIME_SCALE;
    load.seed = plan.seed;
    load.cores = plan.driver_cores.list().to_vec();
    load.insecure = true;
    load.customers = Some(lab.customers());
    Ok(load)
}

/// Runs the customers; every snapshot goes to the view and to `observe`.
fn drive(
    load: tidegate_load::Plan,
    label: &Label,
    stop: &Stop,
    view: &mut View,
    observe: &mut dyn FnMut(&Snapshot),
) -> anyhow::Result<tidegate_load::Summary> {
    let pull = load.stop.clone();
    let summary = tidegate_load::run(load, &mut |snapshot| {
        if let Some(second) = snapshot.second {
            show_second(label, &second, view);
        }
        observe(snapshot);
        if stop.is_stopped() {
            pull.stop();
        }
    })
    .with_context(|| format!("{label}: the customers' run failed"))?;
    check_stop(stop)?;
    Ok(summary)
}

fn check_stop(stop: &Stop) -> anyhow::Result<()> {
    if stop.is_stopped() { bail!("stopped before the end; nothing was written") } else { Ok(()) }
}

fn show_second(label: &Label, point: &tidegate_load::Point, view: &mut View) {
    let handshakes = point.full_handshakes_per_s + point.resumed_handshakes_per_s;
    let share = if handshakes > 0.0 { point.full_handshakes_per_s / handshakes } else { 0.0 };
    view.show(&Event::Second { label, second: second(point), full_handshake_share: share });
}

fn second(point: &tidegate_load::Point) -> Second {
    Second {
        at_s: point.at_s,
        offered_per_s: point.offered_per_s,
        completed_per_s: point.completed_per_s,
        refused_per_s: point.refused_per_s,
        abandoned_per_s: point.abandoned_per_s,
        response_p95_ms: point.response.p95_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second_at(at_s: f64, completed: f64, abandoned: f64) -> tidegate_load::Point {
        tidegate_load::Point {
            at_s,
            length_s: 1.0,
            completed_per_s: completed,
            abandoned_per_s: abandoned,
            ..Default::default()
        }
    }

    #[test]
    fn a_step_leaves_out_its_first_third_and_waits_for_its_end() {
        let seconds: Vec<_> = (1..=8).map(|i| second_at(f64::from(i), f64::from(i), 0.0)).collect();
        let steps = steps(&[10.0, 20.0], Duration::from_secs(6), &seconds);
        assert_eq!(steps.len(), 1);
        // Seconds 3 to 6 of the first step.
        assert_eq!(steps[0].completed_per_s, 4.5);
    }

    #[test]
    fn two_lost_steps_in_a_row_end_the_ramp_but_one_does_not() {
        let step = |ratio| RampStep {
            offered_per_s: 1.0,
            completed_per_s: 1.0,
            completed_ratio: ratio,
            response_p95_ms: 1.0,
        };
        assert!(!is_broken(&[step(1.0), step(0.5)]));
        assert!(!is_broken(&[step(0.5), step(1.0)]));
        assert!(is_broken(&[step(1.0), step(0.5), step(0.5)]));
    }

    #[test]
    fn a_step_in_which_nobody_finished_was_not_carried() {
        assert_eq!(step(5.0, &[&second_at(1.0, 0.0, 0.0)]).completed_ratio, 0.0);
    }
}
