//! Limits on what is in flight that learn from response times, and the two
//! places where they may stand: before every request, as they are deployed, or
//! at the door only, where they never turn away a customer who is inside.

use super::{Pace, admit_if, mean_response_s};
use crate::sim::judge::{Judge, User};
use crate::{Decision, Reading, Time};

/// A limit on requests in flight.
pub(in crate::sim) trait Limit {
    /// Requests in flight at most.
    fn limit(&self) -> f64;
    /// Learns from the responses of a tick; `in_flight` is the most that was.
    fn learn(&mut self, now: Time, reading: &Reading, in_flight: u32);
    /// Its name, for a sentence.
    fn name(&self) -> &'static str;
}

/// Additive increase, multiplicative decrease: with each response the limit
/// grows by one if at least half of it is used; one that took too long
/// multiplies it by 0.9.
///
/// Source: Netflix's concurrency-limits library, `AIMDLimit`: initial limit 20,
/// 20 to 200, time-out 5 s.
/// Deviation: it learns once per tick, from the longest response time of the
/// tick and the number of responses, not with each response.
#[derive(Debug)]
pub(in crate::sim) struct Aimd {
    limit: f64,
    timeout_s: f64,
}

impl Aimd {
    pub(in crate::sim) fn new(pace: Pace) -> Self {
        Self { limit: 20.0, timeout_s: pace.of(5.0) }
    }
}

impl Limit for Aimd {
    fn limit(&self) -> f64 {
        self.limit
    }

    fn learn(&mut self, _: Time, reading: &Reading, in_flight: u32) {
        if reading.upstream_time_max_s > self.timeout_s {
            self.limit *= 0.9;
        } else if f64::from(in_flight) * 2.0 >= self.limit {
            self.limit += reading.upstream_responses as f64;
        }
        self.limit = self.limit.floor().clamp(20.0, 200.0);
    }

    fn name(&self) -> &'static str {
        "AIMD"
    }
}

/// The gradient of response times: the limit shrinks as they leave the best
/// that was measured with hardly anything in flight.
///
/// Source: Envoy's documentation, "Adaptive Concurrency": `gradient = (minRTT +
/// B) ∕ sampleRTT`, B a quarter of minRTT; `limit = gradient × limit +
/// √limit`; minRTT is measured anew every 60 s over 50 requests at a limit
/// of 3, and after five windows at the least limit; windows of 100 ms.
/// Deviation: means instead of percentiles; windows are ticks; the interval
/// between measurements is that of people, at the customers' pace.
#[derive(Debug)]
pub(in crate::sim) struct Gradient {
    limit: f64,
    least_s: f64,
    measured: Option<(f64, f64)>,
    next_at: f64,
    interval_s: f64,
    at_least: u32,
}

/// Limit while the best response time is measured, and the least of all.
const MEASURING: f64 = 3.0;

impl Gradient {
    pub(in crate::sim) fn new(pace: Pace) -> Self {
        Self {
            limit: MEASURING,
            least_s: 0.0,
            measured: Some((0.0, 0.0)),
            next_at: 0.0,
            interval_s: pace.of(60.0),
            at_least: 0,
        }
    }
}

impl Limit for Gradient {
    fn limit(&self) -> f64 {
        if self.measured.is_some() { MEASURING } else { self.limit }
    }

    fn learn(&mut self, now: Time, reading: &Reading, _: u32) {
        let Some(mean_s) = mean_response_s(reading) else { return };
        let now_s = now.as_secs_f64();
        if let Some((responses, time_s)) = &mut self.measured {
            *responses += reading.upstream_responses as f64;
            *time_s += reading.upstream_time_s;
            if *responses >= 50.0 {
                self.least_s = *time_s / *responses;
                self.measured = None;
                self.next_at = now_s + self.interval_s;
            }
            return;
        }
        let gradient = (1.25 * self.least_s / mean_s).clamp(0.5, 2.0);
        self.limit = (gradient * self.limit + self.limit.sqrt()).clamp(MEASURING, 1000.0);
        self.at_least = if self.limit <= MEASURING { self.at_least + 1 } else { 0 };
        if now_s >= self.next_at || self.at_least >= 5 {
            (self.measured, self.at_least) = (Some((0.0, 0.0)), 0);
        }
    }

    fn name(&self) -> &'static str {
        "gradient"
    }
}

/// A limit where it stands.
#[derive(Debug)]
pub(in crate::sim) struct Limited<L> {
    limit: L,
    place: Place,
    in_flight: InFlight,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Before every request: what is above it gets an error.
    Requests,
    /// Before new sessions only.
    Door,
}

/// What is in flight, and the most that was since the last tick.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    handshakes: u32,
    requests: u32,
    most: u32,
}

impl InFlight {
    fn tell(&mut self, handshakes: u32, requests: u32) {
        (self.handshakes, self.requests) = (handshakes, requests);
        self.most = self.most.max(requests);
    }
}

impl<L: Limit> Limited<L> {
    pub(in crate::sim) fn on_requests(limit: L) -> Self {
        Self { limit, place: Place::Requests, in_flight: InFlight::default() }
    }

    pub(in crate::sim) fn at_the_door(limit: L) -> Self {
        Self { limit, place: Place::Door, in_flight: InFlight::default() }
    }

    fn has_room_for_one_beside(&self, in_flight: u32) -> bool {
        f64::from(in_flight) < self.limit.limit()
    }
}

impl<L: Limit> Judge for Limited<L> {
    fn new_session(&mut self, _: Time, _: User) -> Decision {
        // A handshake is the beginning of a request.
        let in_flight = self.in_flight.requests + self.in_flight.handshakes;
        admit_if(self.place == Place::Requests || self.has_room_for_one_beside(in_flight))
    }

    fn in_flight(&mut self, handshakes: u32, requests: u32) {
        self.in_flight.tell(handshakes, requests);
    }

    fn request(&mut self, _: Time, _: User) -> bool {
        self.place == Place::Door || self.has_room_for_one_beside(self.in_flight.requests)
    }

    fn observe(&mut self, now: Time, reading: &Reading) {
        self.limit.learn(now, reading, std::mem::take(&mut self.in_flight.most));
    }

    fn why(&self, _: Time) -> String {
        let (name, limit) = (self.limit.name(), self.limit.limit());
        match self.place {
            Place::Requests => format!("the {name} limit is {limit:.0} requests in flight"),
            Place::Door => {
                format!("new sessions enter while less than {limit:.0} are in flight, by {name}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn responses(number: u64, each_s: f64) -> Reading {
        Reading {
            upstream_responses: number,
            upstream_time_s: number as f64 * each_s,
            upstream_time_max_s: each_s,
            ..Reading::default()
        }
    }

    #[test]
    fn aimd_by_hand() {
        let mut aimd = Aimd::new(Pace(1.0));
        let mut after = |reading, in_flight| {
            aimd.learn(Time::ZERO, &reading, in_flight);
            aimd.limit()
        };
        assert_eq!(after(responses(30, 0.1), 9), 20.0); // less than half used
        assert_eq!(after(responses(30, 0.1), 10), 50.0);
        assert_eq!(after(responses(30, 6.0), 50), 45.0);
        assert_eq!(after(responses(900, 0.1), 45), 200.0);
    }

    #[test]
    fn the_gradient_by_hand() {
        let mut gradient = Gradient::new(Pace(1.0));
        let mut after = |number, each_s| {
            gradient.learn(Time::ZERO, &responses(number, each_s), 0);
            gradient.limit()
        };
        assert_eq!(after(50, 0.1), 3.0); // measured: 100 ms at best
        // 1.25 × 3 + √3
        assert!((after(10, 0.1) - 5.4821).abs() < 1e-3);
        // Half a second: the gradient is 0.5 at least.
        assert!((after(10, 0.5) - (2.741 + 2.3414)).abs() < 1e-3);
    }

    #[test]
    fn at_the_door_nobody_inside_is_turned_away() {
        let (mut door, mut requests) = (
            Limited::at_the_door(Aimd::new(Pace(1.0))),
            Limited::on_requests(Aimd::new(Pace(1.0))),
        );
        door.in_flight(0, 20);
        requests.in_flight(0, 20);
        let user = User(0);
        assert!(!door.new_session(Time::ZERO, user).is_admit() && door.request(Time::ZERO, user));
        assert!(requests.new_session(Time::ZERO, user).is_admit());
        assert!(!requests.request(Time::ZERO, user));
    }
}
