use super::*;
use crate::ClassWork;
use crate::costs::CostModel;
use crate::reading::Usage;
use crate::think_time_census::AGES;

const ONE: Usage = Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.0), idle: None };

/// The handshake of [`costs`].
const AVERAGE_S: f64 = 500e-6;

fn reading() -> Reading {
    let usage = ByResource::default().with(ResourceName::Gate, ONE);
    Reading { elapsed: Duration::from_millis(100), usage, ..Reading::default() }
}

fn costs() -> Costs {
    // Handshake 500 µs, request 25 + 500 µs.
    CostModel::new(&Priors::default()).costs()
}

fn tide() -> Tide {
    Tide::new(&Priors::default(), &costs(), Tuning::default())
}

fn after(reading: &Reading) -> Tide {
    let mut tide = tide();
    tide.observe(Time::from_millis(100), reading, &costs(), Refused::default());
    tide
}

fn shared(sessions_active: u32, in_flight_requests: u32) -> Reading {
    let usage = reading().usage.with(ResourceName::Upstream, ONE).with(ResourceName::Host, ONE);
    let mut thinking = [0; AGES];
    thinking[1] = sessions_active.into();
    Reading { usage, sessions_active, thinking, in_flight_requests, ..reading() }
}

/// No sessions, and so much of the host in use.
fn on_host(usage: Usage) -> Reading {
    let mut reading = shared(0, 0);
    reading.usage.set(ResourceName::Host, usage);
    reading
}

#[test]
fn without_active_sessions_all_capacity_is_planned_for_new_ones() {
    // 100 ms / 1025 µs = 97.56 in 100 ms.
    let tide = after(&shared(0, 0));
    assert!((tide.plan.per_second - 975.61).abs() < 0.1, "{:?}", tide.plan);
    assert_eq!(tide.plan.limit, Limit::Cpu(ResourceName::Host));
}

#[test]
fn the_tightest_of_several_upstreams_sets_the_plan() {
    let costs = Costs { upstream_request_cpu_s: 400e-6, routed_request_cpu_s: 200e-6, ..costs() };
    let quarter = Usage { capacity_cpus: 0.25, ..ONE };
    let mut reading = reading();
    reading.usage.set(ResourceName::Upstream, ONE);
    reading.usage.set(ResourceName::Routed, quarter);
    let mut tide = tide();
    tide.observe(Time::from_millis(100), &reading, &costs, Refused::default());
    // 1 ∕ 525 µs by the gate, 1 ∕ 400 µs by one upstream, 0.25 ∕ 200 µs by the other.
    assert_eq!(tide.plan.limit, Limit::Cpu(ResourceName::Routed));
    assert!((tide.plan.per_second - 1250.0).abs() < 0.1, "{:?}", tide.plan);
}

#[test]
fn what_is_with_an_upstream_counts_in_full_however_few_requests_go_there() {
    // One request in ten goes to the upstream, for 500 µs: 50 µs of each.
    let costs = Costs {
        upstream_request_cpu_s: 50e-6,
        upstream_share: 0.1,
        gate_request_cpu_s: 25e-6,
        ..costs()
    };
    let mut tide = tide();
    tide.observe(Time::from_millis(100), &shared(0, 40), &costs, Refused::default());
    // Half of 40 × 525 µs, less two that keep the processor busy.
    assert!((tide.plan.backlog_s - 0.009_975).abs() < 1e-9, "{:?}", tide.plan);
    assert!((tide.plan.session_s - 575e-6).abs() < 1e-9, "{:?}", tide.plan);
}

#[test]
fn plan_and_denial_are_explained_in_a_sentence_each_with_the_right_sums() {
    let mut tide = after(&shared(20, 40));
    // 20 customers at one request/s and 537 µs, with returns of 0.1 at 120 µs: 1.07 ms;
    // half of 38 requests at 525 µs: 9.975 ms; (100 − 1.07 − 9.975) ∕ 1.025 = 86.78.
    assert_eq!(
        tide.why(Time::from_millis(100)),
        "of 100.0 ms of host CPU in the next 100 ms, times a trim of 1.000, refusals take \
         0.0, 20 active sessions 1.1 and the backlog 10.0; at 1.02 ms each this leaves 867.8 \
         new sessions/s"
    );
    assert!(tide.why(Time::from_secs(9)).starts_with("no reading has come since this plan"));
    assert_eq!(tide.why_not(), None);
    while tide.take(Time::from_millis(100), Moment::IDLE, AVERAGE_S).is_ok() {}
    let taken = "limit of 868 new sessions/s reached";
    assert_eq!(tide.why_not().as_deref(), Some(taken));
    assert!(tide.take(Time::from_secs(1), Moment::in_flight(9, 0), AVERAGE_S).is_err());
    let busy = tide.why_not().unwrap();
    assert!(busy.starts_with("the backlog is 9.23 ms of CPU (9 handshakes and 0"), "{busy}");
}

#[test]
fn a_session_takes_as_much_of_the_plan_as_its_handshake_costs() {
    // 97.56 sessions of 1025 µs in 100 ms, and ten of 5.125 ms take as much as fifty.
    let admitted = |handshake_s: f64| {
        let mut tide = after(&shared(0, 0));
        let now = Time::from_millis(100);
        let costly = (0..10).filter(|_| tide.take(now, Moment::IDLE, handshake_s).is_ok());
        let costly = costly.count();
        let others = std::iter::from_fn(|| tide.take(now, Moment::IDLE, AVERAGE_S).ok());
        (costly, others.count())
    };
    assert_eq!(admitted(AVERAGE_S), (10, 87));
    assert_eq!(admitted(4.6e-3), (10, 47));
    // A session that costs more than all that is left is admitted, and the rest is owed.
    assert_eq!(admitted(30e-3), (4, 0));
}

#[test]
fn active_sessions_and_the_backlog_come_first() {
    // 40 in flight need 21 ms. Two of them keep the processor busy; of the others half counts.
    let (empty, busy) = (after(&shared(0, 0)), after(&shared(0, 40)));
    let left = (100.0 - 9.975) / 100.0;
    assert!((busy.plan.per_second / empty.plan.per_second - left).abs() < 1e-6);
    // 3000 thinking customers make 0.1 × 3000 requests of 537 µs = 161 ms: no room.
    assert_eq!(after(&shared(3000, 0)).plan.per_second, 0.0);
}

#[test]
fn requests_that_keep_the_processor_busy_are_no_debt() {
    assert_eq!(after(&shared(0, 2)).plan.backlog_s, 0.0);
    assert!(after(&shared(0, 3)).plan.backlog_s > 0.0);
}

#[test]
fn resources_that_take_turns_at_being_the_tightest_are_corrected_together() {
    // A service has its host for itself, with a fifth unused, and new sessions wait. By turns a
    // little more is used of one of both.
    let mut tide = tide();
    for tick in 1..=100_u32 {
        let used_cpu_s = |more: bool| Some(if more { 0.081 } else { 0.079 });
        let upstream = Usage { used_cpu_s: used_cpu_s(tick % 2 == 0), ..ONE };
        let host = Usage { used_cpu_s: used_cpu_s(tick % 2 == 1), idle: None, ..ONE };
        let mut reading = shared(100, 0);
        reading.usage.set(ResourceName::Upstream, upstream);
        reading.usage.set(ResourceName::Host, host);
        let refused = Refused { put_off: true, ..Refused::default() };
        tide.observe(Time::from_millis(u64::from(tick) * 100), &reading, &costs(), refused);
    }
    for name in [ResourceName::Upstream, ResourceName::Host] {
        // 0.3 × 0.19 × 10 s.
        let trim = tide.share(name).trim;
        assert!(trim > 1.15, "{name:?}: {trim}");
    }
}

#[test]
fn a_reading_of_many_seconds_counts_as_one_average_second() {
    // 400 customers make five requests a second each; then seven seconds in one reading.
    let mut tide = tide();
    let mut observe = |at_ms: u64, elapsed_ms: u64| {
        let mut requests_by_age = [0; AGES];
        requests_by_age[1] = 2 * elapsed_ms;
        let elapsed = Duration::from_millis(elapsed_ms);
        let reading = Reading { elapsed, requests_by_age, ..shared(400, 0) };
        let refused = Refused { number: elapsed_ms / 100, ..Refused::default() };
        tide.observe(Time::from_millis(at_ms), &reading, &costs(), refused);
        (tide.forecast.per_s(&tide.tuning), tide.refused_per_s)
    };
    for tick in 1..100 {
        observe(tick * 100, 100);
    }
    let (per_s, refused_per_s) = observe(17_000, 7000);
    assert!((per_s - 2000.0).abs() < 40.0 && (refused_per_s - 10.0).abs() < 0.1, "{per_s}");
}

#[test]
fn the_first_request_of_a_connection_is_no_later_request_without_a_new_one() {
    let mut tide = tide();
    for tick in 1..100 {
        let new = ClassWork { handshakes: 10, in_clear: 40, requests: 50, ..ClassWork::default() };
        let reading = Reading { new, ..shared(400, 0) };
        tide.observe(Time::from_millis(tick * 100), &reading, &costs(), Refused::default());
    }
    assert_eq!(tide.returns.value(), 0.1);
}

#[test]
fn processors_that_others_use_have_no_time_to_spare() {
    let admits_above_the_limit = |idle: f64| {
        let mut tide = tide();
        for tick in 1..50 {
            let half = Usage { used_cpu_s: Some(0.05), idle: Some(idle), ..ONE };
            let reading = on_host(half);
            tide.observe(Time::from_millis(tick * 100), &reading, &costs(), Refused::default());
        }
        tide.take(Time::from_secs(5), Moment::in_flight(0, 5), AVERAGE_S).is_ok()
    };
    assert!(admits_above_the_limit(0.5));
    assert!(!admits_above_the_limit(0.02));
}

#[test]
fn the_trim_rises_three_times_as_fast_as_it_falls() {
    // A second of this use while new sessions wait.
    let trim = |used_cpu_s: f64| {
        let mut tide = tide();
        let used = Usage { used_cpu_s: Some(used_cpu_s), ..ONE };
        let reading = on_host(used);
        for tick in 0..11 {
            let refused = Refused { put_off: tick > 0, ..Refused::default() };
            tide.observe(Time::from_millis(tick * 100), &reading, &costs(), refused);
        }
        tide.share(ResourceName::Host).trim
    };
    let is = |trim: f64, change: f64| (trim - 1.0 - change).abs() < 1e-9;
    assert!(is(trim(0.089), 0.3 * (0.99 - 0.89)), "{}", trim(0.089));
    assert!(is(trim(0.1), -0.1 * (1.0 - 0.99)));
}

#[test]
fn without_readings_nobody_is_admitted_above_the_backlog_limit() {
    let mut tide = after(&shared(0, 0));
    let moment = Moment::in_flight(0, 5);
    assert!(tide.take(Time::from_millis(200), moment, AVERAGE_S).is_ok());
    assert!(tide.take(Time::from_secs(5), moment, AVERAGE_S).is_err());
    assert!(tide.take(Time::from_secs(5), Moment::IDLE, AVERAGE_S).is_ok());
}
