//! What holds whatever happens, for every policy.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_control::{
    ByResource, ClassWork, Controller, Decision, EacProfile, Entry, FullHandshake, KindWork,
    Moment, Part, PolicyKind, Priority, Reading, ResourceName, RouteWork, Settings, Status, Usage,
};

/// Numbers that a reading should not hold, among some that it may.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => 0.0..2.0f64,
        1 => prop::num::f64::ANY,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -1.0, 0.0, f64::MAX, 1e-300]),
    ]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..500u64, 1 => prop::sample::select(vec![0, u64::MAX])]
}

fn gauge() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..500u32, 1 => prop::sample::select(vec![0, u32::MAX])]
}

fn time() -> impl Strategy<Value = Duration> {
    prop_oneof![
        8 => (0..2_000u64).prop_map(Duration::from_millis),
        1 => Just(Duration::ZERO),
        1 => Just(Duration::MAX),
    ]
}

fn usage() -> impl Strategy<Value = Usage> {
    (number(), prop::option::of(number()), prop::option::of(number()))
        .prop_map(|(capacity_cpus, used_cpu_s, idle)| Usage { capacity_cpus, used_cpu_s, idle })
}

fn class() -> impl Strategy<Value = ClassWork> {
    (count(), (count(), count()), number(), count(), number()).prop_map(
        |(connections, (handshakes, in_clear), handshake_cpu_s, requests, request_cpu_s)| {
            ClassWork {
                connections,
                handshakes,
                in_clear,
                handshake_cpu_s,
                requests,
                request_cpu_s,
            }
        },
    )
}

fn kind() -> impl Strategy<Value = FullHandshake> {
    prop::sample::select(FullHandshake::all().collect::<Vec<_>>())
}

fn kind_work() -> impl Strategy<Value = KindWork> {
    (kind(), count(), number()).prop_map(|(kind, handshakes, cpu_s)| KindWork {
        kind,
        handshakes,
        cpu_s,
    })
}

fn route_work() -> impl Strategy<Value = RouteWork> {
    (count(), count(), count()).prop_map(|(requests, refused, responses)| RouteWork {
        requests,
        refused,
        responses,
    })
}

fn priorities() -> impl Strategy<Value = Vec<Priority>> {
    let one = prop::sample::select(vec![Priority::Low, Priority::Normal, Priority::High]);
    prop::collection::vec(one, 0..4)
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        1 => prop::sample::select(vec![Entry::Average, Entry::Clear]),
        2 => kind().prop_map(Entry::Full),
    ]
}

prop_compose! {
    fn reading()(
        elapsed in time(),
        gate in usage(),
        (upstream, routed) in (prop::option::of(usage()), prop::option::of(usage())),
        shared in prop::option::of(usage()),
        (new, returning) in (class(), class()),
        (in_flight_handshakes, in_flight_requests, held) in (gauge(), gauge(), gauge()),
        (in_flight_handshake_cpu_s, kinds) in
            (prop::option::of(number()), prop::collection::vec(kind_work(), 0..4)),
        (sessions_active, sessions_started) in (gauge(), count()),
        (thinking, requests_by_age) in (prop::array::uniform11(count()), prop::array::uniform11(count())),
        (static_requests, upstream_responses, routes) in
            (count(), count(), prop::collection::vec(route_work(), 0..4)),
        (upstream_time_s, upstream_time_ln) in (number(), number()),
        (upstream_given_up, given_up_time_ln) in (count(), number()),
    ) -> Reading {
        let usage = ByResource::default()
            .with(ResourceName::Gate, gate)
            .with(ResourceName::Upstream, upstream)
            .with(ResourceName::Routed, routed)
            .with(ResourceName::Host, shared);
        Reading {
            elapsed, usage, new, returning, kinds, in_flight_handshakes, in_flight_handshake_cpu_s,
            in_flight_requests, held, sessions_active, thinking, requests_by_age, sessions_started,
            static_requests, upstream_responses, upstream_time_s, upstream_time_ln, upstream_given_up,
            given_up_time_ln, routes,
            part: Part::WHOLE,
        }
    }
}

fn policy() -> impl Strategy<Value = PolicyKind> {
    prop_oneof![
        1 => Just(PolicyKind::Off),
        1 => number().prop_map(|per_second| PolicyKind::Static { per_second }),
        1 => time().prop_map(|interval| PolicyKind::Eac { interval, profile: None }),
        1 => (time(), number(), number()).prop_map(|(interval, new_cpu_s, returning_cpu_s)| {
            let profile = Some(EacProfile { new_cpu_s, returning_cpu_s });
            PolicyKind::Eac { interval, profile }
        }),
        3 => Just(PolicyKind::Tide),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Pass(Duration),
    Offer(u8, Moment),
    Decide(Moment),
    Return,
    Observe(Box<Reading>),
}

fn moment() -> impl Strategy<Value = Moment> {
    let handshakes = (gauge(), prop::option::of(time()));
    (handshakes, gauge(), time(), entry()).prop_map(
        |((handshakes, handshake_cpu), requests, allowed_backlog, entry)| Moment {
            handshakes,
            handshake_cpu,
            requests,
            allowed_backlog,
            entry,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => time().prop_map(Step::Pass),
        1 => (any::<u8>(), moment()).prop_map(|(times, moment)| Step::Offer(times, moment)),
        1 => moment().prop_map(Step::Decide),
        1 => Just(Step::Return),
        2 => reading().prop_map(|reading| Step::Observe(Box::new(reading))),
    ]
}

fn check(status: &Status) {
    assert_eq!(status.offered, status.admitted + status.not_now);
    assert!(!status.why.is_empty() && !status.why.contains("NaN"), "{}", status.why);
    assert!(status.limit_per_s.is_none_or(|limit| limit.is_finite() && limit >= 0.0));
    let costs = &status.costs;
    for cost in [costs.new.connection_cpu_s, costs.returning.connection_cpu_s, costs.session_cpu_s]
    {
        assert!(cost.is_finite() && cost > 0.0, "{costs:?}");
    }
}

proptest! {
    #[test]
    fn no_reading_breaks_the_count_the_budget_or_the_costs(
        policy in policy(),
        priorities in priorities(),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut controller = Controller::new(Settings { policy, ..Settings::default() });
        controller.set_routes(&priorities);
        let mut now = Duration::ZERO;
        for step in steps {
            match step {
                Step::Pass(time) => now = now.saturating_add(time),
                Step::Decide(moment) => {
                    let _ = controller.decide(now, moment);
                }
                Step::Return => controller.returning(now),
                Step::Observe(reading) => controller.observe(now, &reading),
                Step::Offer(times, moment) => {
                    // One decision brings a policy up to date.
                    let _ = controller.decide(now, moment);
                    let before = controller.status(now);
                    let admitted = (0..times).filter(|_| {
                        controller.offered();
                        controller.decide(now, moment).is_admit()
                    });
                    let admitted = admitted.count() as u64;
                    let average = moment.entry == Entry::Average;
                    prop_assert!(!average || before.budget.is_none_or(|budget| admitted <= budget));
                }
            }
            check(&controller.status(now));
            for pass in controller.passage().iter().flat_map(|it| [it.low, it.normal]) {
                prop_assert!((0.0..=1.0).contains(&pass.share), "{pass:?}");
                prop_assert!(pass.in_flight_max >= 0.0, "{pass:?}");
            }
        }
    }

    #[test]
    fn a_rate_is_never_exceeded(
        per_second in 0.0..1000.0f64,
        asks in prop::collection::vec(0..20_000u64, 1..400),
    ) {
        let policy = PolicyKind::Static { per_second };
        let mut controller = Controller::new(Settings { policy, ..Settings::default() });
        let (mut at_us, mut admitted) = (0, 0.0);
        for ask in asks {
            at_us += ask;
            if controller.decide(Duration::from_micros(at_us), Moment::IDLE).is_admit() {
                admitted += 1.0;
            }
        }
        let burst = (per_second * 0.05).max(1.0);
        prop_assert!(admitted <= per_second * at_us as f64 * 1e-6 + burst + 1e-6);
    }

    #[test]
    fn a_retry_after_the_hint_is_admitted(per_second in 0.1..1000.0f64) {
        let policy = PolicyKind::Static { per_second };
        let mut controller = Controller::new(Settings { policy, ..Settings::default() });
        while controller.decide(Duration::ZERO, Moment::IDLE).is_admit() {}
        let Decision::NotNow { retry_after } = controller.decide(Duration::ZERO, Moment::IDLE) else {
            return Err(TestCaseError::fail("the budget was empty"));
        };
        // A nanosecond for the rounding of the hint.
        let then = retry_after + Duration::from_nanos(1);
        prop_assert!(controller.decide(then, Moment::IDLE).is_admit());
    }
}

#[test]
fn a_controller_may_be_shared_by_threads() {
    fn is_send<T: Send>() {}
    is_send::<Controller>();
}
