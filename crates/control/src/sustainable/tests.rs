//! What is said of a service whose capacity is known.

use std::time::Duration;

use super::*;

/// A second with so many sessions, each of which takes 10 ms of both processors.
fn second(started: u64, active: u32) -> Reading {
    let used = |used_s: f64| Usage { capacity_cpus: 1.0, used_cpu_s: Some(used_s), idle: None };
    let own = started as f64 * 0.01;
    Reading {
        elapsed: Duration::from_secs(1),
        usage: ByResource::default()
            .with(ResourceName::Gate, used(own / 4.0))
            .with(ResourceName::Upstream, used(own)),
        sessions_started: started,
        sessions_active: active,
        ..Reading::default()
    }
}

fn after(seconds: u64, reading: impl Fn(u64) -> (Reading, u64)) -> Sustainable {
    let mut meter = Meter::new(0.9);
    for at in 0..seconds {
        let (reading, refused) = reading(at);
        meter.observe(&reading, refused);
    }
    meter.sustainable()
}

#[test]
fn the_room_of_the_tightest_resource_is_the_factor() {
    // 20 sessions/s and 60 at once use 0.2 of the upstream: 4.5 times as much fits 0.9.
    let known = after(60, |_| (second(20, 60), 0));
    let range = Range { value: 90.0, low: 90.0, high: Some(90.0) };
    let (per_s, at_once) = (known.sessions_per_s.unwrap(), known.sessions_at_once.unwrap());
    for (got, want) in [(per_s.value, 90.0), (at_once.value, 270.0), (per_s.low, range.low)] {
        assert!((got - want).abs() < 1e-6, "{known:?}");
    }
    assert_eq!(known.limit, Some(ResourceName::Upstream));
    assert_eq!(
        known.text,
        "for the current mix of traffic the service carries 90.0 to 90.0 new sessions/s and 270 to 270 \
         sessions at once; the limit in view is the CPU time of the upstream (20 % in use)"
    );
}

#[test]
fn what_other_processes_use_is_no_room() {
    // Others use half of the processor: (0.9 − 0.5) / 0.2 = twice as much.
    let known = after(60, |_| {
        let mut reading = second(20, 60);
        let upstream = reading.usage.entry(ResourceName::Upstream);
        upstream.idle = Some(0.3);
        (reading, 0)
    });
    assert!((known.sessions_per_s.unwrap().value - 40.0).abs() < 1e-6, "{known:?}");
}

#[test]
fn refusals_cost_nothing_of_what_the_service_carries() {
    // 500 refusals take 8.5 ms of the gate in each second, beside 20 sessions' 50 ms.
    let gate_is_all = |refused: u64| {
        after(60, |_| {
            let mut reading = second(20, 60);
            let used = 0.8 + refused as f64 * REFUSAL_CPU_S;
            reading.usage.entry(ResourceName::Gate).used_cpu_s = Some(used);
            (reading, refused)
        })
        .sessions_per_s
        .unwrap()
        .value
    };
    assert!((gate_is_all(0) - gate_is_all(500)).abs() < 1e-6);
}

#[test]
fn the_range_covers_a_crowd_that_still_grows() {
    // Sessions of a minute, of which the first 60 s see only the beginning.
    let known = after(100, |at| (second(20, 20 * at.min(60) as u32), 0));
    let range = known.sessions_per_s.unwrap();
    // Started 20 in each second, ended none for the first 60 of 100.
    assert!(range.low < 45.0 && range.high.unwrap() >= 90.0, "{range:?}");
}

#[test]
fn the_more_it_varies_the_wider_is_the_range() {
    let width = |swing: u64| {
        let known = after(200, |at| {
            let mut reading = second(20, 60);
            let more = if at % 20 < 10 { 1.0 + swing as f64 * 0.1 } else { 1.0 };
            let upstream = reading.usage.entry(ResourceName::Upstream);
            upstream.used_cpu_s = upstream.used_cpu_s.map(|used| used * more);
            (reading, 0)
        });
        let range = known.sessions_per_s.unwrap();
        range.high.unwrap() - range.low
    };
    assert!(width(0) < 1e-6 && width(2) < width(6), "{} {}", width(2), width(6));
}

#[test]
fn an_upstream_that_is_not_in_view_is_known_to_carry_what_it_carries() {
    let elsewhere = |refused: u64| {
        after(60, |_| {
            let mut reading = second(20, 60);
            reading.usage.set(ResourceName::Upstream, None);
            (reading, refused)
        })
    };
    let carried = elsewhere(0);
    assert_eq!(carried.sessions_per_s.unwrap().high, None);
    assert!(carried.text.contains("at least 20.0 new sessions/s and at least 60.0 sessions"));
    // Sessions that are refused while the gate has room: the upstream is the limit.
    let refusing = elsewhere(5);
    assert_eq!(refusing.sessions_per_s.unwrap().high, Some(20.0));
    assert!(refusing.text.ends_with("the response time of the upstream"), "{}", refusing.text);
}

#[test]
fn what_is_missing_for_an_estimate_is_told() {
    let missing = |known: Sustainable| {
        assert_eq!((known.sessions_per_s, known.limit), (None, None));
        known.text
    };
    assert!(missing(after(39, |_| (second(20, 60), 0))).ends_with("it takes 40 s of measurement"));
    assert!(missing(after(60, |at| (second(u64::from(at < 5), 1), 0))).contains("5 sessions"));
    assert!(missing(after(60, |_| (second(1, 3), 0))).contains("only 1.0 % of the upstream's"));
    assert!(missing(after(0, |_| (second(1, 3), 0))).contains("not known yet"));
}

#[test]
fn no_reading_makes_a_figure_that_is_none() {
    for value in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
        let known = after(60, |_| {
            let usage = Usage { capacity_cpus: value, used_cpu_s: Some(value), idle: Some(value) };
            let reading = Reading {
                usage: ByResource::default()
                    .with(ResourceName::Gate, usage)
                    .with(ResourceName::Upstream, usage),
                ..second(20, 60)
            };
            (reading, 0)
        });
        for range in [known.sessions_per_s, known.sessions_at_once].into_iter().flatten() {
            let finite = [range.value, range.low, range.high.unwrap_or(0.0)];
            assert!(finite.iter().all(|figure| figure.is_finite()), "{known:?}");
        }
    }
}
