//! The result of the demo, as in `summary.json`.

use serde::Serialize;
use tidegate_experiment::record;
use tidegate_host::CoreUse;
use tidegate_stats::Verdict;

/// The whole result. Field names are a contract with scripts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Highest offered rate, in sessions per second, that the unprotected
    /// service carried on the ramp.
    pub capacity_sessions_per_s: f64,
    /// Most sessions completed per second, as counted, in any stretch of the
    /// run as long as a point's window.
    pub peak_completed_per_s: f64,
    pub points: Vec<Point>,
    /// The windows of points that were measured more than once; the point is
    /// their mean.
    pub windows: Vec<Point>,
    /// The unprotected service between the points, in order of time.
    pub baselines: Vec<Baseline>,
    /// The steps of the ramp that found the capacity.
    pub ramp: Vec<RampStep>,
    pub goals: Vec<Goal>,
    /// What the figures alone would hide.
    pub remarks: Vec<String>,
    pub setting: Setting,
}

/// One policy at one multiple of the capacity, over its measured window.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Point {
    pub policy: String,
    pub multiple: f64,
    /// Capacity of the unprotected service at this time, in sessions per second: 1×.
    pub capacity_per_s: f64,
    /// Middle of the window, in seconds since the first load.
    pub at_s: f64,
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
    /// The share of them that other programs used, or that the hypervisor took away, 0 to 1.
    pub others_use: f64,
    pub full_handshake_share: f64,
    /// Connections of admitted sessions that were refused.
    pub returning_refused: u64,
    pub driver_saturated: bool,
    /// Speed of the server's processor in the window, against the run's
    /// median: 0.8 is a fifth slower than usual.
    pub machine_speed: f64,
    /// Second by second, from the start of the warm-up.
    pub series: Vec<Second>,
}

/// A window of the unprotected service just below its capacity.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Baseline {
    /// Middle of the window, in seconds since the first load.
    pub at_s: f64,
    pub offered_per_s: f64,
    /// Requests answered per second, in sessions of the mean length: the rate of completed
    /// sessions once as many end as begin, which the window is too short for.
    pub carried_per_s: f64,
    /// Completed, of the sessions that ended in the window.
    pub completed_ratio: f64,
    pub response_p95_ms: f64,
    /// As of a [`Point`].
    pub server_use: f64,
    /// As of a [`Point`].
    pub machine_speed: f64,
}

/// Least share of completed sessions, of those that end in a window, for its figures to
/// count as carried load. If more customers leave, those who complete are the ones with
/// short sessions.
pub const SERVED: f64 = 0.98;

impl Baseline {
    /// Whether the server carried the load.
    pub fn is_carried(&self) -> bool {
        self.completed_ratio >= SERVED && self.server_use > 0.0
    }

    /// Sessions per second that the processors would complete at this use of
    /// them, at the machine's usual speed.
    fn at_use(&self, server_use: f64) -> f64 {
        self.carried_per_s / self.server_use * server_use / self.machine_speed
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

impl From<&record::Second> for Second {
    fn from(second: &record::Second) -> Self {
        Self {
            at_s: second.at_s,
            offered_per_s: second.offered_per_s,
            completed_per_s: second.completed_per_s,
            refused_per_s: second.refused_per_s,
            abandoned_per_s: second.abandoned_per_s,
            response_p95_ms: second.response_p95_ms,
        }
    }
}

/// One step of the ramp.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RampStep {
    pub offered_per_s: f64,
    pub completed_per_s: f64,
    pub completed_ratio: f64,
    pub response_p95_ms: f64,
}

/// A goal of the demo, and whether this run met it.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    pub text: String,
    pub measured: String,
    /// The run does not show that it is missed.
    pub met: bool,
    pub verdict: Verdict,
}

impl Goal {
    pub fn new(text: String, measured: String, verdict: Verdict) -> Self {
        Self { text, measured, met: verdict != Verdict::DoesNotHold, verdict }
    }
}

/// Whether a goal is missed by more than the spread of the run.
pub fn any_missed(goals: &[Goal]) -> bool {
    goals.iter().any(|goal| goal.verdict == Verdict::DoesNotHold)
}

/// The conditions of the run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Setting {
    pub command: String,
    pub version: String,
    pub machine: String,
    pub server_cores: String,
    pub driver_cores: String,
    pub scenario: String,
    pub mean_session_requests: f64,
    /// Factor of think time, patience, keep-alive and hold time.
    pub time_scale: f64,
    pub think_mean_ms: f64,
    pub patience_ms: f64,
    pub seed: u64,
    pub certificate: String,
    pub warm_up_s: f64,
    pub window_s: f64,
    pub baseline_window_s: f64,
    pub elapsed_s: f64,
}

/// The policies in the order in which they run and are shown.
pub const POLICIES: [&str; 3] = ["off", "eac", "tide"];

impl Point {
    /// The mean of windows of one policy at one multiple, of equal length; its
    /// course is that of the first.
    fn mean(windows: &[Self]) -> Option<Self> {
        let (first, number) = (windows.first()?, windows.len() as f64);
        let mean = |of: fn(&Self) -> f64| windows.iter().map(of).sum::<f64>() / number;
        Some(Self {
            policy: first.policy.clone(),
            multiple: first.multiple,
            capacity_per_s: mean(|p| p.capacity_per_s),
            at_s: mean(|p| p.at_s),
            offered_per_s: mean(|p| p.offered_per_s),
            admitted_per_s: mean(|p| p.admitted_per_s),
            refused_per_s: mean(|p| p.refused_per_s),
            completed_per_s: mean(|p| p.completed_per_s),
            abandoned_per_s: mean(|p| p.abandoned_per_s),
            admitted_completed_ratio: mean(|p| p.admitted_completed_ratio),
            response_p50_ms: mean(|p| p.response_p50_ms),
            response_p95_ms: mean(|p| p.response_p95_ms),
            response_p99_ms: mean(|p| p.response_p99_ms),
            requests_per_s: mean(|p| p.requests_per_s),
            server_use: mean(|p| p.server_use),
            others_use: mean(|p| p.others_use),
            full_handshake_share: mean(|p| p.full_handshake_share),
            returning_refused: windows.iter().map(|p| p.returning_refused).sum(),
            driver_saturated: windows.iter().any(|p| p.driver_saturated),
            machine_speed: mean(|p| p.machine_speed),
            series: first.series.clone(),
        })
    }
}

impl Point {
    /// What else than the server made these figures; `None`: nothing.
    pub fn disturbance(&self) -> Option<String> {
        let percent = 100.0 * self.others_use;
        match (self.driver_saturated, self.others_use > CoreUse::DISTURBING) {
            (true, _) => Some("the driver was saturated".into()),
            (false, true) => Some(format!("other programs used {percent:.0} % of the server")),
            (false, false) => None,
        }
    }
}

impl Summary {
    /// Sets a point by its windows, in place of earlier ones.
    pub fn set(&mut self, windows: &[Point]) {
        let Some(point) = Point::mean(windows) else { return };
        let other = |p: &Point| p.policy != point.policy || p.multiple != point.multiple;
        self.points.retain(other);
        self.windows.retain(other);
        self.points.push(point);
        if windows.len() > 1 {
            self.windows.extend_from_slice(windows);
        }
    }

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

    /// The peak of the unprotected service during a point's window, in completed sessions
    /// per second: the mean of the nearest baselines before and after it that carried their
    /// load, at full use of the processors and at the machine's speed in that window; the
    /// best window of the run without such baselines. For a point of several windows, the
    /// peak that its share refers to.
    pub fn peak_beside(&self, point: &Point) -> f64 {
        match self.windows_of(point).next() {
            None => self.peak_beside_window(point),
            Some(_) => point.completed_per_s / self.share_of_peak(point).max(1e-9),
        }
    }

    fn peak_beside_window(&self, point: &Point) -> f64 {
        let before = self.carried().filter(|baseline| baseline.at_s <= point.at_s).last();
        let after = self.carried().find(|baseline| baseline.at_s > point.at_s);
        let full = self.full_use();
        let beside = before.into_iter().chain(after).map(|baseline| baseline.at_use(full));
        let (sum, number) = beside.fold((0.0, 0.0), |(sum, n), peak| (sum + peak, n + 1.0));
        if number > 0.0 { sum / number * point.machine_speed } else { self.peak_completed_per_s }
    }

    /// Completed sessions at a point, as a share of the peak beside it; the mean
    /// of its windows' shares where it has several.
    pub fn share_of_peak(&self, point: &Point) -> f64 {
        let share = |p: &Point| p.completed_per_s / self.peak_beside_window(p).max(1e-9);
        let shares: Vec<f64> = self.windows_of(point).map(share).collect();
        match shares.is_empty() {
            true => share(point),
            false => shares.iter().sum::<f64>() / shares.len() as f64,
        }
    }

    /// Remarks on points where another policy completed more than `tide`: what its customers
    /// paid for that.
    pub fn remarks(&self) -> Vec<String> {
        let remark = |tide: &&Point| {
            let other = self.point("eac", tide.multiple)?;
            let times = other.response_p95_ms / tide.response_p95_ms;
            (other.completed_per_s > tide.completed_per_s && times > 1.0).then(|| {
                format!(
                    "At {}× eac completed more sessions than tide ({:.0} against {:.0}/s); its \
                     customers waited {times:.1} times as long (p95 {:.0} against {:.0} ms).",
                    tide.multiple,
                    other.completed_per_s,
                    tide.completed_per_s,
                    other.response_p95_ms,
                    tide.response_p95_ms,
                )
            })
        };
        self.curve("tide").iter().filter_map(remark).collect()
    }

    /// The baselines that carried their load.
    pub fn carried(&self) -> impl Iterator<Item = &Baseline> {
        self.baselines.iter().filter(|baseline| baseline.is_carried())
    }

    /// The windows of a point that was measured more than once.
    pub fn windows_of(&self, point: &Point) -> impl Iterator<Item = &Point> {
        let (policy, multiple) = (point.policy.clone(), point.multiple);
        self.windows.iter().filter(move |w| w.policy == policy && w.multiple == multiple)
    }

    /// Coefficient of variation of the baselines that carried their load, corrected for
    /// speed and use; `NaN` for fewer than two.
    pub fn scatter(&self) -> f64 {
        let peaks: Vec<f64> = self.carried().map(|baseline| baseline.at_use(1.0)).collect();
        let number = peaks.len() as f64;
        let mean = peaks.iter().sum::<f64>() / number;
        let squares: f64 = peaks.iter().map(|peak| (peak - mean).powi(2)).sum();
        (squares / (number - 1.0)).sqrt() / mean
    }

    /// The largest share of its processors that the server used in any window: interrupts
    /// and other programs use the rest.
    fn full_use(&self) -> f64 {
        let points = self.points.iter().chain(&self.windows).map(|point| point.server_use);
        let baselines = self.baselines.iter().map(|baseline| baseline.server_use);
        points.chain(baselines).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(at_s: f64, carried_per_s: f64) -> Baseline {
        Baseline {
            at_s,
            offered_per_s: carried_per_s,
            carried_per_s,
            completed_ratio: 1.0,
            response_p95_ms: 10.0,
            server_use: 0.8,
            machine_speed: 1.0,
        }
    }

    fn summary(baselines: Vec<Baseline>) -> Summary {
        let point = |at_s, server_use| Point {
            at_s,
            server_use,
            completed_per_s: 95.0,
            machine_speed: 1.0,
            ..Point::default()
        };
        Summary {
            peak_completed_per_s: 190.0,
            points: vec![point(20.0, 0.96), point(50.0, 0.9)],
            baselines,
            ..Summary::default()
        }
    }

    #[test]
    fn the_peak_beside_a_point_is_that_of_its_neighbours_at_full_use() {
        let summary =
            summary(vec![baseline(0.0, 10.0), baseline(10.0, 80.0), baseline(30.0, 120.0)]);
        // 80 and 120 at a use of 0.8 are 96 and 144 at 0.96.
        assert_eq!(summary.peak_beside(&summary.points[0]), 120.0);
        assert_eq!(summary.peak_beside(&summary.points[1]), 144.0);
    }

    #[test]
    fn a_point_of_two_windows_is_their_mean_and_each_has_its_own_peak() {
        let mut summary = summary(vec![baseline(10.0, 80.0), baseline(30.0, 120.0)]);
        let window = |at_s, completed_per_s| Point {
            policy: "tide".into(),
            multiple: 4.0,
            at_s,
            completed_per_s,
            server_use: 0.9,
            machine_speed: 1.0,
            returning_refused: 1,
            ..Point::default()
        };
        summary.set(&[window(20.0, 108.0)]);
        summary.set(&[window(20.0, 108.0), window(40.0, 115.2)]);
        assert_eq!((summary.points.len(), summary.windows.len()), (3, 2));
        let point = summary.points.last().unwrap();
        assert_eq!((point.completed_per_s, point.at_s, point.returning_refused), (111.6, 30.0, 2));
        // 108 of (96 + 144) / 2, and 115.2 of 144: 0.9 and 0.8.
        assert!((summary.share_of_peak(point) - 0.85).abs() < 1e-9);
        assert!((summary.peak_beside(point) - 111.6 / 0.85).abs() < 1e-9);
    }

    #[test]
    fn figures_are_compared_at_the_same_machine_speed() {
        let slow = Baseline { machine_speed: 0.5, ..baseline(10.0, 40.0) };
        let summary = summary(vec![slow]);
        assert!((summary.share_of_peak(&summary.points[0]) - 95.0 / 96.0).abs() < 1e-9);
        let slow = Point { machine_speed: 0.5, ..summary.points[0].clone() };
        assert!((summary.share_of_peak(&slow) - 95.0 / 48.0).abs() < 1e-9);
    }

    #[test]
    fn a_policy_that_completes_more_at_the_price_of_waits_is_remarked_on() {
        let point = |policy: &str, completed_per_s, response_p95_ms| Point {
            policy: policy.into(),
            multiple: 2.0,
            completed_per_s,
            response_p95_ms,
            ..Point::default()
        };
        let with = |eac| {
            let points = vec![point("eac", eac, 100.0), point("tide", 90.0, 10.0)];
            Summary { points, ..Summary::default() }.remarks()
        };
        assert!(with(95.0)[0].contains("waited 10.0 times as long (p95 100 against 10 ms)"));
        assert!(with(85.0).is_empty());
    }

    #[test]
    fn scatter_is_the_relative_deviation_of_the_baselines() {
        // 100, 125 and 150 at full use: 25 over 125.
        let three = [80.0, 100.0, 120.0].map(|carried| baseline(1.0, carried));
        assert!((summary(three.to_vec()).scatter() - 0.2).abs() < 1e-9);
        assert!(summary(vec![baseline(1.0, 80.0)]).scatter().is_nan());
    }

    #[test]
    fn a_baseline_that_lost_customers_is_not_used() {
        let lost = Baseline { completed_ratio: 0.97, ..baseline(30.0, 20.0) };
        let with_one = summary(vec![baseline(10.0, 80.0), lost]);
        assert!((with_one.peak_beside(&with_one.points[0]) - 96.0).abs() < 1e-9);
        let without = summary(vec![lost]);
        assert_eq!(without.share_of_peak(&without.points[0]), 0.5);
    }

    #[test]
    fn the_json_has_the_documented_fields() {
        let json = serde_json::to_value(summary(vec![baseline(10.0, 80.0)])).unwrap();
        for name in ["capacity_sessions_per_s", "peak_completed_per_s"] {
            assert!(json[name].is_f64(), "{name}: {json:#}");
        }
        let point = &json["points"][0];
        assert!(point["policy"].is_string(), "{point:#}");
        for name in [
            "multiple",
            "offered_per_s",
            "admitted_per_s",
            "refused_per_s",
            "completed_per_s",
            "abandoned_per_s",
            "admitted_completed_ratio",
            "response_p50_ms",
            "response_p95_ms",
            "full_handshake_share",
        ] {
            assert!(point[name].is_f64(), "{name}: {point:#}");
        }
        assert!(point["returning_refused"].is_u64(), "{point:#}");
        assert!(point["driver_saturated"].is_boolean(), "{point:#}");
    }
}
