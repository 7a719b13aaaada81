//! The gradient of response times: the limit shrinks as they leave the best
//! that was measured with hardly anything in flight.
//!
//! Source: Envoy's documentation, "Adaptive Concurrency", and its
//! `GradientController`: every 100 ms, of the median response time,
//! `gradient = (minRTT + B) ∕ sampleRTT` from 0.5 to 2, B a quarter of minRTT;
//! `limit = gradient × limit + √(gradient × limit)`, 3 to 1000. minRTT is the median
//! of 50 requests sent at a limit of 3, every 60 s, and after five windows at the
//! least limit. Requests that customers gave up are no samples.
//! Deviation: the jitter of the interval is left out. On admission, active sessions
//! continue to make requests while minRTT is measured.
//! Swept: the interval of the source and at the customers' pace (1.5 s); samples of minRTT
//! taken at once or once no more than 3 are in flight; on admission, refused sessions
//! queued or refused at once. The interval of the source, samples at once and queueing are
//! best on admission: 100 % of the best possible on average over the sweep and no session
//! lost, against 96 % and 13 % at the customers' pace, where minRTT is measured during
//! the overload. So runs of under a minute measure it once, at the start, before the
//! overload, like a proxy that is started at low load.

use super::limit::Limit;
use crate::policy::Response;
use tidegate_control::Time;

/// Limit while the best response time is measured, and the least of all.
const LEAST: f64 = 3.0;
const MOST: f64 = 1000.0;
/// Requests over which the best response time is measured.
const ENOUGH: usize = 50;
const WINDOW_S: f64 = 0.1;
const INTERVAL_S: f64 = 60.0;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Gradient {
    limit: f64,
    least_s: f64,
    samples_s: Vec<f64>,
    /// Since when the best response time is measured, while it is.
    measured_since_s: Option<f64>,
    window_ends_s: f64,
    measure_at_s: f64,
    /// Windows at the least limit, one after the other.
    at_least: u32,
}

impl Gradient {
    pub(crate) fn new() -> Self {
        Self {
            limit: LEAST,
            least_s: 0.0,
            samples_s: Vec::new(),
            measured_since_s: Some(0.0),
            window_ends_s: 0.0,
            measure_at_s: 0.0,
            at_least: 0,
        }
    }

    /// The median of the samples, which are cleared.
    fn take_median_s(&mut self) -> f64 {
        let middle = self.samples_s.len() / 2;
        let (_, median, _) = self.samples_s.select_nth_unstable_by(middle, f64::total_cmp);
        let median = *median;
        self.samples_s.clear();
        median
    }

    fn end_window(&mut self, now_s: f64) {
        let before = self.limit;
        let gradient = (1.25 * self.least_s / self.take_median_s()).clamp(0.5, 2.0);
        let limit = gradient * before;
        self.limit = (limit + limit.sqrt()).floor().clamp(LEAST, MOST);
        let is_least = before <= LEAST && self.limit <= LEAST;
        self.at_least = if is_least { self.at_least + 1 } else { 0 };
        self.window_ends_s = now_s + WINDOW_S;
        if now_s >= self.measure_at_s || self.at_least >= 5 {
            (self.measured_since_s, self.at_least) = (Some(now_s), 0);
        }
    }
}

impl Limit for Gradient {
    fn limit(&self) -> f64 {
        if self.measured_since_s.is_some() { LEAST } else { self.limit }
    }

    fn learn(&mut self, now: Time, response: &Response, _: u32) {
        let now_s = now.as_secs_f64();
        if !self.samples_s.is_empty()
            && self.measured_since_s.is_none()
            && now_s >= self.window_ends_s
        {
            self.end_window(now_s);
        }
        // Sent before the measurement, when more was in flight.
        let is_old = self.measured_since_s.is_some_and(|s| now_s - response.took_s < s - 1e-9);
        if response.is_dropped || is_old {
            return;
        }
        self.samples_s.push(response.took_s);
        if self.measured_since_s.is_some() && self.samples_s.len() >= ENOUGH {
            self.least_s = self.take_median_s();
            self.measured_since_s = None;
            (self.measure_at_s, self.window_ends_s) = (now_s + INTERVAL_S, now_s + WINDOW_S);
        }
    }

    fn name(&self) -> &'static str {
        "gradient"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn respond(gradient: &mut Gradient, at_s: f64, took_s: f64) -> f64 {
        let response = Response { took_s, ..Response::default() };
        gradient.learn(Time::from_secs_f64(at_s), &response, 1);
        gradient.limit()
    }

    /// One that measured 100 ms at best, at 1 s.
    fn measured() -> Gradient {
        let mut gradient = Gradient::new();
        for _ in 0..50 {
            assert_eq!(gradient.limit(), 3.0);
            respond(&mut gradient, 1.0, 0.1);
        }
        gradient
    }

    #[test]
    fn the_gradient_by_hand() {
        let mut gradient = measured();
        for took_s in [0.1, 0.3, 0.1] {
            assert_eq!(respond(&mut gradient, 1.05, took_s), 3.0, "the window is not over");
        }
        // The median is 100 ms: 1.25 × 3 = 3.75, + 1.936 = 5.69.
        assert_eq!(respond(&mut gradient, 1.11, 0.25), 5.0);
        // 250 ms: the gradient is 0.5 at least: 2.5 + 1.58 = 4.08.
        assert_eq!(respond(&mut gradient, 1.22, 0.05), 4.0);
        // 50 ms: 2 at most: 8 + 2.83.
        assert_eq!(respond(&mut gradient, 1.33, 0.05), 10.0);
    }

    #[test]
    fn the_best_is_measured_again_after_a_minute_or_five_windows_at_the_least() {
        let mut gradient = measured();
        respond(&mut gradient, 61.0, 0.01);
        respond(&mut gradient, 61.2, 0.2);
        assert_eq!((gradient.measured_since_s, gradient.limit()), (Some(61.2), 3.0));
        // Sent before, so no sample of the best.
        let before = gradient.samples_s.len();
        respond(&mut gradient, 61.3, 0.2);
        assert_eq!(gradient.samples_s.len(), before);

        let mut gradient = measured();
        for window in 0..6 {
            assert!(gradient.measured_since_s.is_none(), "{window}");
            respond(&mut gradient, 1.2 + 0.11 * f64::from(window), 1.0);
        }
        assert!(gradient.measured_since_s.is_some());
    }

    #[test]
    fn an_abandoned_request_is_no_sample() {
        let mut gradient = Gradient::new();
        let dropped = Response { took_s: 0.1, is_dropped: true, ..Response::default() };
        for _ in 0..50 {
            gradient.learn(Time::from_secs_f64(1.0), &dropped, 1);
        }
        assert!(gradient.measured_since_s.is_some() && gradient.samples_s.is_empty());
    }
}
