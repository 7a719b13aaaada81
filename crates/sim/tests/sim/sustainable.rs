//! What the controller says that the service carries, beside what the simulated service does.

use std::time::Duration;

use tidegate_control::{Controller, PolicyKind, Range, Settings, Sustainable};
use tidegate_sim::{Scenario, run};

/// What is said after 160 s at so many times the capacity, and the capacity itself.
fn said(name: &str, load: f64) -> (Sustainable, f64) {
    let scenario = Scenario { duration_s: 160.0, ..Scenario::named(name).expect("it ships") };
    let settings = Settings { policy: PolicyKind::Tide, ..Settings::default() };
    let mut controller = Controller::new(settings);
    run(&scenario, load, 1, &mut controller);
    let status = controller.status(Duration::from_secs(160));
    (status.sustainable, scenario.capacity_per_s())
}

fn per_s(said: &Sustainable) -> Range {
    said.sessions_per_s.unwrap_or_else(|| panic!("{}", said.text))
}

#[test]
fn a_tenth_of_the_capacity_in_use_tells_the_whole_and_so_does_an_overload() {
    let seen = [
        "demo",
        "heavy-first",
        "heavy-later",
        "two-cores",
        "own-hosts",
        "gate-bound",
        "two-classes",
        "heavy-tail",
        "daily-wave",
    ];
    for name in seen {
        for load in [0.1, 0.6, 2.0] {
            let (known, capacity) = said(name, load);
            let Range { value, low, high } = per_s(&known);
            let high = high.expect("the processors of the upstream are in view");
            assert!((value / capacity - 1.0).abs() < 0.05, "{name} at {load}: {known:?}");
            // The plan is for a little less than all of the processor.
            let around = low * 0.97..high * 1.03;
            assert!(around.contains(&capacity), "{name} at {load}: {capacity} and {known:?}");
            assert!(high - low < 0.3 * capacity, "{name} at {load}: {known:?}");
        }
    }
}

#[test]
fn sessions_much_longer_than_the_measurement_widen_the_range() {
    let (known, capacity) = said("long-sessions", 0.6);
    let Range { low, high, .. } = per_s(&known);
    assert!((low..high.unwrap()).contains(&capacity), "{capacity} and {known:?}");
    assert!(high.unwrap() - low > 0.1 * capacity);
}

#[test]
fn a_service_out_of_view_is_promised_what_it_carried_until_it_refuses() {
    let (known, capacity) = said("unseen-slow", 0.6);
    let Range { low, high, .. } = per_s(&known);
    assert!(high.is_none() && (0.5..0.65).contains(&(low / capacity)), "{known:?}");
    let (known, capacity) = said("unseen-slow", 2.0);
    let Range { value, high, .. } = per_s(&known);
    assert!(high.is_some() && (value / capacity - 1.0).abs() < 0.1, "{known:?}");
}
