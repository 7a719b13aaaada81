//! The gradient against the service's own past: the limit shrinks as response
//! times leave their long-term mean.
//!
//! Source: Netflix's concurrency-limits library, `Gradient2Limit` in a
//! `WindowedLimit`: per window of a second with ten responses or more, of the mean
//! response time `short` and its exponential mean `long` (600 windows, the first
//! ten averaged; times 0.95 while above twice `short`): `gradient = 1.5 long ∕
//! short` from 0.5 to 1, `new = gradient × limit + 4`, `limit = 0.8 limit + 0.2
//! new`, 20 at first, 20 to 200, and unchanged while less than half was in flight.
//! Deviation: the window is at the customers' pace, but no shorter than the
//! 100 ms that the library allows; responses of under 100 µs count.
//! Swept: the window at the customers' pace and of a second, the least limit (20,
//! 1), and on admission, refused sessions queued or refused at once. The pace and 20 are
//! best. Refusal at once carries 0.6 % more on admission, but refuses 1.5 % at 0.9 of the
//! capacity instead of none, so sessions are queued.

use super::Pace;
use super::limit::Limit;
use crate::policy::Response;
use tidegate_control::Time;

/// Windows that are averaged before the mean becomes an exponential one, and the
/// responses that a window needs.
const WARM_UP: u32 = 10;
const ENOUGH: u32 = 10;
/// The weight of a window in the long-term mean: 2 ∕ (600 + 1).
const WEIGHT: f64 = 2.0 / 601.0;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Gradient2 {
    limit: f64,
    long_s: f64,
    windows: u32,
    window_s: f64,
    window_ends_s: f64,
    window: Window,
}

/// Responses of a window: their number, the sum of their times, and the most that
/// was in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    responses: u32,
    time_s: f64,
    in_flight: u32,
}

impl Gradient2 {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            limit: 20.0,
            long_s: 0.0,
            windows: 0,
            window_s: pace.of(1.0).max(0.1),
            window_ends_s: 0.0,
            window: Window::default(),
        }
    }

    fn end(&mut self, window: Window) {
        let short_s = window.time_s / f64::from(window.responses);
        self.windows += 1;
        let weight = if self.windows <= WARM_UP { 1.0 / f64::from(self.windows) } else { WEIGHT };
        self.long_s += weight * (short_s - self.long_s);
        let long_s = self.long_s;
        if long_s > 2.0 * short_s {
            self.long_s *= 0.95;
        }
        if f64::from(window.in_flight) < self.limit / 2.0 {
            return;
        }
        let gradient = (1.5 * long_s / short_s).clamp(0.5, 1.0);
        let new = gradient * self.limit + 4.0;
        self.limit = (0.8 * self.limit + 0.2 * new).clamp(20.0, 200.0);
    }
}

impl Limit for Gradient2 {
    fn limit(&self) -> f64 {
        self.limit.floor()
    }

    fn learn(&mut self, now: Time, response: &Response, in_flight: u32) {
        self.window.responses += 1;
        self.window.time_s += response.took_s;
        self.window.in_flight = self.window.in_flight.max(in_flight);
        let now_s = now.as_secs_f64();
        if now_s > self.window_ends_s {
            self.window_ends_s = now_s + self.window_s;
            let window = std::mem::take(&mut self.window);
            if window.responses >= ENOUGH {
                self.end(window);
            }
        }
    }

    fn name(&self) -> &'static str {
        "gradient2"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_by_hand() {
        let mut gradient = Gradient2::new(Pace(1.0));
        let mut after = |mean_s: f64, in_flight| {
            gradient.end(Window { responses: 10, time_s: 10.0 * mean_s, in_flight });
            gradient.limit
        };
        // No queue: 0.8 × 20 + 0.2 × 24.
        assert!((after(0.1, 20) - 20.8).abs() < 1e-9);
        assert!((after(0.1, 10) - 20.8).abs() < 1e-9, "less than half is used");
        // Three windows of 100, 100 and 400 ms: long 200 ms, gradient 0.75, new 19.6:
        // 0.8 × 20.8 + 0.2 × 19.6 = 20.56.
        assert!((after(0.4, 21) - 20.56).abs() < 1e-9);
        // Long (0.6 + 3.4) ∕ 4 = 1 s, short 3.4: 0.5 at least, and 20 at least.
        assert_eq!(after(3.4, 21), 20.0);
        // Long 0.84 is more than twice 0.2: it loses a twentieth.
        after(0.2, 0);
        assert!((gradient.long_s - 0.84 * 0.95).abs() < 1e-9);
    }

    #[test]
    fn a_window_needs_ten_responses_and_its_time() {
        let mut gradient = Gradient2::new(Pace(1.0));
        let response = Response { took_s: 0.1, ..Response::default() };
        let mut learn = |ms, times| {
            for _ in 0..times {
                gradient.learn(Time::from_millis(ms), &response, 100);
            }
            gradient.windows
        };
        assert_eq!(learn(1, 9), 0, "the first response ends an empty window");
        assert_eq!([learn(900, 1), learn(1002, 1), learn(1500, 8), learn(2003, 1)], [0, 1, 1, 1]);
    }
}
