//! One step of the staircase: a rate that was offered for a while, and what became of it.

use serde::Serialize;

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
    /// Sessions fail, are refused or abandoned, or fewer complete than arrive.
    Lost,
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

/// A response time at the limit's percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ResponseTime {
    /// Milliseconds.
    pub ms: f64,
    /// The true one is at least this.
    pub is_lower_bound: bool,
}

/// Medians of the phases of requests and connections, in milliseconds; `None` where there were
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PhaseTimes {
    /// TCP connection.
    pub connect_ms: Option<f64>,
    /// Full TLS handshake.
    pub full_handshake_ms: Option<f64>,
    /// Resumed TLS handshake.
    pub resumed_handshake_ms: Option<f64>,
    /// From sending the request to the first byte of the response.
    pub first_byte_ms: Option<f64>,
    /// From the first byte to the last.
    pub last_byte_ms: Option<f64>,
}

impl PhaseTimes {
    /// The phases by name, in the order of a connection.
    pub fn named(&self) -> [(&'static str, Option<f64>); 5] {
        [
            ("TCP connect", self.connect_ms),
            ("full TLS handshake", self.full_handshake_ms),
            ("resumed TLS handshake", self.resumed_handshake_ms),
            ("wait for the first byte", self.first_byte_ms),
            ("first to last byte", self.last_byte_ms),
        ]
    }
}

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
    pub response: ResponseTime,
    /// Its median.
    pub response_p50_ms: f64,
    /// Medians of the phases.
    pub phases: PhaseTimes,
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
/// Least completed sessions per arrived one.
const PER_OFFERED: f64 = 0.9;

impl Step {
    /// Judges a step by its figures.
    pub fn judge(&self, limit: Limit) -> Outcome {
        if !self.driver_saturated_because.is_empty() {
            return Outcome::Driver;
        }
        // Of a short window: those that arrive at its end complete after it, by chance more than
        // those that arrived before it.
        let behind = self.offered_per_s - self.completed_per_s;
        let chance = 3.0 * (self.offered_per_s / self.measured_s.max(1e-9)).sqrt();
        let allowed = ((1.0 - PER_OFFERED) * self.offered_per_s).max(chance);
        if self.completed_ratio < COMPLETED || behind > allowed {
            return Outcome::Lost;
        }
        // A lower bound at or below the limit says that responses are missing beyond it.
        if self.response.ms > limit.ms || self.response.is_lower_bound {
            return Outcome::TooSlow;
        }
        Outcome::Carried
    }

    /// Whether throughput follows the offered load, whatever the response time.
    pub fn follows(&self) -> bool {
        matches!(self.outcome, Outcome::Carried | Outcome::TooSlow)
    }

    /// Mean time that a session takes, by Little's law `W = N / X`; `None` if none completed.
    pub fn session_s(&self) -> Option<f64> {
        (self.completed_per_s > 0.0).then(|| self.in_flight / self.completed_per_s)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::capacity) const LIMIT: Limit = Limit { ms: 500.0, percentile: 95 };

    /// A step at a rate, of which so many complete with this response time.
    pub(in crate::capacity) fn step(rate: f64, completed: f64, response_ms: f64) -> Step {
        let mut step = Step {
            number: 1,
            phase: Phase::Curve,
            at_s: 0.0,
            measured_s: 100.0,
            rate_per_s: rate,
            offered_per_s: rate,
            completed_per_s: completed,
            refused_per_s: 0.0,
            abandoned_per_s: rate - completed,
            failed_per_s: 0.0,
            completed_ratio: completed / rate,
            requests_per_s: 10.0 * completed,
            in_flight: 2.0 * completed,
            in_flight_growth: 1.0,
            response: ResponseTime { ms: response_ms, is_lower_bound: false },
            response_p50_ms: response_ms / 2.0,
            phases: PhaseTimes { first_byte_ms: Some(response_ms / 2.0), ..PhaseTimes::default() },
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
        let behind = Step { completed_ratio: 1.0, ..step(100.0, 80.0, 400.0) };
        assert_eq!(behind.judge(LIMIT), Outcome::Lost);
        let bound = ResponseTime { ms: 300.0, is_lower_bound: true };
        assert_eq!(
            Step { response: bound, ..step(100.0, 100.0, 1.0) }.judge(LIMIT),
            Outcome::TooSlow
        );
    }

    #[test]
    fn a_short_step_may_be_behind_by_chance() {
        // 10 per s for 1 s: three standard deviations are 9.5 sessions.
        let short = Step { measured_s: 1.0, completed_ratio: 1.0, ..step(10.0, 5.0, 10.0) };
        assert_eq!(short.judge(LIMIT), Outcome::Carried);
    }

    #[test]
    fn a_step_in_which_none_ended_is_lost() {
        let still = Step { completed_ratio: 1.0, measured_s: 60.0, ..step(0.2, 0.0, 0.0) };
        assert_eq!(still.judge(LIMIT), Outcome::Lost);
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
