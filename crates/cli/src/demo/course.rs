//! The demo's schedule: probes and a ramp that find the capacity, then every policy at multiples
//! of it.
//!
//! The machine's speed drifts meanwhile: a baseline before each load measures the capacity that
//! it is a multiple of, the policies take turns at it, and under overload the assessed policy is
//! measured twice between baselines, and more often while a goal is within the spread and there
//! is time.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use tidegate_experiment::record::{Kind, Record};
use tidegate_experiment::schedule::planned;
use tidegate_experiment::{
    Customers, Error, Offered, Probes, Resources, Result, Run, Schedule, Taken,
};
use tidegate_load::Snapshot;

use super::goals;
use super::plan::{ASSESSED, Plan, Step, is_overload};
use super::ramp::Ramp;
use super::summary::{Baseline, POLICIES, Point, SERVED, Second, Summary};
use super::view::{Label, View};
use crate::testbed::{answered, figure, probes, settings, times};

/// The probes' shares of the estimate before them.
const PROBES: &[f64] = &[1.0, 0.6, 0.8];
/// Ramps until a capacity must be found, and the factor between their estimates.
const RAMPS: usize = 3;
const FURTHER: f64 = 1.6;
/// A baseline's load, as a share of the capacity: the highest at which a machine of
/// changing speed still serves every customer.
const BASELINE_SHARE: f64 = 0.94;
/// Factor of the assumed capacity after a baseline that lost customers.
const BACK_OFF: f64 = 0.9;

/// What was measured so far, and what is left.
pub struct Course<'a> {
    plan: &'a Plan,
    resources: &'a Resources,
    view: View,
    summary: Summary,
    /// What is left, with what is measured now.
    steps: VecDeque<Step>,
    probes: Probes,
    ramp: Ramp,
    /// Ramps that found no capacity.
    ramps: usize,
    /// The current capacity, in sessions per second.
    capacity: f64,
    /// The multiple that is measured, and the capacity when that began.
    load: (f64, f64),
    /// Windows of the point that is measured.
    windows: Vec<Point>,
    /// Windows beyond the planned ones for which there is time.
    spare: usize,
    label: Label,
    /// Runs that have begun.
    runs: usize,
    /// Starts of the first and the current run, in milliseconds since 1970.
    starts_ms: Option<(u64, u64)>,
    /// The costs of the pulse's work in all runs so far, in CPU seconds.
    pulse_costs_s: Vec<f64>,
}

impl<'a> Course<'a> {
    /// All of it is left. What happens is shown in a view.
    pub fn new(plan: &'a Plan, resources: &'a Resources, view: View) -> Self {
        Self {
            plan,
            resources,
            view,
            summary: Summary::default(),
            steps: plan.steps().into(),
            probes: probes(PROBES, &plan.scenario),
            ramp: Ramp::around(0.0, plan.times.ramp_step),
            ramps: 0,
            capacity: 0.0,
            load: (0.0, 0.0),
            windows: Vec::new(),
            spare: plan.spare_windows(),
            label: Label::default(),
            runs: 0,
            starts_ms: None,
            pulse_costs_s: Vec::new(),
        }
    }

    /// The result.
    pub fn finish(mut self) -> Summary {
        let place = |point: &Point| POLICIES.iter().position(|policy| *policy == point.policy);
        self.summary.points.sort_by_key(place);
        self.summary
    }

    /// Shows that a phase begins, and the time that the planned rest takes.
    fn phase(&mut self, text: &str) {
        let text = match self.left().unwrap_or_default().as_secs() {
            0 => text.to_owned(),
            left => format!("{text} ({left} s left)"),
        };
        self.view.phase(&text);
    }

    /// Whether there is time for a window beyond the planned ones, which is then used.
    fn has_spare_window(&mut self) -> bool {
        let has = self.spare > 0;
        self.spare = self.spare.saturating_sub(1);
        has
    }

    /// Keeps the most sessions completed per second in any stretch as long as a point's window
    /// in which nearly all were completed.
    fn note_peak(&mut self, completed_per_s: f64, completed_ratio: f64) {
        if completed_ratio >= SERVED {
            let peak = &mut self.summary.peak_completed_per_s;
            *peak = peak.max(completed_per_s);
        }
    }

    /// Takes the capacity that the ramp found, or sets out for another ramp.
    fn ramped(&mut self) -> Result<()> {
        for stretch in self.ramp.stretches(self.plan.times.window) {
            self.note_peak(stretch.completed_per_s, stretch.completed_ratio);
        }
        let found = self.ramp.capacity();
        let found = found.ok_or_else(|| Error::Process("the ramp had no step".into()))?;
        if found.sessions_per_s > 0.0 && found.broke_at_per_s.is_some() {
            self.summary.capacity_sessions_per_s = found.sessions_per_s;
            self.summary.ramp = self.ramp.steps();
            self.capacity = found.sessions_per_s;
            self.view.capacity(self.capacity);
            self.steps.pop_front();
            return Ok(());
        }
        self.ramps += 1;
        if self.ramps == RAMPS {
            return Err(Error::Process(
                "the ramp found no capacity: it needs a step that completes, below one that does not".into(),
            ));
        }
        self.capacity *= if found.sessions_per_s > 0.0 { FURTHER } else { 1.0 / FURTHER };
        Ok(())
    }

    /// Sums a point up once its windows are there. Where the spread leaves a goal open, more of
    /// them make it smaller.
    fn complete(&mut self, policy: &'static str, multiple: f64) {
        self.summary.set(&self.windows);
        let assessed = policy == ASSESSED && is_overload(multiple);
        if assessed && goals::is_close(&self.summary, multiple) && self.has_spare_window() {
            self.steps.push_front(Step::Baseline { again: false });
            self.steps.push_front(Step::Window { policy, multiple });
            return;
        }
        self.steps.pop_front();
        self.windows.clear();
        if let Some(point) = self.summary.points.last() {
            self.view.point(point, self.summary.share_of_peak(point));
        }
    }

    /// Middle of the window of a run, in seconds since the first load.
    fn at_s(&self, record: &Record) -> f64 {
        let (first, now) = self.starts_ms.unwrap_or_default();
        let windows = record.planned.windows;
        now.saturating_sub(first) as f64 / 1e3 + windows.warm_up_s + windows.measured_s / 2.0
    }

    /// The machine's speed in a run, against its median so far.
    fn machine_speed(&self, record: &Record) -> f64 {
        let mut costs = self.pulse_costs_s.clone();
        costs.sort_by(f64::total_cmp);
        let usual = tidegate_stats::quantile(&costs, 0.5);
        usual.zip(record.pulse_cost_s).map_or(1.0, |(usual, then)| usual / then)
    }

    fn baseline(&self, record: &Record) -> Baseline {
        let figure = |name| figure(record, name);
        Baseline {
            at_s: self.at_s(record),
            offered_per_s: figure("offered_per_s"),
            carried_per_s: figure("requests_per_s") / self.plan.requests_each(),
            completed_ratio: figure("completed_ratio"),
            response_p95_ms: figure("response_p95_ms"),
            server_use: figure("server_use"),
            machine_speed: self.machine_speed(record),
        }
    }

    /// One window of a policy at a multiple of the capacity.
    fn window(&self, record: &Record) -> Result<Point> {
        answered(record, &self.label)?;
        let figure = |name| figure(record, name);
        let (multiple, capacity_per_s) = self.load;
        // Failures below the capacity are not due to overload.
        let (failed, of) = (figure("failed_per_s"), figure("offered_per_s"));
        if multiple < 1.0 && failed > of / 20.0 {
            return Err(Error::Process(format!(
                "{}: {failed:.1} of {of:.1} sessions per second failed; see runs/{}/load.json",
                self.label, record.planned.id
            )));
        }
        Ok(Point {
            policy: self.label.policy.clone(),
            multiple,
            capacity_per_s,
            at_s: self.at_s(record),
            server_use: figure("server_use"),
            others_use: figure("others_use"),
            machine_speed: self.machine_speed(record),
            offered_per_s: figure("offered_per_s"),
            admitted_per_s: figure("admitted_per_s"),
            refused_per_s: figure("refused_per_s"),
            completed_per_s: figure("completed_per_s"),
            abandoned_per_s: figure("abandoned_per_s"),
            admitted_completed_ratio: figure("completed_ratio"),
            response_p50_ms: figure("response_p50_ms"),
            response_p95_ms: figure("response_p95_ms"),
            response_p99_ms: figure("response_p99_ms"),
            requests_per_s: figure("requests_per_s"),
            full_handshake_share: figure("full_handshake_share"),
            returning_refused: figure("returning_refused") as u64,
            driver_saturated: !record.is_sound(),
            series: record.seconds.iter().map(Second::from).collect(),
        })
    }
}

impl<'a> Schedule<'a> for Course<'a> {
    fn next(&mut self) -> Result<Option<Run<'a>>> {
        let step = loop {
            match self.steps.front() {
                Some(Step::Point { policy, multiple }) => self.complete(policy, *multiple),
                Some(Step::Probes) if self.probes.next_per_s().is_none() => {
                    self.capacity = self.probes.capacity_per_s();
                    self.steps.pop_front();
                }
                Some(step) => break *step,
                None => return Ok(None),
            }
        };
        let lengths = &self.plan.times;
        let ((warm_up, measured), offered) = match step {
            Step::Probes => {
                let per_s = self.probes.next_per_s().unwrap_or_default();
                ((lengths.probe / 2, lengths.probe), Offered::at(per_s, None))
            }
            Step::Ramp => {
                self.ramp = Ramp::around(self.capacity, lengths.ramp_step);
                let arrivals = self.ramp.arrivals(lengths.warm_up);
                ((lengths.warm_up, self.ramp.length()), Offered::from(arrivals))
            }
            Step::Baseline { .. } => {
                let offered = Offered::at(BASELINE_SHARE * self.capacity, Some(self.capacity));
                ((lengths.baseline_warm_up, lengths.baseline_window), offered)
            }
            Step::Window { multiple, .. } | Step::Point { multiple, .. } => {
                if multiple != self.load.0 {
                    self.load = (multiple, self.capacity);
                }
                let offered = Offered::at(multiple * self.load.1, Some(self.load.1));
                ((lengths.warm_up, lengths.window), offered)
            }
        };
        let policy = match step {
            Step::Window { policy, .. } => policy,
            _ => "off",
        };
        self.label = step.label();
        let what = step.words();
        self.phase(&what);
        self.runs += 1;
        let id = format!("{:03}-{}", self.runs, self.label.policy);
        let times = times(warm_up.as_secs_f64(), measured.as_secs_f64());
        let settings = settings(policy, &self.resources.server);
        let planned = planned((id, Kind::Run), &settings, (times, self.plan.seed), self.resources);
        let driver = Customers::new(&self.plan.scenario, offered, &self.resources.driver);
        Ok(Some(Run::new(what, planned, Box::new(driver))))
    }

    fn watch(&mut self, snapshot: &Snapshot) -> ControlFlow<()> {
        let now = snapshot.started_at_unix_ms;
        self.starts_ms = Some((self.starts_ms.map_or(now, |(first, _)| first), now));
        let Some(second) = snapshot.second else { return ControlFlow::Continue(()) };
        self.view.second(&self.label, &second);
        if second.measured && self.steps.front() == Some(&Step::Ramp) {
            self.ramp.push(second);
            if self.ramp.is_broken() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// A window in which the driver was saturated is repeated while there is time: on a shared
    /// machine that passes, and such figures are not the server's.
    fn take(&mut self, record: &Record) -> Result<Taken> {
        self.pulse_costs_s.extend(record.pulse_cost_s);
        match self.steps.front() {
            Some(Step::Probes) => self.probes.take(record),
            Some(Step::Ramp) => self.ramped()?,
            Some(Step::Baseline { again }) => {
                let (baseline, again) = (self.baseline(record), *again);
                self.summary.baselines.push(baseline);
                self.steps.pop_front();
                if baseline.is_carried() {
                    self.capacity = baseline.carried_per_s / baseline.server_use;
                } else {
                    self.capacity *= BACK_OFF;
                    if !again {
                        self.steps.push_front(Step::Baseline { again: true });
                    }
                }
            }
            Some(step @ Step::Window { .. }) => {
                let what = step.words();
                let window = self.window(record)?;
                if window.driver_saturated && self.has_spare_window() {
                    self.phase(&format!("{what}, again: the driver was saturated"));
                    return Ok(Taken::Again(record.saturation().unwrap_or_default()));
                }
                self.note_peak(window.completed_per_s, window.admitted_completed_ratio);
                self.windows.push(window);
                self.steps.pop_front();
            }
            Some(Step::Point { .. }) | None => {}
        }
        Ok(Taken::Kept)
    }

    fn left(&self) -> Option<Duration> {
        Some(self.steps.iter().map(|step| self.plan.lasts(step)).sum())
    }
}
