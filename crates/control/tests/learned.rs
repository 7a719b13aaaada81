//! A controller that takes the place of another.

use std::time::Duration;
use tidegate_control::{
    ByResource, ClassWork, Controller, Entry, FullHandshake, KindWork, Learned, PolicyKind,
    Reading, ResourceName, Settings, Usage,
};

fn settings() -> Settings {
    Settings { policy: PolicyKind::Tide, ..Settings::default() }
}

/// A busy tick whose work costs other than what is assumed at the start.
fn reading() -> Reading {
    let used = |cpu_s| Usage { capacity_cpus: 2.0, used_cpu_s: Some(cpu_s), idle: None };
    let class = |connections, handshake_cpu_s| ClassWork {
        connections,
        handshakes: connections,
        handshake_cpu_s,
        requests: 5 * connections,
        request_cpu_s: 1e-3,
        ..ClassWork::default()
    };
    Reading {
        elapsed: Duration::from_millis(100),
        usage: ByResource::default()
            .with(ResourceName::Gate, used(0.02))
            .with(ResourceName::Upstream, used(0.15)),
        new: class(10, 0.004),
        returning: class(20, 0.002),
        kinds: [KindWork { kind: FullHandshake::RSA_2048, handshakes: 10, cpu_s: 0.012 }]
            .into_iter()
            .collect(),
        upstream_responses: 150,
        upstream_time_s: 3.0,
        upstream_time_ln: 150.0 * 16.0,
        sessions_started: 10,
        sessions_active: 40,
        thinking: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        ..Reading::default()
    }
}

fn experienced() -> Controller {
    let mut controller = Controller::new(settings());
    for tick in 1..300 {
        controller.observe(Duration::from_millis(100 * tick), &reading());
    }
    controller
}

#[test]
fn what_was_learned_goes_on_in_another_controller() {
    let before = experienced();
    let text = serde_json::to_string(&before.learned()).unwrap();
    let mut after = Controller::new(settings());
    let kind = Entry::Full(FullHandshake::RSA_2048);
    assert_ne!(after.price(kind), before.price(kind));
    assert!(after.adopt(serde_json::from_str(&text).unwrap()));
    let (old, new) = (before.status(Duration::from_secs(30)), after.status(Duration::ZERO));
    assert_eq!((old.costs, old.kinds), (new.costs, new.kinds));
    assert_eq!(after.price(kind), before.price(kind));
    assert_eq!((new.offered, new.admitted), (0, 0), "counts are not learned");
    // The first tick plans with what both know.
    let mut before = before;
    before.observe(Duration::from_secs(30), &reading());
    after.observe(Duration::from_millis(100), &reading());
    let limit = |it: &Controller, at| it.status(at).limit_per_s.unwrap();
    let old = limit(&before, Duration::from_secs(30));
    let new = limit(&after, Duration::from_millis(100));
    assert!((new / old - 1.0).abs() < 0.05, "{new} is not about {old}");
}

#[test]
fn what_a_version_with_other_kinds_of_handshakes_learned_is_left() {
    let mut value = serde_json::to_value(experienced().learned()).unwrap();
    value["model"]["prices"]["learned"].as_array_mut().unwrap().pop();
    let learned: Learned = serde_json::from_value(value).unwrap();
    let mut controller = Controller::new(settings());
    let fresh = controller.status(Duration::ZERO);
    assert!(!controller.adopt(learned));
    assert_eq!(controller.status(Duration::ZERO), fresh);
}
