//! The controller's goals, on the production arithmetic in virtual time.
//!
//! Ranges leave room for chance: sessions are heavy-tailed, and ten seconds
//! hold some two thousand of them. `examples/simulate.rs` prints the figures.

use tidegate_control::PolicyKind;
use tidegate_control::sim::{Outcome, Scenario, run};

/// A run at a multiple of the capacity, watched when it has settled.
fn at(scenario: &Scenario, multiple: f64) -> Outcome {
    let mut scenario = scenario.clone().at(multiple);
    scenario.duration_s = 30.0;
    run(&scenario, 8.0)
}

/// Requests answered per second, as a share of the capacity: what goodput is,
/// with less noise, where no admitted session is lost.
fn carried(scenario: &Scenario, outcome: &Outcome) -> f64 {
    let answered = outcome.responses_s.len() as f64 / outcome.seconds;
    answered / scenario.customers.requests / scenario.capacity_per_s()
}

fn tide(name: &str) -> Scenario {
    Scenario::named(name, PolicyKind::Tide).expect("it is in the catalogue")
}

#[test]
fn tide_holds_the_demo_at_its_peak() {
    let scenario = tide("demo");
    let half = at(&scenario, 0.5);
    assert_eq!((half.refused, half.abandoned), (0, 0));
    for multiple in [2.0, 4.0, 10.0] {
        let outcome = at(&scenario, multiple);
        let ratio = outcome.response_ms(0.95) / half.response_ms(0.95);
        let carried = carried(&scenario, &outcome);
        assert!(carried > 0.93, "{multiple}x: carried {carried}");
        assert!(outcome.completed_ratio() >= 0.98, "{multiple}x: {}", outcome.completed_ratio());
        assert!(ratio < 4.0, "{multiple}x: p95 {ratio} times that at 0.5x");
    }
}

#[test]
fn tide_stands_every_other_workload_at_four_times_its_capacity() {
    for name in Scenario::NAMES {
        // Real life takes minutes to fill; it has a test of its own.
        if name.starts_with("real-life") {
            continue;
        }
        let scenario = tide(name);
        let outcome = at(&scenario, 4.0);
        let carried = carried(&scenario, &outcome);
        assert!(carried > 0.86, "{name}: carried {carried}");
        assert!(outcome.completed_ratio() >= 0.98, "{name}: {}", outcome.completed_ratio());
        let patience_ms = scenario.customers.patience_s * 1e3;
        assert!(outcome.response_ms(0.99) < patience_ms / 2.0, "{name}: a standing queue");
    }
}

#[test]
fn tide_refuses_nobody_at_half_the_capacity() {
    for name in Scenario::NAMES {
        let outcome = at(&tide(name), 0.5);
        assert!(outcome.refused_ratio() < 0.002, "{name}: {}", outcome.refused_ratio());
        assert_eq!(outcome.abandoned, 0, "{name}");
    }
}

#[test]
fn without_admission_control_an_overloaded_server_collapses() {
    let scenario = Scenario::named("even-sessions", PolicyKind::Off).unwrap();
    let (two, four) = (at(&scenario, 2.0), at(&scenario, 4.0));
    let capacity = scenario.capacity_per_s();
    assert!(two.goodput() < 0.5 * capacity, "2x: {}", two.goodput() / capacity);
    assert!(four.goodput() < 0.2 * capacity, "4x: {}", four.goodput() / capacity);
    let share =
        four.full_handshakes as f64 / (four.full_handshakes + four.resumed_handshakes) as f64;
    assert!(share > 0.6, "full handshakes: {share}");
}

#[test]
fn the_rule_of_2007_forgets_the_backlog() {
    let policy = PolicyKind::Eac { interval: PolicyKind::EAC_INTERVAL };
    let scenario = Scenario::named("even-sessions", policy).unwrap();
    let outcome = at(&scenario, 4.0);
    assert!(outcome.completed_ratio() < 0.9, "{}", outcome.completed_ratio());
    let tide = at(&tide("even-sessions"), 4.0);
    assert!(outcome.response_ms(0.95) > 5.0 * tide.response_ms(0.95));
}

#[test]
fn a_step_to_ten_times_from_idle_settles_within_two_seconds() {
    for (name, settled_s) in
        [("demo", 2.0), ("two-cores", 2.0), ("own-hosts", 2.0), ("unseen", 2.5)]
    {
        let mut scenario = tide(name);
        let capacity = scenario.capacity_per_s();
        scenario.arrivals = vec![(0.5, 10.0 * capacity), (6.0, 0.5 * capacity)];
        scenario.duration_s = 9.0;
        let outcome = run(&scenario, 0.0);
        assert_eq!(outcome.abandoned, 0, "{name}: lost on the way");
        let between = |from: f64, to: f64| {
            outcome.course.iter().filter(move |tenth| tenth.at_s > from && tenth.at_s <= to)
        };
        let answered: u64 = between(0.5 + settled_s, 6.0).map(|tenth| tenth.responses).sum();
        let rate = answered as f64 / (5.5 - settled_s) / scenario.customers.requests;
        assert!(rate > 0.85 * capacity, "{name}: settled at {}", rate / capacity);
        let time_s: f64 = between(0.5 + settled_s, 6.0).map(|tenth| tenth.response_time_s).sum();
        assert!(time_s / (answered as f64) < 0.030, "{name}: a standing queue");
        let refused: u64 = between(7.0, 9.0).map(|tenth| tenth.refused).sum();
        // Those who came with it are still inside.
        let offered = 2.0 * 0.5 * capacity;
        assert!(refused as f64 <= 0.02 * offered, "{name}: {refused} a second after the crowd");
    }
}

#[test]
fn half_of_the_processor_gone_costs_nobody_inside_whether_seen_or_not() {
    for seen in [true, false] {
        let mut scenario = tide("demo").at(4.0);
        scenario.machines.changes = vec![(10.0, 0.5), (18.0, 1.0)];
        scenario.machines.changes_visible = seen;
        scenario.duration_s = 24.0;
        let outcome = run(&scenario, 0.0);
        assert!(outcome.completed_ratio() > 0.98, "seen {seen}: {}", outcome.completed_ratio());
        let capacity = scenario.capacity_per_s();
        let answered = |from: f64, to: f64| {
            let course =
                outcome.course.iter().filter(|tenth| tenth.at_s > from && tenth.at_s <= to);
            course.map(|tenth| tenth.responses).sum::<u64>() as f64 / (to - from) / 12.0 / capacity
        };
        assert!(answered(14.0, 18.0) > 0.42, "seen {seen}: {}", answered(14.0, 18.0));
        assert!(answered(20.5, 24.0) > 0.85, "seen {seen}: {}", answered(20.5, 24.0));
    }
}

#[test]
fn at_the_pace_of_real_life_the_house_fills_without_overshoot() {
    for name in ["real-life", "real-life-browsers"] {
        let mut scenario = tide(name);
        let capacity = scenario.capacity_per_s();
        scenario.arrivals = vec![(0.0, 0.3 * capacity), (5.0, 4.0 * capacity)];
        scenario.duration_s = 60.0;
        let outcome = run(&scenario, 40.0);
        assert_eq!(outcome.abandoned, 0, "{name}");
        assert!(outcome.response_ms(0.95) < 40.0, "{name}: p95 {}", outcome.response_ms(0.95));
        let spent = outcome.responses_s.len() as f64 / outcome.seconds / 12.0 / capacity;
        assert!(spent > 0.7, "{name}: {spent}");
    }
}

#[test]
fn holding_brings_everybody_in_just_below_capacity() {
    let mut scenario = tide("demo");
    scenario.hold_s = 0.2;
    let outcome = at(&scenario, 0.9);
    assert!(outcome.refused_ratio() < 0.005, "{}", outcome.refused_ratio());
}
