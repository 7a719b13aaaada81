//! The measurements of the demo: the ramp that finds the capacity, one policy
//! at one multiple of it, and the baselines between.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tidegate_load::{Arrivals, RunStage, Snapshot, Stop};

use super::busy::Busy;
use super::plan::{Plan, TIME_SCALE};
use super::ramp::Ramp;
use super::summary::{Baseline, Point, RampStep, SERVED, Second};
use super::view::{Event, Label, View};
use tidegate_lab::{Lab, PROBE_PER_S, Promise, Pulse};

/// Everything that a measurement needs, and what it remembers.
pub struct Experiment<'a> {
    pub plan: &'a Plan,
    pub lab: Lab,
    pub stop: Stop,
    pub view: View,
    pulse: Pulse,
    began: Instant,
    peak: f64,
    /// What the machine carries now, in sessions per second.
    capacity: f64,
}

/// Each further probe's share of what the one before it promised. Work costs
/// more on a processor that mostly sleeps, so a light probe promises too little;
/// the ramp finds the rest.
const PROBE_SHARES: [f64; 2] = [0.6, 0.8];
/// A baseline's load, as a share of the capacity: as near to it as a machine of
/// changing speed lets everybody be served.
const BASELINE_SHARE: f64 = 0.94;
/// What is left of the capacity after a baseline that lost customers.
const BACK_OFF: f64 = 0.9;
/// Baselines in a row that may lose customers.
const BASELINE_TRIES: usize = 2;
/// Windows in a row in which the customers' processor may fail to keep up: on a
/// machine shared with others that passes, and what it measured is not the server's.
const WINDOW_TRIES: usize = 3;

/// What a measured window showed of customers, server and machine.
struct Window {
    summary: tidegate_load::Summary,
    at_s: f64,
    server_use: f64,
    machine_speed: f64,
}

impl<'a> Experiment<'a> {
    /// # Errors
    /// When the pulse cannot be taken.
    pub fn new(plan: &'a Plan, lab: Lab, stop: Stop, view: View) -> anyhow::Result<Self> {
        let pulse = Pulse::start(&plan.server_cores)?;
        let began = Instant::now();
        Ok(Self { plan, lab, stop, view, pulse, began, peak: 0.0, capacity: 0.0 })
    }

    /// Finds the capacity without admission control: a light load's CPU time
    /// says where to look, a staircase of offered rates says what is really
    /// carried.
    pub fn capacity(&mut self) -> anyhow::Result<(f64, Vec<RampStep>)> {
        let phase =
            Event::Phase("Finding the capacity: the CPU time of a session under light load");
        self.view.show(&phase);
        let mut promise = self.probe(PROBE_PER_S)?;
        for share in PROBE_SHARES {
            promise = self.probe(share * promise)?;
        }
        for _ in 0..3 {
            self.view.show(&Event::Phase("Finding the capacity: a ramp, until customers leave"));
            let ramp = self.ramp(promise)?;
            let found = ramp.capacity().context("the ramp had no step")?;
            match (found.sessions_per_s > 0.0, found.broke_at_per_s) {
                (true, Some(_)) => {
                    self.capacity = found.sessions_per_s;
                    self.view.show(&Event::Capacity(found.sessions_per_s));
                    return Ok((found.sessions_per_s, ramp.steps()));
                }
                (true, None) => promise *= 1.6,
                (false, _) => promise /= 1.6,
            }
        }
        bail!("the ramp found no capacity: a step that is carried below one that is not");
    }

    /// Sessions per second that the server's processors promise, by the CPU
    /// time of site and gate for one session.
    fn probe(&mut self, per_s: f64) -> anyhow::Result<f64> {
        let mut load = self.load("off", Arrivals::poisson(per_s))?;
        load.warm_up = self.plan.times.probe / 2;
        load.measure = self.plan.times.probe;
        let mut watched = Promise::default();
        let label = Label { policy: "probe".into(), multiple: None };
        let (summary, _) = self.drive(load, &label, &mut |snapshot, lab| {
            if let Ok(cpu_s) = lab.cpu_s("off") {
                watched.note(snapshot, cpu_s);
            }
        })?;
        let requests = self.plan.scenario.session_length().mean_requests;
        watched.sessions_per_s(&summary, self.lab.cpu_s("off")?, self.lab.cpus(), requests)
    }

    fn ramp(&mut self, promise: f64) -> anyhow::Result<Ramp> {
        let fill = self.plan.times.warm_up;
        let mut ramp = Ramp::around(promise, self.plan.times.ramp_step);
        let mut load = self.load("off", ramp.arrivals(fill))?;
        (load.warm_up, load.measure) = (fill, ramp.length());
        let broken = load.stop.clone();
        let label = Label { policy: "ramp".into(), multiple: None };
        self.drive(load, &label, &mut |snapshot, _| {
            snapshot.second.filter(|second| second.measured).into_iter().for_each(|s| ramp.push(s));
            if ramp.is_broken() {
                broken.stop();
            }
        })?;
        for stretch in ramp.stretches(self.plan.times.window) {
            self.carry(stretch.completed_per_s, stretch.completed_ratio);
        }
        Ok(ramp)
    }

    /// One policy at one multiple of the capacity; once more where the customers'
    /// processor did not keep up.
    pub fn point(&mut self, policy: &str, multiple: f64, capacity: f64) -> anyhow::Result<Point> {
        let phase = format!("Policy {policy}, {multiple} times the capacity");
        self.view.show(&Event::Phase(&phase));
        let mut point = self.attempt(policy, multiple, capacity)?;
        for _ in 1..WINDOW_TRIES {
            if !point.driver_saturated {
                break;
            }
            let again = format!("{phase}, again: the customers' processor did not keep up");
            self.view.show(&Event::Phase(&again));
            point = self.attempt(policy, multiple, capacity)?;
        }
        self.carry(point.completed_per_s, point.admitted_completed_ratio);
        Ok(point)
    }

    fn attempt(&mut self, policy: &str, multiple: f64, capacity: f64) -> anyhow::Result<Point> {
        let label = Label { policy: policy.into(), multiple: Some(multiple) };
        let load = self.load(policy, Arrivals::poisson(multiple * capacity))?;
        let Window { summary, at_s, server_use, machine_speed } =
            self.window(load, policy, &label)?;
        if summary.totals.requests_ok == 0 {
            bail!("{label}: no request succeeded");
        }
        // Failures below the capacity are no overload: something is broken.
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

    /// The unprotected service at a load that it carries, repeated at a lighter
    /// one where customers were lost. Tells what the machine carries now.
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

    /// What the machine carries now, in sessions per second, by the last
    /// baseline.
    pub fn capacity_now(&self) -> f64 {
        self.capacity
    }

    fn baseline(&mut self) -> anyhow::Result<Baseline> {
        let label = Label { policy: "baseline".into(), multiple: None };
        self.view.show(&Event::Phase("What the machine carries now, without admission control"));
        let mut load = self.load("off", Arrivals::poisson(BASELINE_SHARE * self.capacity))?;
        load.warm_up = self.plan.times.baseline_warm_up;
        load.measure = self.plan.times.baseline_window;
        let Window { summary, at_s, server_use, machine_speed } =
            self.window(load, "off", &label)?;
        Ok(Baseline {
            at_s,
            offered_per_s: summary.offered_per_s,
            carried_per_s: summary.requests_per_s
                / self.plan.scenario.session_length().mean_requests,
            completed_ratio: summary.completed_ratio,
            server_use,
            machine_speed,
        })
    }

    fn carry(&mut self, completed_per_s: f64, completed_ratio: f64) {
        if completed_ratio >= SERVED {
            self.peak = self.peak.max(completed_per_s);
        }
    }

    /// The most that was carried in any stretch as long as a point's window.
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// Runs the customers, and watches the server in the measured window.
    fn window(
        &mut self,
        load: tidegate_load::Plan,
        policy: &str,
        label: &Label,
    ) -> anyhow::Result<Window> {
        let (warm_up, length) = (load.warm_up, load.measure);
        let mut busy = Busy::default();
        let (summary, began) = self.drive(load, label, &mut |snapshot, lab| {
            if snapshot.stage == RunStage::Measure
                && let Ok(cpu_s) = lab.cpu_s(policy)
            {
                busy.note(snapshot.elapsed_s, cpu_s);
            }
        })?;
        let from = began + warm_up;
        let middle = (from + length / 2).saturating_duration_since(self.began);
        Ok(Window {
            summary,
            at_s: middle.as_secs_f64(),
            server_use: busy.cpus() / self.lab.cpus(),
            machine_speed: self.pulse.speed(from, from + length),
        })
    }

    /// What every run of the demo has in common.
    fn load(&self, policy: &str, arrivals: Arrivals) -> anyhow::Result<tidegate_load::Plan> {
        let plan = self.plan;
        let mut load = tidegate_load::Plan::new(plan.scenario.clone(), &self.lab.target(policy)?);
        load.arrivals = Some(arrivals);
        load.warm_up = plan.times.warm_up;
        load.measure = plan.times.window;
        load.time_scale = TIME_SCALE;
        load.seed = plan.seed;
        load.cores = plan.driver_cores.list().to_vec();
        load.insecure = true;
        load.customers = Some(self.lab.customers());
        Ok(load)
    }

    /// Runs the customers; every snapshot goes to the view and to `observe`.
    /// Gives the summary and when the run began.
    fn drive(
        &mut self,
        load: tidegate_load::Plan,
        label: &Label,
        observe: &mut dyn FnMut(&Snapshot, &Lab),
    ) -> anyhow::Result<(tidegate_load::Summary, Instant)> {
        let pull = load.stop.clone();
        let mut began = None;
        let summary = tidegate_load::run(load, &mut |snapshot| {
            // Reading files and the first connection come before the run.
            let elapsed = Duration::from_secs_f64(snapshot.elapsed_s);
            began.get_or_insert_with(|| Instant::now() - elapsed);
            if let Some(second) = snapshot.second {
                show_second(label, &second, &mut self.view);
            }
            observe(snapshot, &self.lab);
            if self.stop.is_stopped() {
                pull.stop();
            }
        })
        .with_context(|| format!("{label}: the customers' run failed"))?;
        if self.stop.is_stopped() {
            bail!("stopped before the end; no results are written");
        }
        Ok((summary, began.context("the run showed nothing")?))
    }
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
