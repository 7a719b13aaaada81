//! How much the upstream carries, judged by its response time alone.
//!
//! Where the upstream's processors are out of sight, or something else limits
//! it (a lock, a database, a stolen core), a standing queue is the only sign:
//! response time well above what it was in calm. While there is one, the
//! requests that the upstream answers *are* its capacity: it cannot do more.
//! So capacity is learned at congestion, used with a small margin, and probed
//! upwards in calm. Unknown, it starts low and doubles about every quarter of
//! a second while nothing queues.
//!
//! Source: the estimate of the bottleneck by delivery rate, and of the delay
//! without queue by a windowed minimum, follow Cardwell et al. 2016, "BBR:
//! Congestion-Based Congestion Control".

use crate::costs::sane;
use crate::reading::Reading;

/// Requests per second at which an upstream out of sight is first tried.
const FIRST_TRY_PER_S: f64 = 100.0;
/// Growth per second while no limit was ever met: e^2.8, 1.3 per tick.
const START_GROWTH: f64 = 2.8;
/// Growth per second in calm after a limit was met.
const PROBE_GROWTH: f64 = 0.10;
/// Share of the learned capacity that is planned for.
const MARGIN: f64 = 0.97;
/// Congested: response time over this multiple of the calm one…
const SLOWDOWN: f64 = 2.5;
/// …plus this, in seconds: out of sight; in sight, where lulls keep queues short
/// and a longer one is somewhere else; and in sight and busy, where CPU is planned
/// for already and short queues are the price of full use.
const SLACK_UNSEEN_S: f64 = 0.004;
const SLACK_SPARE_S: f64 = 0.008;
const SLACK_BUSY_S: f64 = 0.025;
/// Use of any processors in sight from which on they are busy, in a tick of the
/// last [`SHORT_S`].
const BUSY: f64 = 0.9;
/// What is short in this module, in seconds.
const SHORT_S: f64 = 0.3;
/// How long the calm response time is remembered, in halves, seconds.
const HALF_MEMORY_S: f64 = 15.0;
/// Fewest responses that make a mean.
const FEWEST: f64 = 20.0;

/// What is known of the upstream by its answers.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    /// Sum of response times and their number, of about the last 300 ms.
    time_s: f64,
    count: f64,
    answered_per_s: f64,
    calm_s: [Extremes; 2],
    half_age_s: f64,
    /// Learned or tried capacity, requests per second; `None`: no limit known.
    capacity: Option<f64>,
    met: bool,
    congested: bool,
    calm_for_s: f64,
    queued: f64,
    /// Time since processors in sight were busy.
    spare_for_s: f64,
}

/// Least mean response time and greatest rate of half the memory.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    response_s: f64,
    per_s: f64,
}

const NONE: Extremes = Extremes { response_s: f64::INFINITY, per_s: 0.0 };

impl Service {
    pub(crate) fn new() -> Self {
        Self {
            time_s: 0.0,
            count: 0.0,
            answered_per_s: 0.0,
            calm_s: [NONE; 2],
            half_age_s: 0.0,
            capacity: None,
            met: false,
            congested: false,
            calm_for_s: 0.0,
            queued: 0.0,
            spare_for_s: 0.0,
        }
    }

    pub(crate) fn observe(&mut self, reading: &Reading, interval_s: f64) {
        let seen = reading.upstream.is_some_and(|upstream| upstream.used_cpu_s.is_some());
        self.measure(reading, interval_s);
        let in_flight = f64::from(reading.in_flight_requests);
        let slack_s = match seen {
            false => SLACK_UNSEEN_S,
            true if self.spare_for_s > SHORT_S => SLACK_SPARE_S,
            true => SLACK_BUSY_S,
        };
        let response_s = self.response_s();
        let limit_s = self.calm_response_s().map(|calm| calm * SLOWDOWN + slack_s);
        self.congested = limit_s.zip(response_s).is_some_and(|(limit, is)| is > limit);
        let allowed = limit_s.map_or(f64::INFINITY, |limit| self.answered_per_s * limit);
        self.queued = (in_flight - allowed.max(1.0)).max(0.0);
        if self.congested {
            let floor = 0.5 * self.calm_s[0].per_s.max(self.calm_s[1].per_s);
            let rate = self.answered_per_s.max(floor).max(1.0);
            self.capacity = Some(self.capacity.map_or(rate, |known| known.min(rate)));
            (self.met, self.calm_for_s) = (true, 0.0);
        } else {
            self.calm_for_s += interval_s;
            // A guess holds as long as nothing better is known.
            if !self.met {
                let guess = self.capacity.unwrap_or(FIRST_TRY_PER_S);
                self.capacity = (!seen).then_some(guess);
            }
            self.probe(interval_s);
        }
    }

    /// New sessions per second that fit beside so many requests per second of
    /// those inside; infinite where no limit is known.
    pub(crate) fn new_per_s(&self, inside_per_s: f64, interval_s: f64) -> f64 {
        let Some(capacity) = self.capacity else { return f64::INFINITY };
        (capacity * MARGIN - inside_per_s - self.queued / interval_s).max(0.0)
    }

    /// Requests in flight while nothing queues.
    pub(crate) fn calm_in_flight(&self) -> f64 {
        self.calm_response_s().map_or(0.0, |calm| calm * self.answered_per_s)
    }

    pub(crate) fn why(&self) -> String {
        if self.response_s().is_none() {
            let capacity = self.capacity.unwrap_or(0.0);
            return format!(
                "the upstream has answered too little to be judged and is tried with {capacity:.0} \
                 requests/s"
            );
        }
        format!(
            "the upstream answers {:.0} requests/s in {:.1} ms (calm: {:.1} ms){}; its capacity \
             is taken as {:.0}/s",
            self.answered_per_s,
            self.response_s().unwrap_or(0.0) * 1e3,
            self.calm_response_s().unwrap_or(0.0) * 1e3,
            if self.congested { ", which is a standing queue" } else { "" },
            self.capacity.unwrap_or(0.0),
        )
    }

    fn measure(&mut self, reading: &Reading, interval_s: f64) {
        let keep = if self.count > FEWEST { (-interval_s / SHORT_S).exp() } else { 1.0 };
        let answered = reading.upstream_responses as f64;
        self.time_s = self.time_s * keep + sane(reading.upstream_time_s).min(answered * 600.0);
        self.count = self.count * keep + answered;
        let share = (interval_s / SHORT_S).min(1.0);
        let in_sight = [Some(reading.gate), reading.upstream, reading.shared];
        let busy = in_sight.iter().flatten().any(|usage| usage.in_use(interval_s) > BUSY);
        self.spare_for_s = if busy { 0.0 } else { self.spare_for_s + interval_s };
        self.answered_per_s += share * (answered / interval_s - self.answered_per_s);
        self.half_age_s += interval_s;
        if self.half_age_s > HALF_MEMORY_S {
            self.calm_s = [NONE, self.calm_s[0]];
            self.half_age_s = 0.0;
        }
        let half = &mut self.calm_s[0];
        if self.count >= FEWEST {
            half.response_s = half.response_s.min(self.time_s / self.count);
        }
        half.per_s = half.per_s.max(self.answered_per_s);
    }

    fn probe(&mut self, interval_s: f64) {
        let Some(capacity) = &mut self.capacity else { return };
        if self.answered_per_s < 0.6 * *capacity {
            return;
        }
        let growth = if self.met { PROBE_GROWTH * (1.0 + self.calm_for_s) } else { START_GROWTH };
        *capacity *= (growth.min(START_GROWTH) * interval_s).exp();
    }

    fn response_s(&self) -> Option<f64> {
        (self.count >= FEWEST / 2.0).then(|| self.time_s / self.count)
    }

    fn calm_response_s(&self) -> Option<f64> {
        let calm = self.calm_s[0].response_s.min(self.calm_s[1].response_s);
        calm.is_finite().then_some(calm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tick of 100 ms in which so many were answered, in so many ms each.
    fn tick(service: &mut Service, answered: u64, each_ms: f64, in_flight_requests: u32) {
        let reading = Reading {
            upstream_responses: answered,
            upstream_time_s: answered as f64 * each_ms * 1e-3,
            in_flight_requests,
            ..Reading::default()
        };
        service.observe(&reading, 0.1);
    }

    fn calm() -> Service {
        let mut service = Service::new();
        (0..30).for_each(|_| tick(&mut service, 100, 10.0, 10));
        service
    }

    #[test]
    fn in_calm_capacity_is_tried_upwards_as_far_as_it_is_used() {
        // 1000/s are answered: trying ends where they are less than 60 % of it.
        let service = calm();
        let capacity = service.capacity.unwrap();
        assert!((1000.0 / 0.6..1000.0 / 0.6 * 1.33).contains(&capacity), "{capacity}");
        assert!((service.calm_response_s().unwrap() - 0.010).abs() < 1e-9);
        assert!((service.calm_in_flight() - 10.0).abs() < 0.1);
    }

    #[test]
    fn under_a_standing_queue_what_is_answered_is_the_capacity() {
        let mut service = calm();
        // Limit: 2.5 × 10 + 4 = 29 ms.
        (0..10).for_each(|_| tick(&mut service, 100, 60.0, 60));
        assert!(service.congested && service.met);
        let capacity = service.capacity.unwrap();
        assert!((capacity - 1000.0).abs() < 5.0, "{capacity}");
        // 60 in flight, 29 allowed: 31 too many, 310/s off for a tick.
        let left = service.new_per_s(500.0, 0.1);
        assert!((left - (970.0 - 500.0 - 310.0)).abs() < 10.0, "{left}");
    }

    #[test]
    fn an_upstream_in_sight_has_no_limit_until_it_shows_one() {
        let mut service = Service::new();
        let upstream = crate::Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.0), idle: None };
        service.observe(&Reading { upstream: Some(upstream), ..Reading::default() }, 0.1);
        assert_eq!(service.new_per_s(1e9, 0.1), f64::INFINITY);
    }

    #[test]
    fn a_guess_is_forgotten_once_the_upstream_is_in_sight() {
        let mut service = Service::new();
        service.observe(&Reading::default(), 0.1);
        assert!(service.new_per_s(0.0, 0.1) < 100.0);
        assert!(service.why().contains("tried with 100 requests/s"), "{}", service.why());
        let upstream = crate::Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.0), idle: None };
        service.observe(&Reading { upstream: Some(upstream), ..Reading::default() }, 0.1);
        assert_eq!(service.new_per_s(1e9, 0.1), f64::INFINITY);
    }

    #[test]
    fn a_lasting_change_of_pace_is_taken_for_calm_within_half_a_minute() {
        let mut service = calm();
        (0..320).for_each(|_| tick(&mut service, 100, 40.0, 40));
        assert!(!service.congested && (service.calm_response_s().unwrap() - 0.040).abs() < 1e-9);
    }
}
