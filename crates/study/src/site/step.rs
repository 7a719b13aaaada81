//! One step: a rate that was offered for a while, and what became of it.

use std::collections::BTreeMap;

use serde::Serialize;
use tidegate_load::Percentiles;
use tidegate_load::result::figures::Phases;
use tidegate_stats::Quantile;

use super::host_use::HostUse;

/// Why a step was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The rate is doubled, or halved, until the site is beyond its limit.
    Search,
    /// The gap between carried and not carried is halved.
    Bisect,
    /// Up after a step that was carried, down after one that was not.
    UpAndDown,
    /// A rate that is given, for the curve.
    Curve,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Sessions complete as they arrive, within the limit.
    Carried,
    /// They complete, but responses take longer than the limit.
    TooSlow,
    /// Sessions fail, are refused or abandoned.
    Lost,
    /// None is lost, but fewer complete than arrive: they accumulate.
    Behind,
    /// The load generator was saturated: the step says nothing of the site.
    Driver,
}

impl Outcome {
    /// In a word or two, for tables.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Carried => "carried",
            Self::TooSlow => "too slow",
            Self::Lost => "sessions lost",
            Self::Behind => "falls behind",
            Self::Driver => "driver saturated",
        }
    }
}

/// The response times that count as served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Milliseconds, above 0.
    pub ms: f64,
    /// The percentile that keeps to it: 50, 90, 95 or 99.
    pub percentile: u8,
}

impl Limit {
    /// The percentiles that a limit can be for.
    pub const PERCENTILES: [u8; 4] = [50, 90, 95, 99];
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ms {
            ms if ms < 1000.0 => write!(f, "{ms}\u{a0}ms"),
            ms => write!(f, "{}\u{a0}s", ms / 1000.0),
        }
    }
}

/// The times of a phase in the result of a run.
type TimesOf = fn(&Phases) -> &Percentiles;

/// The phases of requests and connections in the order of a connection: the figure of a step that
/// has the median, the phase in words, and its times in the result of a run.
pub(crate) const PHASES: [(&str, &str, TimesOf); 5] = [
    ("connect_ms", "TCP connect", |it| &it.connect),
    ("full_handshake_ms", "full TLS handshake", |it| &it.full_handshake),
    ("resumed_handshake_ms", "resumed TLS handshake", |it| &it.resumed_handshake),
    (FIRST_BYTE, "wait for the first byte", |it| &it.first_byte),
    ("last_byte_ms", "first to last byte", |it| &it.last_byte),
];
/// From sending the request to the first byte of the response.
pub(crate) const FIRST_BYTE: &str = "first_byte_ms";

/// A step and its figures. Rates are of sessions per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// From 1, in the order of measurement.
    pub number: usize,
    /// Why it was measured.
    pub phase: Phase,
    /// Begin of its measured window, seconds since that of the study.
    pub at_s: f64,
    /// Length of the measured window.
    pub measured_s: f64,
    /// The rate that was asked for.
    pub rate_per_s: f64,
    /// Arrivals, which are a Poisson process of that rate.
    pub offered_per_s: f64,
    /// Completed.
    pub completed_per_s: f64,
    /// Completions to be expected of these arrivals by the lengths of sessions, if the site keeps
    /// up.
    pub expected_per_s: f64,
    /// The standard deviation of this rate by the chance of the lengths.
    pub expected_deviation_per_s: f64,
    /// Refused before their handshake was complete.
    pub refused_per_s: f64,
    /// Given up by customers without patience.
    pub abandoned_per_s: f64,
    /// Failed otherwise.
    pub failed_per_s: f64,
    /// Share of the sessions that ended which completed.
    pub completed_ratio: f64,
    /// Requests answered per second.
    pub requests_per_s: f64,
    /// Sessions in progress, mean over the window.
    pub in_flight: f64,
    /// The same in the last quarter of the window, as a multiple of the first.
    pub in_flight_growth: f64,
    /// Response time at the limit's percentile.
    pub response: Quantile,
    /// Its median.
    pub response_p50_ms: f64,
    /// Mean time from a request to the last byte of its response, without connection and
    /// handshake.
    pub service_ms: f64,
    /// Medians of the phases of requests and connections, in milliseconds; `None` where there were
    /// none.
    pub phases: BTreeMap<&'static str, Option<f64>>,
    /// Share of the handshakes that were full.
    pub full_handshake_share: f64,
    /// CPU share of the busiest thread of the load generator.
    pub driver_cpu_share: f64,
    /// Why the load generator counts as saturated; empty if it does not.
    pub driver_saturated_because: Vec<String>,
    /// The site's processes, where they are known.
    pub host: Option<HostUse>,
    /// What became of it.
    pub outcome: Outcome,
}

/// Least share of completed sessions that is carried: the rest may fail by chance.
const COMPLETED: f64 = 0.98;
/// Least completed sessions per expected one.
const PER_EXPECTED: f64 = 0.9;
/// Standard deviations that are chance.
const BY_CHANCE: f64 = 3.0;

impl Step {
    /// Judges a step by its figures.
    pub fn judge(&self, limit: Limit) -> Outcome {
        if !self.is_sound() {
            return Outcome::Driver;
        }
        if self.completed_ratio < COMPLETED {
            return Outcome::Lost;
        }
        let chance = BY_CHANCE * self.expected_deviation_per_s;
        let allowed = ((1.0 - PER_EXPECTED) * self.expected_per_s).max(chance);
        let behind = self.expected_per_s - self.completed_per_s;
        // A window in which none completed shows no site that carries a load.
        if behind > allowed || self.completed_per_s <= 0.0 {
            return Outcome::Behind;
        }
        // A lower bound at or below the limit says that responses are missing beyond it.
        if self.response.ms > limit.ms || self.response.is_lower_bound {
            return Outcome::TooSlow;
        }
        Outcome::Carried
    }

    /// Whether its figures are those of the site.
    pub fn is_sound(&self) -> bool {
        self.driver_saturated_because.is_empty()
    }

    /// Whether the site does not carry its load.
    pub fn is_beyond(&self) -> bool {
        !matches!(self.outcome, Outcome::Carried | Outcome::Driver)
    }

    /// Whether throughput follows the offered load, whatever the response time.
    pub fn follows(&self) -> bool {
        matches!(self.outcome, Outcome::Carried | Outcome::TooSlow)
    }

    /// Sessions lost per second: refused, abandoned or failed.
    pub fn lost_per_s(&self) -> f64 {
        self.refused_per_s + self.abandoned_per_s + self.failed_per_s
    }

    /// Mean time that a session takes, by Little's law `W = N / X`; `None` if none completed.
    pub fn session_s(&self) -> Option<f64> {
        (self.completed_per_s > 0.0).then(|| self.in_flight / self.completed_per_s)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const LIMIT: Limit = Limit { ms: 500.0, percentile: 95 };

    /// A step at a rate, of which so many complete with this response time.
    pub(crate) fn step(rate: f64, completed: f64, response_ms: f64) -> Step {
        let mut step = Step {
            number: 1,
            phase: Phase::Curve,
            at_s: 0.0,
            measured_s: 100.0,
            rate_per_s: rate,
            offered_per_s: rate,
            completed_per_s: completed,
            expected_per_s: rate,
            expected_deviation_per_s: 0.01 * rate,
            refused_per_s: 0.0,
            abandoned_per_s: rate - completed,
            failed_per_s: 0.0,
            completed_ratio: completed / rate,
            requests_per_s: 10.0 * completed,
            in_flight: 2.0 * completed,
            in_flight_growth: 1.0,
            response: Quantile { ms: response_ms, is_lower_bound: false },
            response_p50_ms: response_ms / 2.0,
            service_ms: response_ms / 2.0,
            phases: PHASES
                .map(|(name, ..)| (name, (name == FIRST_BYTE).then_some(response_ms / 2.0)))
                .into(),
            full_handshake_share: 0.1,
            driver_cpu_share: 0.2,
            driver_saturated_because: Vec::new(),
            host: None,
            outcome: Outcome::Carried,
        };
        step.outcome = step.judge(LIMIT);
        step
    }

    #[test]
    fn a_step_is_carried_if_sessions_complete_in_time() {
        assert_eq!(step(100.0, 100.0, 400.0).outcome, Outcome::Carried);
        assert_eq!(step(100.0, 100.0, 501.0).outcome, Outcome::TooSlow);
        assert_eq!(step(100.0, 97.0, 400.0).outcome, Outcome::Lost);
        let bound = Quantile { ms: 300.0, is_lower_bound: true };
        assert_eq!(
            Step { response: bound, ..step(100.0, 100.0, 1.0) }.judge(LIMIT),
            Outcome::TooSlow
        );
    }

    /// A step in which no session is lost, and fewer complete than arrive.
    fn unfinished(rate: f64, completed: f64) -> Step {
        Step { completed_ratio: 1.0, abandoned_per_s: 0.0, ..step(rate, completed, 400.0) }
    }

    #[test]
    fn a_step_is_behind_if_fewer_complete_than_the_lengths_of_sessions_explain() {
        assert_eq!(unfinished(100.0, 80.0).judge(LIMIT), Outcome::Behind);
        // By the lengths of sessions 85 of 100 are expected to complete.
        let late = Step { expected_per_s: 85.0, ..unfinished(100.0, 80.0) };
        assert_eq!(late.judge(LIMIT), Outcome::Carried);
        // 15 fewer are chance with a deviation of 6, and not with one of 4.
        let chance = |deviation: f64| Step {
            expected_deviation_per_s: deviation,
            ..unfinished(100.0, 85.0)
        };
        assert_eq!(chance(6.0).judge(LIMIT), Outcome::Carried);
        assert_eq!(chance(4.0).judge(LIMIT), Outcome::Behind);
    }

    #[test]
    fn lost_are_sessions_that_failed_and_no_others() {
        assert_eq!(step(100.0, 97.0, 400.0).outcome, Outcome::Lost);
        assert_ne!(unfinished(100.0, 50.0).judge(LIMIT), Outcome::Lost);
        assert_eq!(step(100.0, 97.0, 400.0).lost_per_s(), 3.0);
    }

    #[test]
    fn a_step_in_which_none_completed_is_not_carried() {
        let none =
            Step { expected_per_s: 0.1, expected_deviation_per_s: 1.0, ..unfinished(0.2, 0.0) };
        assert_eq!(none.judge(LIMIT), Outcome::Behind);
    }

    #[test]
    fn a_saturated_driver_hides_the_site() {
        let driver_saturated_because = vec!["late".to_owned()];
        let step = Step { driver_saturated_because, ..step(100.0, 10.0, 9000.0) };
        assert_eq!(step.judge(LIMIT), Outcome::Driver);
    }

    #[test]
    fn the_time_of_a_session_follows_from_littles_law() {
        // 200 at a time, 100 completed per second.
        assert_eq!(step(100.0, 100.0, 1.0).session_s(), Some(2.0));
        assert_eq!(step(100.0, 0.0, 1.0).session_s(), None);
    }

    #[test]
    fn limits_are_written_with_their_unit() {
        assert_eq!(LIMIT.to_string(), "500\u{a0}ms");
        assert_eq!(Limit { ms: 1500.0, ..LIMIT }.to_string(), "1.5\u{a0}s");
    }
}
