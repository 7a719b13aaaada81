//! What the demo is going to do, fixed before anything starts.

use std::time::Duration;

use tidegate_load::Scenario;

use super::Args;
use super::summary::{POLICIES, Setting};
use tidegate_host::Cores;
use tidegate_lab::CERTIFICATE;

/// The demo's course and conditions.
pub struct Plan {
    pub server_cores: Cores,
    pub driver_cores: Cores,
    pub policies: &'static [&'static str],
    pub multiples: &'static [f64],
    pub scenario: Scenario,
    pub times: Times,
    pub seed: u64,
    /// Size of the site's population against RUBiS's.
    pub site_scale: f64,
}

/// How long the parts take.
pub struct Times {
    /// A light load whose CPU time tells where to look for the capacity.
    pub probe: Duration,
    /// One step of the ramp; its first third lets the step before it pass.
    pub ramp_step: Duration,
    pub warm_up: Duration,
    pub window: Duration,
    /// The same for a baseline, whose sessions do not pile up.
    pub baseline_warm_up: Duration,
    pub baseline_window: Duration,
}

/// The policy that the goals are about.
pub const JUDGED: &str = "tide";

/// Human times in the demo: forty times as fast. A customer thinks 175 ms
/// instead of 7 s and leaves after 250 ms instead of 10 s, so that a session
/// takes seconds and the whole comparison fits into five minutes. Keep-alive
/// and hold of the gate shrink with them.
pub const TIME_SCALE: f64 = 1.0 / 40.0;

/// The bidding mix with every row divided by its sum: sessions of a dozen
/// requests, which end within a window.
const SCENARIO: &str = "auction-bidding-normalised";

impl Plan {
    /// # Errors
    /// When the processors asked for are not there: bad input.
    pub fn new(args: &Args) -> anyhow::Result<Self> {
        let (server_cores, driver_cores) =
            tidegate_lab::apart(&args.server_cores, &args.driver_cores)?;
        let scenario = Scenario::built_in(SCENARIO).expect("the scenario ships with the binary");
        let seconds = Duration::from_secs;
        let times = if args.quick {
            Times {
                probe: seconds(2),
                ramp_step: seconds(3),
                warm_up: seconds(4),
                window: seconds(6),
                baseline_warm_up: seconds(4),
                baseline_window: seconds(5),
            }
        } else {
            Times {
                probe: seconds(3),
                ramp_step: seconds(3),
                warm_up: seconds(4),
                window: seconds(6),
                baseline_warm_up: seconds(4),
                baseline_window: seconds(5),
            }
        };
        Ok(Self {
            server_cores,
            driver_cores,
            policies: &POLICIES,
            multiples: if args.quick { &[0.5, 4.0] } else { &[0.5, 1.0, 2.0, 4.0] },
            scenario,
            times,
            seed: args.seed,
            site_scale: 0.01,
        })
    }

    /// What the reader should know before it begins.
    pub fn introduction(&self) -> String {
        let times = &self.times;
        let overloads = self.multiples.iter().filter(|multiple| is_overload(**multiple)).count();
        let judged = overloads * self.windows(true);
        let windows = (self.policies.len() * self.multiples.len() - overloads + judged) as u32;
        // One before each load but for the one after an overload, whose capacity
        // is known.
        let baselines = (self.multiples.len() - overloads.saturating_sub(1)) + judged + overloads;
        let points = (times.warm_up + times.window) * windows;
        let baselines = (times.baseline_warm_up + times.baseline_window) * baselines as u32;
        format!(
            "Tidegate demo: an auction site and the gate on processor {}, customers on processor {}.\n\
             First a ramp finds the capacity; then {} policies meet {} loads. About {:.0} minutes.",
            self.server_cores,
            self.driver_cores,
            self.policies.len(),
            self.multiples.len(),
            ((points + baselines + times.ramp_step * 10).as_secs_f64() / 60.0).ceil(),
        )
    }

    /// How often a point is measured. What is judged under overload is measured
    /// twice: a machine's moods last for seconds, and one window would tell theirs.
    pub fn windows(&self, judged: bool) -> usize {
        if judged { 2 } else { 1 }
    }

    /// The conditions, for the record.
    pub fn setting(&self) -> Setting {
        Setting {
            command: std::env::args().collect::<Vec<_>>().join(" "),
            version: env!("CARGO_PKG_VERSION").into(),
            machine: tidegate_host::Machine::read().to_string(),
            server_cores: self.server_cores.to_string(),
            driver_cores: self.driver_cores.to_string(),
            scenario: SCENARIO.into(),
            mean_session_requests: self.scenario.session_length().mean_requests,
            time_scale: TIME_SCALE,
            think_mean_ms: 7000.0 * TIME_SCALE,
            patience_ms: 10_000.0 * TIME_SCALE,
            seed: self.seed,
            certificate: CERTIFICATE.into(),
            warm_up_s: self.times.warm_up.as_secs_f64(),
            window_s: self.times.window.as_secs_f64(),
            baseline_window_s: self.times.baseline_window.as_secs_f64(),
            elapsed_s: 0.0,
        }
    }
}

/// Whether more arrive than can be served.
pub fn is_overload(multiple: f64) -> bool {
    multiple > 1.0
}
