//! The measurements of the demo: the ramp that finds the capacity, one policy at one
//! multiple of it, and the baselines between.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tidegate_host::{CoreUse, Files};
use tidegate_load::{Arrivals, RunStage, Snapshot, Stop};

use super::event::{Event, Label};
use super::plan::Plan;
use super::ramp::Ramp;
use super::summary::{Baseline, Point, RampStep, SERVED, Second};
use tidegate_lab::{Probing, Pulse, Testbed};

/// Everything that a measurement needs, and what was measured so far.
pub struct Measurement<'a> {
    pub plan: &'a Plan,
    testbed: &'a Testbed,
    stop: &'a Stop,
    show: &'a mut dyn FnMut(&Event),
    pulse: Pulse,
    began: Instant,
    peak: f64,
    /// Windows beyond the planned ones for which there is time.
    spare: usize,
    /// The current capacity, in sessions per second.
    capacity: f64,
}

/// A baseline's load, as a share of the capacity: the highest at which a machine of
/// changing speed still serves every customer.
const BASELINE_SHARE: f64 = 0.94;
/// Factor of the assumed capacity after a baseline that lost customers.
const BACK_OFF: f64 = 0.9;
/// Baselines in a row that may lose customers.
const BASELINE_TRIES: usize = 2;

/// A measured window: customers, server and machine.
struct Window {
    summary: tidegate_load::Summary,
    at_s: f64,
    server_use: f64,
    others_use: f64,
    machine_speed: f64,
}

impl<'a> Measurement<'a> {
    /// Measures on a testbed until `stop`; events go to `show`.
    ///
    /// # Errors
    /// The pulse cannot be started.
    pub fn new(
        plan: &'a Plan,
        testbed: &'a Testbed,
        stop: &'a Stop,
        show: &'a mut dyn FnMut(&Event),
    ) -> anyhow::Result<Self> {
        let pulse = Pulse::start(&plan.server_cores)?;
        let began = Instant::now();
        let spare = plan.spare_windows();
        Ok(Self { plan, testbed, stop, show, pulse, began, peak: 0.0, spare, capacity: 0.0 })
    }

    /// Finds the capacity without admission control: estimated by the CPU time of a session
    /// under light load, then measured by a staircase of offered rates.
    pub fn capacity(&mut self) -> anyhow::Result<(f64, Vec<RampStep>)> {
        self.phase("Finding the capacity: the CPU time of a session under light load");
        let mut estimate = self.estimate()?;
        for _ in 0..3 {
            self.phase("Finding the capacity: a ramp, until customers leave");
            let ramp = self.ramp(estimate)?;
            let found = ramp.capacity().context("the ramp had no step")?;
            match (found.sessions_per_s > 0.0, found.broke_at_per_s) {
                (true, Some(_)) => {
                    self.capacity = found.sessions_per_s;
                    (self.show)(&Event::Capacity(found.sessions_per_s));
                    return Ok((found.sessions_per_s, ramp.steps()));
                }
                (true, None) => estimate *= 1.6,
                (false, _) => estimate /= 1.6,
            }
        }
        bail!(
            "the ramp found no capacity: it needs a step that completes, below one that does not"
        );
    }

    /// Sessions per second that the server can carry, estimated by CPU time.
    fn estimate(&mut self) -> anyhow::Result<f64> {
        let label = Label { policy: "probe".into(), multiple: None };
        let (plan, testbed) = (self.plan, self.testbed);
        let probing = Probing::new(plan.times.probe);
        plan.experiment.estimate_capacity(testbed, "off", probing, &mut |load, observe| {
            self.drive(load, &label, observe).map(|(summary, _)| summary)
        })
    }

    /// Shows that a phase begins, and the time that the planned rest takes.
    fn phase(&mut self, text: &str) {
        let left = self.plan.length().saturating_sub(self.began.elapsed()).as_secs();
        let text = if left > 0 { format!("{text} ({left} s left)") } else { text.to_owned() };
        (self.show)(&Event::Phase(&text));
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event) {
        (self.show)(event);
    }

    fn ramp(&mut self, estimate: f64) -> anyhow::Result<Ramp> {
        let fill = self.plan.times.warm_up;
        let mut ramp = Ramp::around(estimate, self.plan.times.ramp_step);
        let mut load = self.load("off", ramp.arrivals(fill))?;
        (load.warm_up, load.measure) = (fill, ramp.length());
        let stop = load.stop.clone();
        let label = Label { policy: "ramp".into(), multiple: None };
        self.drive(load, &label, &mut |snapshot| {
            snapshot.second.filter(|second| second.measured).into_iter().for_each(|s| ramp.push(s));
            if ramp.is_broken() {
                stop.stop();
            }
        })?;
        for stretch in ramp.stretches(self.plan.times.window) {
            self.note_peak(stretch.completed_per_s, stretch.completed_ratio);
        }
        Ok(ramp)
    }

    /// Whether there is time for a window beyond the planned ones, which is then used.
    pub fn has_spare_window(&mut self) -> bool {
        let has = self.spare > 0;
        self.spare = self.spare.saturating_sub(1);
        has
    }

    /// One policy at one multiple of the capacity; again where the driver was saturated, while
    /// there is time: on a shared machine that passes, and such figures are not the server's.
    pub fn point(&mut self, policy: &str, multiple: f64, capacity: f64) -> anyhow::Result<Point> {
        let phase = format!("Policy {policy}, {multiple} times the capacity");
        self.phase(&phase);
        let mut point = self.attempt(policy, multiple, capacity)?;
        while point.driver_saturated && self.has_spare_window() {
            let again = format!("{phase}, again: the driver was saturated");
            self.phase(&again);
            point = self.attempt(policy, multiple, capacity)?;
        }
        self.note_peak(point.completed_per_s, point.admitted_completed_ratio);
        Ok(point)
    }

    fn attempt(&mut self, policy: &str, multiple: f64, capacity: f64) -> anyhow::Result<Point> {
        let label = Label { policy: policy.into(), multiple: Some(multiple) };
        let load = self.load(policy, Arrivals::poisson(multiple * capacity))?;
        let Window { summary, at_s, server_use, others_use, machine_speed } =
            self.window(load, policy, &label)?;
        if summary.totals.requests_ok == 0 {
            bail!("{label}: no request succeeded");
        }
        // Failures below the capacity are not due to overload.
        if multiple < 1.0 && summary.totals.failed > summary.totals.offered / 20 {
            let (failed, of) = (summary.totals.failed, summary.totals.offered);
            bail!("{label}: {failed} of {of} sessions failed: {:?}", summary.totals.failed_by_kind);
        }
        Ok(Point {
            policy: policy.into(),
            multiple,
            capacity_per_s: capacity,
            at_s,
            server_use,
            others_use,
            machine_speed,
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

    /// Measures the unprotected service just below its capacity, again at a lighter load if
    /// customers were lost, and sets the current capacity by it.
    pub fn baselines(&mut self) -> anyhow::Result<Vec<Baseline>> {
        let mut baselines = Vec::new();
        while baselines.len() < BASELINE_TRIES {
            let baseline = self.baseline()?;
            baselines.push(baseline);
            if baseline.is_carried() {
                self.capacity = baseline.carried_per_s / baseline.server_use;
                break;
            }
            self.capacity *= BACK_OFF;
        }
        Ok(baselines)
    }

    /// The capacity by the last baseline, in sessions per second.
    pub fn capacity_now(&self) -> f64 {
        self.capacity
    }

    fn baseline(&mut self) -> anyhow::Result<Baseline> {
        let label = Label { policy: "baseline".into(), multiple: None };
        self.phase("Baseline: the current capacity without admission control");
        let mut load = self.load("off", Arrivals::poisson(BASELINE_SHARE * self.capacity))?;
        load.warm_up = self.plan.times.baseline_warm_up;
        load.measure = self.plan.times.baseline_window;
        let Window { summary, at_s, server_use, machine_speed, .. } =
            self.window(load, "off", &label)?;
        Ok(Baseline {
            at_s,
            offered_per_s: summary.offered_per_s,
            carried_per_s: summary.requests_per_s
                / self.plan.experiment.scenario.session_length().mean_requests,
            completed_ratio: summary.completed_ratio,
            response_p95_ms: summary.response.p95_ms,
            server_use,
            machine_speed,
        })
    }

    fn note_peak(&mut self, completed_per_s: f64, completed_ratio: f64) {
        if completed_ratio >= SERVED {
            self.peak = self.peak.max(completed_per_s);
        }
    }

    /// Most sessions completed per second in any stretch as long as a point's window in
    /// which nearly all were completed.
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// Runs the customers, and observes the server in the measured window.
    fn window(
        &mut self,
        load: tidegate_load::Plan,
        policy: &str,
        label: &Label,
    ) -> anyhow::Result<Window> {
        let (warm_up, length, testbed) = (load.warm_up, load.measure, self.testbed);
        let mut core_use = CoreUse::of(Files::new("/"), &self.plan.server_cores);
        let (summary, began) = self.drive(load, label, &mut |snapshot| {
            if snapshot.stage == RunStage::Measure
                && let Ok(cpu_s) = testbed.cpu_s(policy)
            {
                core_use.look(snapshot.elapsed_s, cpu_s);
            }
        })?;
        let from = began + warm_up;
        let middle = (from + length / 2).saturating_duration_since(self.began);
        Ok(Window {
            summary,
            at_s: middle.as_secs_f64(),
            server_use: core_use.cpus() / self.testbed.cpus(),
            others_use: core_use.others_use().unwrap_or_default(),
            machine_speed: self.pulse.speed(from, from + length),
        })
    }

    /// A run with the lengths of a point.
    fn load(&self, policy: &str, arrivals: Arrivals) -> anyhow::Result<tidegate_load::Plan> {
        let mut load = self.plan.experiment.plan(self.testbed, policy, arrivals)?;
        (load.warm_up, load.measure) = (self.plan.times.warm_up, self.plan.times.window);
        Ok(load)
    }

    /// Runs the customers; every snapshot is shown and goes to `observe`. Returns the
    /// summary and the time when the run began.
    fn drive(
        &mut self,
        load: tidegate_load::Plan,
        label: &Label,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> anyhow::Result<(tidegate_load::Summary, Instant)> {
        let stop = load.stop.clone();
        let mut began = None;
        let summary = tidegate_load::run(load, &mut |snapshot| {
            // Files are read and the first connection is made before the run.
            let elapsed = Duration::from_secs_f64(snapshot.elapsed_s);
            began.get_or_insert_with(|| Instant::now() - elapsed);
            if let Some(second) = snapshot.second {
                show_second(label, &second, self.show);
            }
            observe(snapshot);
            if self.stop.is_stopped() {
                stop.stop();
            }
        })
        .with_context(|| format!("{label}: the customers' run failed"))?;
        if self.stop.is_stopped() {
            bail!("stopped before the end; no results are written");
        }
        Ok((summary, began.context("the run had no snapshot")?))
    }
}

fn show_second(label: &Label, point: &tidegate_load::Point, show: &mut dyn FnMut(&Event)) {
    let handshakes = point.full_handshakes_per_s + point.resumed_handshakes_per_s;
    let share = if handshakes > 0.0 { point.full_handshakes_per_s / handshakes } else { 0.0 };
    show(&Event::Second { label, second: second(point), full_handshake_share: share });
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
