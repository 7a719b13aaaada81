//! What the demo found, as `summary.json` and every other output tell it.

use serde::Serialize;

/// The whole result. Field names are a contract with scripts.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Highest offered rate, in sessions per second, that the unprotected
    /// service carried on the ramp.
    pub capacity_sessions_per_s: f64,
    /// Most sessions completed per second in any stretch of the run as long as
    /// a point's window, and the machine's speed in that stretch.
    pub peak_completed_per_s: f64,
    pub peak_machine_speed: f64,
    pub points: Vec<Point>,
    /// The steps of the ramp that found the capacity.
    pub ramp: Vec<RampStep>,
    pub goals: Vec<Goal>,
    pub setting: Setting,
}

/// One policy at one multiple of the capacity, over its measured window.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Point {
    pub policy: String,
    pub multiple: f64,
    pub offered_per_s: f64,
    pub admitted_per_s: f64,
    pub refused_per_s: f64,
    pub completed_per_s: f64,
    pub abandoned_per_s: f64,
    /// Completed, of the admitted sessions that ended in the window.
    pub admitted_completed_ratio: f64,
    pub response_p50_ms: f64,
    pub response_p95_ms: f64,
    pub response_p99_ms: f64,
    pub requests_per_s: f64,
    /// The share of the server's processors that site and gate used, 0 to 1.
    pub server_use: f64,
    pub full_handshake_share: f64,
    /// Connections of customers already inside that were turned away.
    pub returning_refused: u64,
    pub driver_saturated: bool,
    /// Speed of the server's processor in the window, against the run's
    /// median: 0.8 is a fifth slower than usual.
    pub machine_speed: f64,
    /// Second by second, from the start of the warm-up.
    pub series: Vec<Second>,
}

/// Sessions completed per second, and the machine's speed meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    pub completed_per_s: f64,
    pub machine_speed: f64,
}

impl Rate {
    /// The rate, had the machine run at its usual speed.
    pub fn at_usual_speed(&self) -> f64 {
        self.completed_per_s / self.machine_speed
    }
}

/// One second of a point.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Second {
    pub at_s: f64,
    pub offered_per_s: f64,
    pub completed_per_s: f64,
    pub refused_per_s: f64,
    pub abandoned_per_s: f64,
    pub response_p95_ms: f64,
}

/// One step of the ramp.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RampStep {
    pub offered_per_s: f64,
    pub completed_per_s: f64,
    pub completed_ratio: f64,
    pub response_p95_ms: f64,
}

/// A promise of the demo and whether this run kept it.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    pub text: String,
    pub measured: String,
    pub met: bool,
}

/// Under which conditions the figures came about.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Setting {
    pub command: String,
    pub version: String,
    pub machine: String,
    pub server_cores: String,
    pub driver_cores: String,
    pub scenario: String,
    pub mean_session_requests: f64,
    /// Human times (think, patience, keep-alive, hold) are multiplied by this.
    pub time_scale: f64,
    pub think_mean_ms: f64,
    pub patience_ms: f64,
    pub seed: u64,
    pub certificate: String,
    pub warm_up_s: f64,
    pub window_s: f64,
    pub elapsed_s: f64,
}

/// The policies in the order in which they run and are shown.
pub const POLICIES: [&str; 3] = ["off", "eac", "tide"];

impl Summary {
    /// The point of a policy at a multiple of the capacity.
    pub fn point(&self, policy: &str, multiple: f64) -> Option<&Point> {
        self.points.iter().find(|p| p.policy == policy && (p.multiple - multiple).abs() < 1e-9)
    }

    /// The points of a policy, by rising load.
    pub fn curve(&self, policy: &str) -> Vec<&Point> {
        let mut curve: Vec<_> = self.points.iter().filter(|p| p.policy == policy).collect();
        curve.sort_by(|a, b| a.multiple.total_cmp(&b.multiple));
        curve
    }

    /// Completed sessions at a point, as a share of the peak, both at the
    /// machine's usual speed.
    pub fn share_of_peak(&self, point: &Point) -> f64 {
        let peak = Rate {
            completed_per_s: self.peak_completed_per_s,
            machine_speed: self.peak_machine_speed,
        };
        let Point { completed_per_s, machine_speed, .. } = *point;
        Rate { completed_per_s, machine_speed }.at_usual_speed() / peak.at_usual_speed()
    }
}
