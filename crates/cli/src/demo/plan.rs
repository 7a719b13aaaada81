//! The course of the demo, fixed before anything starts.

use std::time::Duration;

use super::Args;
use super::summary::{POLICIES, Setting};
use super::view::Label;
use crate::testbed::{self, CERTIFICATE, CUSTOMERS, PATIENCE_S, THINK_S, TIME_SCALE};
use tidegate_host::Cores;
use tidegate_load::Scenario;

/// The demo's course and conditions.
pub struct Plan {
    pub server_cores: Cores,
    pub driver_cores: Cores,
    /// A short run, whose figures are rough.
    pub quick: bool,
    pub policies: &'static [&'static str],
    pub multiples: &'static [f64],
    pub times: Times,
    /// What customers do, and the seed of their choices.
    pub scenario: Scenario,
    pub seed: u64,
}

/// A part of the demo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Probes, by whose CPU time the capacity is estimated.
    Probes,
    /// A ramp that finds it.
    Ramp,
    /// The service without admission control, just below its capacity; `again` at a lighter load,
    /// after one that lost customers.
    Baseline { again: bool },
    /// A policy at a multiple of the capacity.
    Window { policy: &'static str, multiple: f64 },
    /// The end of its windows.
    Point { policy: &'static str, multiple: f64 },
}

impl Step {
    /// What is measured, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Probes => {
                "Finding the capacity: the CPU time of a session under light load".into()
            }
            Self::Ramp => "Finding the capacity: a ramp, until customers leave".into(),
            Self::Baseline { .. } => {
                "Baseline: the current capacity without admission control".into()
            }
            Self::Window { policy, multiple } | Self::Point { policy, multiple } => {
                format!("Policy {policy}, {multiple} times the capacity")
            }
        }
    }

    /// The same as a short name.
    pub fn label(&self) -> Label {
        let (policy, multiple) = match *self {
            Self::Probes => ("probe", None),
            Self::Ramp => ("ramp", None),
            Self::Baseline { .. } => ("baseline", None),
            Self::Window { policy, multiple } | Self::Point { policy, multiple } => {
                (policy, Some(multiple))
            }
        };
        Label { policy: policy.into(), multiple }
    }
}

/// The lengths of the parts.
pub struct Times {
    /// The measured time of a probe, after a warm-up of half of it.
    pub probe: Duration,
    /// One step of the ramp; its first third is not measured.
    pub ramp_step: Duration,
    pub warm_up: Duration,
    pub window: Duration,
    /// The same for a baseline, whose sessions do not accumulate.
    pub baseline_warm_up: Duration,
    pub baseline_window: Duration,
}

/// The whole demo takes no longer, if nothing has to be repeated.
const LONGEST: Duration = Duration::from_secs(300);
/// Windows beyond the planned ones of a quick demo.
const QUICK_SPARE: usize = 1;
/// Probes and steps of the ramp that it usually takes.
const PROBES: u32 = 3;
const RAMP_STEPS: u32 = 10;

/// The policy that the goals are about.
pub const ASSESSED: &str = "tide";

impl Plan {
    /// # Errors
    /// When the processors asked for are not there: bad input.
    pub fn new(args: &Args) -> anyhow::Result<Self> {
        let cores = tidegate_lab::apart(&args.server_cores, &args.driver_cores)?;
        Ok(Self::of(args.quick, args.seed, cores))
    }

    fn of(quick: bool, seed: u64, (server_cores, driver_cores): (Cores, Cores)) -> Self {
        let seconds = |quick_s, whole_s| Duration::from_secs(if quick { quick_s } else { whole_s });
        let times = Times {
            probe: seconds(2, 3),
            ramp_step: seconds(3, 3),
            warm_up: seconds(4, 4),
            window: seconds(6, 6),
            baseline_warm_up: seconds(3, 4),
            baseline_window: seconds(3, 5),
        };
        Self {
            scenario: testbed::customers(),
            seed,
            server_cores,
            driver_cores,
            policies: if quick { &["off", ASSESSED] } else { &POLICIES },
            quick,
            multiples: if quick { &[0.5, 4.0] } else { &[0.5, 1.0, 2.0, 4.0] },
            times,
        }
    }

    /// The introduction that is printed at the beginning.
    pub fn introduction(&self) -> String {
        let rough = if self.quick { " The figures of --quick are rough." } else { "" };
        format!(
            "Tidegate demo: an auction site and the gate on processor {}, customers on processor {}.\n\
             First a ramp finds the capacity; then {} policies run at {} loads each. About {:.0} s.{rough}",
            self.server_cores,
            self.driver_cores,
            self.policies.len(),
            self.multiples.len(),
            self.length().as_secs_f64(),
        )
    }

    /// All parts in their order. A baseline measures the capacity before each load, unless the
    /// load before it ended with one; what is assessed under overload is measured twice, since the
    /// machine's speed drifts for seconds at a time.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Probes, Step::Ramp];
        let baseline = Step::Baseline { again: false };
        for &multiple in self.multiples {
            if !matches!(steps[..], [.., Step::Baseline { .. }, Step::Point { .. }]) {
                steps.push(baseline);
            }
            for &policy in self.policies {
                let window = Step::Window { policy, multiple };
                match policy == ASSESSED && is_overload(multiple) {
                    true => steps.extend([baseline, window, baseline, window, baseline]),
                    false => steps.push(window),
                }
                steps.push(Step::Point { policy, multiple });
            }
        }
        steps
    }

    /// How long a part takes.
    pub fn lasts(&self, step: &Step) -> Duration {
        let times = &self.times;
        match step {
            Step::Probes => times.probe * 3 / 2 * PROBES,
            Step::Ramp => times.warm_up + times.ramp_step * RAMP_STEPS,
            Step::Baseline { .. } => times.baseline_warm_up + times.baseline_window,
            Step::Window { .. } => times.warm_up + times.window,
            Step::Point { .. } => Duration::ZERO,
        }
    }

    /// How long all of it takes, without windows beyond the planned ones.
    fn length(&self) -> Duration {
        self.steps().iter().map(|step| self.lasts(step)).sum()
    }

    /// Windows that fit into [`LONGEST`] beyond the planned ones: a noisy machine needs more.
    pub fn spare_windows(&self) -> usize {
        let left = LONGEST.saturating_sub(self.length()).as_secs_f64();
        let window = Step::Window { policy: ASSESSED, multiple: 4.0 };
        let each = self.lasts(&window) + self.lasts(&Step::Baseline { again: false });
        if self.quick { QUICK_SPARE } else { (left / each.as_secs_f64()) as usize }
    }

    /// Mean requests of a session.
    pub fn requests_each(&self) -> f64 {
        self.scenario.session_length().mean_requests
    }

    /// The conditions, for the record.
    pub fn setting(&self) -> Setting {
        Setting {
            command: std::env::args().collect::<Vec<_>>().join(" "),
            version: env!("CARGO_PKG_VERSION").into(),
            machine: tidegate_host::Machine::read().to_string(),
            server_cores: self.server_cores.to_string(),
            driver_cores: self.driver_cores.to_string(),
            scenario: CUSTOMERS.into(),
            mean_session_requests: self.requests_each(),
            time_scale: TIME_SCALE,
            think_mean_ms: 1e3 * THINK_S * TIME_SCALE,
            patience_ms: 1e3 * PATIENCE_S * TIME_SCALE,
            seed: self.seed,
            certificate: CERTIFICATE.into(),
            warm_up_s: self.times.warm_up.as_secs_f64(),
            window_s: self.times.window.as_secs_f64(),
            baseline_window_s: self.times.baseline_window.as_secs_f64(),
            elapsed_s: 0.0,
        }
    }
}

/// Whether the offered load is above the capacity.
pub fn is_overload(multiple: f64) -> bool {
    multiple > 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_follows_a_baseline_and_the_whole_takes_five_minutes_at_most() {
        let cores = Cores::new([0]).unwrap();
        let plan = |quick| Plan::of(quick, 1, (cores.clone(), cores.clone()));
        let words = |plan: &Plan| {
            let word = |step: Step| match step {
                Step::Probes => "probes ".to_owned(),
                Step::Ramp => "ramp ".into(),
                Step::Baseline { .. } => "b ".into(),
                Step::Window { policy, multiple } => format!("{policy}{multiple} "),
                Step::Point { .. } => "| ".into(),
            };
            plan.steps().into_iter().map(word).collect::<String>()
        };
        let quick = "probes ramp b off0.5 | tide0.5 | b off4 | b tide4 b tide4 b | ";
        assert_eq!(words(&plan(true)), quick);
        let whole = words(&plan(false));
        let end = "b off2 | eac2 | b tide2 b tide2 b | off4 | eac4 | b tide4 b tide4 b | ";
        assert!(whole.ends_with(end), "{whole}");
        assert!(plan(false).length() < LONGEST && plan(false).spare_windows() > 0);
    }
}
