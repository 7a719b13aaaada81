//! How much the upstream carries, judged by its response time alone.
//!
//! Where the upstream's processors are out of sight, or something else limits
//! it (a lock, a database, a stolen core), a standing queue is the only sign:
//! response time well above what it was in calm. While there is one, the
//! requests that the upstream answers *are* its capacity: it cannot do more.
//! So capacity is learned at congestion, used with a small margin, and probed
//! upwards in calm. Unknown, it starts low and doubles with every tick while it
//! is used and nothing queues.
//!
//! Response times are judged by their geometric mean. A queue makes all of them
//! longer; a few pages that take a hundred times as long as the others make the
//! arithmetic mean longer and are no queue.
//!
//! Source: the estimate of the bottleneck by delivery rate, and of the delay
//! without queue by a windowed minimum, follow Cardwell et al. 2016, "BBR:
//! Congestion-Based Congestion Control".

use crate::costs::sane;
use crate::reading::Reading;

/// Requests per second at which an upstream out of sight is first tried.
const FIRST_TRY_PER_S: f64 = 100.0;
/// Growth per second while no limit was ever met: e^7, twofold per tick of 100 ms,
/// since whoever starts slowly leaves a crowd outside meanwhile. Too bold a guess
/// costs little: newcomers wait for lulls.
const START_GROWTH: f64 = 7.0;
/// Share of what was tried that must be used before more is.
const USED: f64 = 0.6;
/// Growth per second in calm after a limit was met.
const PROBE_GROWTH: f64 = 0.10;
/// Share of the learned capacity that is planned for.
const MARGIN: f64 = 0.97;
/// Congested: response time over this multiple of the calm one…
const SLOWDOWN: f64 = 3.0;
/// …plus this, in seconds: out of sight; in sight, where lulls keep queues short
/// and a longer one is somewhere else; and in sight and busy, where CPU is planned
/// for already and short queues are the price of full use.
const SLACK_UNSEEN_S: f64 = 0.002;
const SLACK_SPARE_S: f64 = 0.006;
const SLACK_BUSY_S: f64 = 0.025;
/// Use of any processors in sight from which on they are busy, in a tick of the
/// last [`SHORT_S`].
const BUSY: f64 = 0.9;
/// What is short in this module, and what is long, in seconds.
const SHORT_S: f64 = 0.3;
const LONG_S: f64 = 2.0;
/// How long the calm response time is remembered, in halves, seconds.
const HALF_MEMORY_S: f64 = 15.0;
/// Responses that make a mean, if they come within [`LONG_S`]; a tenth must.
const ENOUGH: f64 = 100.0;

/// What is known of the upstream by its answers.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    recent: Recent,
    /// The calmest of either half of the memory, and the most that was answered.
    calm: [Calm; 2],
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

/// Responses of late, older ones fading: number, sums of their times and of the
/// logarithms of their times in nanoseconds; and the same of waits that were given up.
///
/// Such a wait counts as a response of that length, which is at least what it would
/// have taken: where most customers lose patience first, those who are answered are the
/// lucky ones, and where all do nothing else tells of the queue. Waits shorter than the
/// calm response tell nothing, and whoever asks and hangs up at once cannot pass for a
/// service that has become faster.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    span_s: f64,
    count: f64,
    time_s: f64,
    time_ln: f64,
    given_up: f64,
    given_up_ln: f64,
}

impl Recent {
    fn add(&mut self, reading: &Reading, interval_s: f64, calm: Option<ResponseTime>) {
        let waits_per_s = self.waits() / self.span_s.max(f64::MIN_POSITIVE);
        let memory_s = (ENOUGH / waits_per_s).clamp(SHORT_S, LONG_S);
        let keep = (-interval_s / memory_s).exp();
        let count = reading.upstream_responses as f64;
        self.span_s = self.span_s * keep + interval_s;
        self.count = self.count * keep + count;
        self.time_s = self.time_s * keep + sane(reading.upstream_time_s).min(count * 600.0);
        self.time_ln = self.time_ln * keep + sane(reading.upstream_time_ln).min(count * 40.0);
        let given_up = reading.upstream_given_up as f64;
        let given_up_ln = sane(reading.given_up_time_ln).min(given_up * 40.0);
        let least_ln = calm.map_or(0.0, |calm| (calm.typical_s * 1e9).ln());
        let tells = f64::from(u8::from(given_up_ln >= given_up * least_ln));
        self.given_up = self.given_up * keep + tells * given_up;
        self.given_up_ln = self.given_up_ln * keep + tells * given_up_ln;
    }

    /// Answered or not.
    fn waits(&self) -> f64 {
        self.count + self.given_up
    }

    fn per_s(&self) -> f64 {
        if self.span_s > 0.0 { self.count / self.span_s } else { 0.0 }
    }

    /// Response times in seconds, if there are enough for that.
    fn response(&self) -> Option<ResponseTime> {
        let typical_s = ((self.time_ln + self.given_up_ln) / self.waits()).exp() * 1e-9;
        (self.waits() >= ENOUGH / 10.0).then(|| ResponseTime {
            typical_s,
            mean_s: if self.count > 0.0 { self.time_s / self.count } else { typical_s },
        })
    }
}

/// Response times: geometric and arithmetic mean, in seconds.
#[derive(Clone, Copy, Debug)]
struct ResponseTime {
    typical_s: f64,
    mean_s: f64,
}

/// The shortest response times and the greatest rate of half the memory.
#[derive(Clone, Copy, Debug)]
struct Calm {
    response: Option<ResponseTime>,
    per_s: f64,
}

const UNKNOWN: Calm = Calm { response: None, per_s: 0.0 };

impl Service {
    pub(crate) fn new() -> Self {
        Self {
            recent: Recent::default(),
            calm: [UNKNOWN; 2],
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
        let slack_s = match seen {
            false => SLACK_UNSEEN_S,
            true if self.spare_for_s > SHORT_S => SLACK_SPARE_S,
            true => SLACK_BUSY_S,
        };
        let calm = self.calm_response();
        let now = self.recent.response();
        self.congested = now
            .zip(calm)
            .is_some_and(|(now, calm)| now.typical_s > calm.typical_s * SLOWDOWN + slack_s);
        let per_s = self.recent.per_s();
        let allowed = calm.map_or(f64::INFINITY, |calm| per_s * (calm.mean_s * SLOWDOWN + slack_s));
        let in_flight = f64::from(reading.in_flight_requests);
        self.queued = (in_flight - allowed.max(1.0)).max(0.0);
        if self.congested {
            let floor = 0.5 * self.calm[0].per_s.max(self.calm[1].per_s);
            let rate = per_s.max(floor).max(1.0);
            // What was only tried is forgotten at once.
            let share = if self.met { (interval_s / SHORT_S).min(1.0) } else { 1.0 };
            let known = self.capacity.unwrap_or(rate);
            self.capacity = Some(known + share * (rate - known));
            (self.met, self.calm_for_s) = (true, 0.0);
        } else {
            self.calm_for_s += interval_s;
            // A guess holds as long as nothing better is known.
            if !self.met {
                let guess = self.capacity.unwrap_or(FIRST_TRY_PER_S);
                self.capacity = (!seen).then_some(guess);
            }
            self.probe(reading.upstream_responses as f64 / interval_s, interval_s);
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
        self.calm_response().map_or(0.0, |calm| calm.mean_s * self.recent.per_s())
    }

    pub(crate) fn why(&self) -> String {
        let capacity = self.capacity.unwrap_or(0.0);
        let Some((now, calm)) = self.recent.response().zip(self.calm_response()) else {
            return format!(
                "the upstream has answered too little to be judged and is tried with {capacity:.0} \
                 requests/s"
            );
        };
        format!(
            "the upstream answers {:.0} requests/s in typically {:.1} ms (calm: {:.1} ms){}; its \
             capacity is taken as {capacity:.0}/s",
            self.recent.per_s(),
            now.typical_s * 1e3,
            calm.typical_s * 1e3,
            if self.congested { ", which is a standing queue" } else { "" },
        )
    }

    fn measure(&mut self, reading: &Reading, interval_s: f64) {
        self.recent.add(reading, interval_s, self.calm_response());
        let in_sight = [Some(reading.gate), reading.upstream, reading.shared];
        let busy = in_sight.iter().flatten().any(|usage| usage.in_use(interval_s) > BUSY);
        self.spare_for_s = if busy { 0.0 } else { self.spare_for_s + interval_s };
        self.half_age_s += interval_s;
        if self.half_age_s > HALF_MEMORY_S {
            self.calm = [UNKNOWN, self.calm[0]];
            self.half_age_s = 0.0;
        }
        let half = &mut self.calm[0];
        half.response = calmer(half.response, self.recent.response());
        half.per_s = half.per_s.max(self.recent.per_s());
    }

    /// `now_per_s` were answered in the last tick: the rate of late is behind it
    /// while more are let in from tick to tick.
    fn probe(&mut self, now_per_s: f64, interval_s: f64) {
        let Some(capacity) = &mut self.capacity else { return };
        if now_per_s.max(self.recent.per_s()) < USED * *capacity {
            return;
        }
        let growth = if self.met { PROBE_GROWTH * (1.0 + self.calm_for_s) } else { START_GROWTH };
        *capacity *= (growth.min(START_GROWTH) * interval_s).exp();
    }

    fn calm_response(&self) -> Option<ResponseTime> {
        calmer(self.calm[0].response, self.calm[1].response)
    }
}

/// The shorter of two response times, as far as they are known.
fn calmer(one: Option<ResponseTime>, other: Option<ResponseTime>) -> Option<ResponseTime> {
    [one, other].into_iter().flatten().min_by(|a, b| a.typical_s.total_cmp(&b.typical_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tick of 100 ms in which so many were answered, in so many ms each.
    fn tick(service: &mut Service, answered: u64, each_ms: f64, in_flight_requests: u32) {
        let reading = Reading {
            upstream_responses: answered,
            upstream_time_s: answered as f64 * each_ms * 1e-3,
            upstream_time_ln: answered as f64 * (each_ms * 1e6).ln(),
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
        assert!((1000.0 / 0.6..1000.0 / 0.6 * 2.02).contains(&capacity), "{capacity}");
        assert!((service.calm_response().unwrap().mean_s - 0.010).abs() < 1e-9);
        assert!((service.calm_in_flight() - 10.0).abs() < 0.1);
    }

    #[test]
    fn what_is_tried_doubles_with_every_tick_that_uses_it() {
        let mut service = Service::new();
        let ticks = (1..).take_while(|_| {
            let capacity = service.capacity.unwrap_or(FIRST_TRY_PER_S);
            tick(&mut service, (capacity * 0.1) as u64, 1.0, 1);
            service.capacity.unwrap() < 3000.0
        });
        // 100 × 2^5 = 3200, in the sixth tick at the latest.
        assert!(ticks.count() <= 5);
    }

    #[test]
    fn under_a_standing_queue_what_is_answered_is_the_capacity() {
        let mut service = calm();
        // Limit: 3 × 10 + 2 = 32 ms.
        (0..10).for_each(|_| tick(&mut service, 100, 60.0, 60));
        assert!(service.congested && service.met);
        let capacity = service.capacity.unwrap();
        assert!((capacity - 1000.0).abs() < 5.0, "{capacity}");
        // 60 in flight, 32 allowed: 28 too many, 280/s off for a tick.
        let left = service.new_per_s(500.0, 0.1);
        assert!((left - (970.0 - 500.0 - 280.0)).abs() < 10.0, "{left}");
    }

    #[test]
    fn where_nobody_waits_long_enough_to_be_answered_the_waits_tell_of_the_queue() {
        // 1000/s ask, and give up after 250 ms each.
        let mut service = calm();
        for _ in 0..20 {
            let reading = Reading {
                upstream_given_up: 100,
                given_up_time_ln: 100.0 * 250e6_f64.ln(),
                ..Reading::default()
            };
            service.observe(&reading, 0.1);
        }
        let now = service.recent.response().unwrap();
        assert!((now.typical_s - 0.25).abs() < 0.005, "{now:?}");
        assert!(service.congested && service.met);
        // Answered is nothing: the floor is half of what once was.
        assert!(service.capacity.unwrap() < 510.0, "{service:?}");
    }

    #[test]
    fn who_asks_and_hangs_up_at_once_makes_no_response_time_shorter() {
        let (mut service, alone) = (calm(), calm());
        for _ in 0..20 {
            let reading = Reading {
                upstream_responses: 100,
                upstream_time_s: 1.0,
                upstream_time_ln: 100.0 * 10e6_f64.ln(),
                upstream_given_up: 5000,
                given_up_time_ln: 5000.0 * 1e5_f64.ln(),
                ..Reading::default()
            };
            service.observe(&reading, 0.1);
        }
        let typical_s = |service: &Service| service.calm_response().unwrap().typical_s;
        assert!((typical_s(&service) - typical_s(&alone)).abs() < 1e-6);
        assert!(!service.congested);
    }

    #[test]
    fn a_few_slow_pages_are_no_queue() {
        let mut service = calm();
        for _ in 0..30 {
            let reading = Reading {
                upstream_responses: 100,
                upstream_time_s: 96.0 * 0.010 + 4.0 * 1.0,
                upstream_time_ln: 96.0 * 10e6_f64.ln() + 4.0 * 1e9_f64.ln(),
                ..Reading::default()
            };
            service.observe(&reading, 0.1);
        }
        // Arithmetic mean: 49.6 ms, far over the limit of 32. Geometric: 10 × 100^0.04.
        let now = service.recent.response().unwrap();
        assert!((now.mean_s - 0.0496).abs() < 1e-4 && (now.typical_s - 0.0120).abs() < 1e-4);
        assert!(!service.congested);
    }

    #[test]
    fn a_capacity_once_met_is_corrected_both_ways() {
        let mut service = calm();
        (0..10).for_each(|_| tick(&mut service, 100, 60.0, 60));
        // It answers a third more in spite of a queue.
        (0..20).for_each(|_| tick(&mut service, 133, 60.0, 80));
        let capacity = service.capacity.unwrap();
        assert!(service.congested && (capacity - 1330.0).abs() < 10.0, "{capacity}");
    }

    #[test]
    fn few_responses_are_judged_over_a_longer_time() {
        // 20 a second: what came in the last two seconds, not six in 300 ms.
        let mut service = Service::new();
        (0..100).for_each(|_| tick(&mut service, 2, 10.0, 1));
        assert!((service.recent.count - 40.0).abs() < 2.0, "{}", service.recent.count);
        assert!((service.recent.per_s() - 20.0).abs() < 1e-6);
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
        assert!(
            !service.congested && (service.calm_response().unwrap().mean_s - 0.040).abs() < 1e-9
        );
    }
}
