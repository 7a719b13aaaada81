//! The latency limit: how much the upstream carries, judged by its response time alone.
//!
//! Where the upstream's processors are out of sight, or something else limits it (a
//! lock, a database, a neighbour), a standing queue is the only sign: a response time
//! well above the calm one. While there is one, the rate of responses *is* the capacity.
//! So the capacity is learned at congestion, used with a small margin, and probed
//! upwards without congestion. Unknown, it starts low and doubles with every tick while
//! it is used and nothing queues.
//!
//! Response times are compared by their geometric mean. A queue makes all of them
//! longer; a few pages that take a hundred times as long as the others make only the
//! arithmetic mean longer.
//!
//! Source: the estimate of the bottleneck by delivery rate, and of the delay without a
//! queue by a windowed minimum, follow Cardwell et al. 2016, "BBR: Congestion-Based
//! Congestion Control".

use serde::{Deserialize, Serialize};

use crate::experience::{Evidence, Experience};
use crate::part::Part;
use crate::reading::Reading;
use crate::resource::ResourceName;
use crate::tide::recent_responses::{RecentResponses, ResponseTime};
use crate::tide::relay::Queue;
use crate::tide::tuning::Tuning;

/// What is known of the upstream by its responses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LatencyLimit {
    recent: RecentResponses,
    /// Response times of the recent responses.
    response: Option<ResponseTime>,
    /// The least congested responses of either half of the memory.
    calm: [Calm; 2],
    half_age_s: f64,
    /// Learned or tried capacity, requests per second; `None`: no limit known.
    capacity: Option<f64>,
    met: bool,
    congested: bool,
    /// How long it has been congested, or calm, without a break.
    congested_for_s: f64,
    calm_for_s: f64,
    /// Whether the upstream's processors were in view at the last tick.
    visible: bool,
    queued: f64,
    /// Time since processors in sight were busy.
    spare_for_s: f64,
    /// The part of the upstream that is this gate's. Capacities are of the whole.
    #[serde(skip)]
    part: Part,
}

/// The shortest response times and the greatest rate of half the memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Calm {
    response: Option<ResponseTime>,
    per_s: f64,
}

/// Names in an [`Experience`].
const CAPACITY: &str = "capacity_per_s";
const TYPICAL: &str = "calm_typical_s";
const MEAN: &str = "calm_mean_s";

const UNKNOWN: Calm = Calm { response: None, per_s: 0.0 };

impl LatencyLimit {
    pub(crate) fn new() -> Self {
        Self {
            recent: RecentResponses::default(),
            response: None,
            calm: [UNKNOWN; 2],
            half_age_s: 0.0,
            capacity: None,
            met: false,
            congested: false,
            congested_for_s: 0.0,
            calm_for_s: 0.0,
            visible: false,
            queued: 0.0,
            spare_for_s: 0.0,
            part: Part::WHOLE,
        }
    }

    /// Adds the capacity and the calm response times, if the capacity was met here.
    pub(crate) fn tell(&self, all: &mut Experience) {
        if let Some((value, calm)) = self.capacity.zip(self.calm_response())
            && self.met
        {
            let told = |value| Some(Evidence { value, weight: self.recent.waits() });
            all.insert(CAPACITY, told(value));
            all.insert(TYPICAL, told(calm.typical_s));
            all.insert(MEAN, told(calm.mean_s));
        }
    }

    /// Takes the capacity that others have met, as long as none was met here.
    pub(crate) fn assume(&mut self, known: &Experience) {
        let [capacity, typical_s, mean_s] =
            [CAPACITY, TYPICAL, MEAN].map(|name| known.get(name).map(|known| known.value));
        if let Some(((capacity, typical_s), mean_s)) = capacity.zip(typical_s).zip(mean_s)
            && !self.met
            && capacity > 0.0
        {
            (self.capacity, self.met) = (Some(capacity), true);
            let response = Some(ResponseTime { typical_s, mean_s });
            self.calm[0].response = calmer(self.calm[0].response, response);
        }
    }

    pub(crate) fn observe(&mut self, reading: &Reading, interval_s: f64, tuning: &Tuning) {
        let visible = reading
            .usage_of(ResourceName::Upstream)
            .is_some_and(|upstream| upstream.used_cpu_s.is_some());
        let busy = self.spare_for_s <= tuning.latency_memory_s;
        self.takes_part(reading.part);
        self.measure(reading, interval_s, tuning);
        if std::mem::replace(&mut self.visible, visible) && !visible {
            self.lost_from_view(busy, tuning);
        }
        let slack_s = match visible {
            false => tuning.slack_unseen_s,
            true if self.spare_for_s > tuning.latency_memory_s => tuning.slack_spare_s,
            true => tuning.slack_busy_s,
        };
        let calm = self.calm_response();
        let now = self.response;
        self.congested = now
            .zip(calm)
            .is_some_and(|(now, calm)| now.typical_s > calm.typical_s * tuning.slowdown + slack_s);
        let per_s = self.recent.whole_per_s();
        let allowed = calm.map_or(f64::INFINITY, |calm| {
            self.recent.per_s() * (calm.mean_s * tuning.slowdown + slack_s)
        });
        let in_flight = f64::from(reading.in_flight_requests);
        self.queued = (in_flight - allowed.max(1.0)).max(0.0);
        if self.congested {
            let floor = 0.5 * self.calm[0].per_s.max(self.calm[1].per_s);
            let rate = per_s.max(floor).max(1.0);
            // A capacity that was only tried is forgotten at once.
            let share =
                if self.met { (interval_s / tuning.latency_memory_s).min(1.0) } else { 1.0 };
            let known = self.capacity.unwrap_or(rate);
            self.congested_for_s += interval_s;
            let stood = self.congested_for_s > tuning.congestion_span * self.recent.memory_s;
            // What all gates get is not known while it is not measured.
            if !self.met || self.part.measured && (rate > known || stood) {
                self.capacity = Some(known + share * (rate - known));
            }
            (self.met, self.calm_for_s) = (true, 0.0);
        } else {
            (self.calm_for_s, self.congested_for_s) = (self.calm_for_s + interval_s, 0.0);
            // Without a measured limit, an upstream out of sight is tried.
            if !self.met {
                let guess = self.capacity.unwrap_or(tuning.first_try_per_s);
                self.capacity = (!visible).then_some(guess);
            }
            let all = reading.upstream_responses as f64 + self.part.others;
            let now_per_s = all / interval_s;
            if self.part.measured || !self.met {
                self.probe(now_per_s, interval_s, tuning);
            }
        }
    }

    /// From now on this is the gate's part. A capacity that was only tried is what this gate may
    /// use: another share does not make it more.
    fn takes_part(&mut self, part: Part) {
        if part.measured && !self.part.measured && !self.met {
            self.capacity = self.capacity.map(|it| it * self.part.share / part.share);
        }
        self.part = part;
    }

    /// The upstream's processors are no longer in view. If processors were busy, the sessions that
    /// fill them are there already, and what they make of it is the capacity.
    fn lost_from_view(&mut self, busy: bool, tuning: &Tuning) {
        let per_s = self.recent.whole_per_s();
        if self.capacity.is_none() {
            self.capacity = Some(per_s.max(tuning.first_try_per_s));
            (self.met, self.calm_for_s) = (busy && per_s > tuning.first_try_per_s, 0.0);
        }
    }

    /// New sessions per second that fit beside so many requests per second of active
    /// sessions; infinite where no limit is known.
    pub(crate) fn new_per_s(&self, active_per_s: f64, interval_s: f64, tuning: &Tuning) -> f64 {
        let Some(capacity) = self.capacity else { return f64::INFINITY };
        let capacity = capacity * self.part.share;
        (capacity * tuning.capacity_share - active_per_s - self.queued / interval_s).max(0.0)
    }

    /// Requests per second that are planned for, of all gates; `None`: no limit is known.
    pub(crate) fn planned_per_s(&self, tuning: &Tuning) -> Option<f64> {
        Some(self.capacity? * tuning.capacity_share)
    }

    /// Requests per second of this gate that are planned for, where a queue has shown what the
    /// upstream carries.
    pub(crate) fn met_per_s(&self, tuning: &Tuning) -> Option<f64> {
        self.planned_per_s(tuning).filter(|_| self.met).map(|per_s| per_s * self.part.share)
    }

    /// The mean response time without a queue, in seconds; 0 while it is not known.
    pub(crate) fn calm_s(&self) -> f64 {
        self.calm_response().map_or(0.0, |calm| calm.mean_s)
    }

    /// Whether a queue stands; `None` while too little is known.
    pub(crate) fn queue(&self) -> Option<Queue> {
        let calm_s = self.calm_response()?.mean_s;
        (calm_s > 0.0).then_some(Queue { stands: self.congested, calm_s })
    }

    /// Requests in flight while nothing queues.
    pub(crate) fn calm_in_flight(&self) -> f64 {
        self.calm_response().map_or(0.0, |calm| calm.mean_s * self.recent.per_s())
    }

    pub(crate) fn why(&self) -> String {
        let capacity = self.capacity.unwrap_or(0.0);
        let Some((now, calm)) = self.response.zip(self.calm_response()) else {
            return format!(
                "the upstream has given too few responses to judge and is tried with \
                 {capacity:.0} requests/s"
            );
        };
        format!(
            "the upstream answers {:.0} requests/s in typically {:.1} ms (calm: {:.1} ms){}; its \
             capacity estimate is {capacity:.0}/s",
            self.recent.whole_per_s(),
            now.typical_s * 1e3,
            calm.typical_s * 1e3,
            if self.congested { ", which is a standing queue" } else { "" },
        )
    }

    fn measure(&mut self, reading: &Reading, interval_s: f64, tuning: &Tuning) {
        self.recent.add(reading, interval_s, self.calm_response(), tuning);
        self.response = self.recent.response(tuning);
        let busy = reading
            .usage
            .iter()
            .any(|(_, usage)| usage.in_use(interval_s) > tuning.busy_utilization);
        self.spare_for_s = if busy { 0.0 } else { self.spare_for_s + interval_s };
        self.half_age_s += interval_s;
        if self.half_age_s > tuning.calm_half_memory_s {
            self.calm = [UNKNOWN, self.calm[0]];
            self.half_age_s = 0.0;
        }
        let half = &mut self.calm[0];
        // The first responses are the shortest of the requests begun with them.
        if self.recent.span_s >= tuning.calm_span * self.recent.memory_s {
            half.response = calmer(half.response, self.response);
        }
        if self.part.measured {
            half.per_s = half.per_s.max(self.recent.whole_per_s());
        }
    }

    /// `now_per_s`: responses of the last tick. The faded rate lags behind it while
    /// admission grows from tick to tick.
    fn probe(&mut self, now_per_s: f64, interval_s: f64, tuning: &Tuning) {
        let recent_per_s = self.recent.whole_per_s();
        let Some(capacity) = &mut self.capacity else { return };
        if now_per_s.max(recent_per_s) < tuning.used_share * *capacity {
            return;
        }
        let growth = if self.met {
            tuning.probe_growth_per_s * (1.0 + self.calm_for_s)
        } else {
            tuning.start_growth_per_s
        };
        *capacity *= (growth.min(tuning.start_growth_per_s) * interval_s).exp();
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

    fn tuning() -> Tuning {
        Tuning::default()
    }

    /// A tick of 100 ms with so many responses, of so many ms each.
    fn tick(limit: &mut LatencyLimit, answered: u64, each_ms: f64, in_flight_requests: u32) {
        let reading = Reading {
            upstream_responses: answered,
            upstream_time_s: answered as f64 * each_ms * 1e-3,
            upstream_time_ln: answered as f64 * (each_ms * 1e6).ln(),
            in_flight_requests,
            ..Reading::default()
        };
        limit.observe(&reading, 0.1, &tuning());
    }

    fn calm() -> LatencyLimit {
        let mut limit = LatencyLimit::new();
        (0..30).for_each(|_| tick(&mut limit, 100, 10.0, 10));
        limit
    }

    #[test]
    fn without_congestion_the_estimate_grows_as_far_as_it_is_used() {
        // 1000 responses/s: growth ends where they are less than 60 % of the estimate.
        let limit = calm();
        let capacity = limit.capacity.unwrap();
        assert!((1000.0 / 0.6..1000.0 / 0.6 * 2.02).contains(&capacity), "{capacity}");
        assert!((limit.calm_response().unwrap().mean_s - 0.010).abs() < 1e-9);
        assert!((limit.calm_in_flight() - 10.0).abs() < 0.1);
    }

    #[test]
    fn an_unknown_capacity_is_doubled_with_every_tick_that_uses_it() {
        let mut limit = LatencyLimit::new();
        let ticks = (1..).take_while(|_| {
            let capacity = limit.capacity.unwrap_or(tuning().first_try_per_s);
            tick(&mut limit, (capacity * 0.1) as u64, 1.0, 1);
            limit.capacity.unwrap() < 3000.0
        });
        // 100 × 2^5 = 3200, in the sixth tick at the latest.
        assert!(ticks.count() <= 5);
    }

    #[test]
    fn with_a_standing_queue_the_rate_of_responses_is_the_capacity() {
        let mut limit = calm();
        // Limit: 3 × 10 + 2 = 32 ms.
        (0..10).for_each(|_| tick(&mut limit, 100, 60.0, 60));
        assert!(limit.congested && limit.met);
        let capacity = limit.capacity.unwrap();
        assert!((capacity - 1000.0).abs() < 5.0, "{capacity}");
        // 60 in flight, 32 allowed: 28 too many, 280/s off for a tick.
        let left = limit.new_per_s(500.0, 0.1, &tuning());
        assert!((left - (970.0 - 500.0 - 280.0)).abs() < 10.0, "{left}");
    }

    #[test]
    fn without_responses_abandoned_waits_show_the_queue() {
        // 1000 requests/s, each abandoned after 250 ms.
        let mut limit = calm();
        for _ in 0..20 {
            let reading = Reading {
                upstream_given_up: 100,
                given_up_time_ln: 100.0 * 250e6_f64.ln(),
                ..Reading::default()
            };
            limit.observe(&reading, 0.1, &tuning());
        }
        let now = limit.response.unwrap();
        assert!((now.typical_s - 0.25).abs() < 0.005, "{now:?}");
        assert!(limit.congested && limit.met);
        // Without responses, the floor is half of the former rate.
        assert!(limit.capacity.unwrap() < 510.0, "{limit:?}");
    }

    #[test]
    fn requests_abandoned_at_once_make_no_response_time_shorter() {
        let (mut limit, alone) = (calm(), calm());
        for _ in 0..20 {
            let reading = Reading {
                upstream_responses: 100,
                upstream_time_s: 1.0,
                upstream_time_ln: 100.0 * 10e6_f64.ln(),
                upstream_given_up: 5000,
                given_up_time_ln: 5000.0 * 1e5_f64.ln(),
                ..Reading::default()
            };
            limit.observe(&reading, 0.1, &tuning());
        }
        let typical_s = |limit: &LatencyLimit| limit.calm_response().unwrap().typical_s;
        assert!((typical_s(&limit) - typical_s(&alone)).abs() < 1e-6);
        assert!(!limit.congested);
    }

    #[test]
    fn a_few_slow_pages_are_no_congestion() {
        let mut limit = calm();
        for _ in 0..30 {
            let reading = Reading {
                upstream_responses: 100,
                upstream_time_s: 96.0 * 0.010 + 4.0 * 1.0,
                upstream_time_ln: 96.0 * 10e6_f64.ln() + 4.0 * 1e9_f64.ln(),
                ..Reading::default()
            };
            limit.observe(&reading, 0.1, &tuning());
        }
        // Arithmetic mean: 49.6 ms, far over the limit of 32. Geometric: 10 × 100^0.04.
        let now = limit.response.unwrap();
        assert!((now.mean_s - 0.0496).abs() < 1e-4 && (now.typical_s - 0.0120).abs() < 1e-4);
        assert!(!limit.congested);
    }

    #[test]
    fn a_capacity_that_was_met_is_corrected_both_ways() {
        let mut limit = calm();
        (0..10).for_each(|_| tick(&mut limit, 100, 60.0, 60));
        // A third more responses in spite of a queue.
        (0..20).for_each(|_| tick(&mut limit, 133, 60.0, 80));
        let capacity = limit.capacity.unwrap();
        assert!(limit.congested && (capacity - 1330.0).abs() < 10.0, "{capacity}");
    }

    #[test]
    fn few_responses_are_averaged_over_a_longer_time() {
        // 20 a second: what came in the last two seconds, not six in 300 ms.
        let mut limit = LatencyLimit::new();
        (0..100).for_each(|_| tick(&mut limit, 2, 10.0, 1));
        assert!((limit.recent.count - 40.0).abs() < 2.0, "{}", limit.recent.count);
        assert!((limit.recent.per_s() - 20.0).abs() < 1e-6);
    }

    fn upstream_in_sight() -> Reading {
        let upstream = crate::Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.0), idle: None };
        let usage = crate::ByResource::default().with(ResourceName::Upstream, upstream);
        Reading { usage, ..Reading::default() }
    }

    #[test]
    fn an_upstream_in_sight_has_no_limit_until_it_shows_one() {
        let mut limit = LatencyLimit::new();
        limit.observe(&upstream_in_sight(), 0.1, &tuning());
        assert_eq!(limit.new_per_s(1e9, 0.1, &tuning()), f64::INFINITY);
    }

    #[test]
    fn a_tried_capacity_is_forgotten_once_the_upstream_is_in_sight() {
        let mut limit = LatencyLimit::new();
        limit.observe(&Reading::default(), 0.1, &tuning());
        assert!(limit.new_per_s(0.0, 0.1, &tuning()) < 100.0);
        assert!(limit.why().contains("tried with 100 requests/s"), "{}", limit.why());
        limit.observe(&upstream_in_sight(), 0.1, &tuning());
        assert_eq!(limit.new_per_s(1e9, 0.1, &tuning()), f64::INFINITY);
    }

    fn in_sight(used_cpu_s: f64) -> Reading {
        let mut reading = upstream_in_sight();
        let usage = crate::Usage { capacity_cpus: 1.0, used_cpu_s: Some(used_cpu_s), idle: None };
        reading.usage.set(ResourceName::Upstream, usage);
        let answered = 100;
        Reading {
            upstream_responses: answered,
            upstream_time_s: answered as f64 * 0.01,
            upstream_time_ln: answered as f64 * 10e6_f64.ln(),
            in_flight_requests: 10,
            ..reading
        }
    }

    #[test]
    fn busy_processors_that_go_out_of_sight_leave_their_rate_as_the_capacity() {
        let tried = |used_cpu_s: f64, ticks: u32| {
            let mut limit = LatencyLimit::new();
            (0..50).for_each(|_| limit.observe(&in_sight(used_cpu_s), 0.1, &tuning()));
            assert_eq!(limit.new_per_s(0.0, 0.1, &tuning()), f64::INFINITY);
            (0..ticks).for_each(|_| tick(&mut limit, 100, 10.0, 10));
            limit.capacity.unwrap()
        };
        // 1000 responses/s: with busy processors that is all; with spare ones more is tried.
        assert!((tried(0.099, 5) / 1000.0 - 1.05).abs() < 0.05, "{}", tried(0.099, 5));
        assert!(tried(0.05, 5) > 1600.0, "{}", tried(0.05, 5));
    }

    #[test]
    fn a_pause_of_the_service_makes_a_capacity_that_was_met_no_less() {
        let mut limit = calm();
        (0..10).for_each(|_| tick(&mut limit, 100, 60.0, 60));
        (0..20).for_each(|_| tick(&mut limit, 100, 10.0, 10));
        let before = limit.capacity.unwrap();
        // Nothing for 200 ms, then what had piled up, 100 ms late.
        tick(&mut limit, 0, 10.0, 100);
        tick(&mut limit, 0, 10.0, 200);
        tick(&mut limit, 250, 120.0, 60);
        assert!(limit.congested && limit.capacity.unwrap() >= before, "{limit:?}");
        // It lasts: then the rate of responses is the capacity.
        (0..20).for_each(|_| tick(&mut limit, 50, 120.0, 60));
        assert!(limit.capacity.unwrap() < 0.6 * before, "{limit:?}");
    }

    #[test]
    fn a_lasting_change_of_response_time_becomes_the_calm_one_within_half_a_minute() {
        let mut limit = calm();
        (0..320).for_each(|_| tick(&mut limit, 100, 40.0, 40));
        assert!(!limit.congested && (limit.calm_response().unwrap().mean_s - 0.040).abs() < 1e-9);
    }
}
