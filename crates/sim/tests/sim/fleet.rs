//! Three gates before one service: what they promise together. Courses are simulated with the
//! production controllers, divider and members.

use tidegate_sim::fleet::{Course, Fleet, Sample, Spread, named, simulate};

fn course(name: &str) -> Course {
    simulate(&named(name).expect("it ships").fleet)
}

#[test]
fn three_gates_admit_what_one_would_wherever_demand_comes() {
    for name in ["moving-2", "moving-4", "moving-10", "unseen"] {
        let fleet = named(name).expect("it ships").fleet;
        let one = simulate(&Fleet { gates: 1, divided: false, ..fleet.clone() });
        let three = simulate(&fleet);
        let ratio = three.admitted_per_s(10.0..60.0) / one.admitted_per_s(10.0..60.0);
        assert!((ratio - 1.0).abs() < 0.03, "{name}: {ratio}");
        let goodput = three.goodput(10.0..60.0);
        assert!(goodput > 0.95, "{name}: {goodput}");
        let misplaced = three.mean(10.0..60.0, |sample| sample.misplaced);
        assert!(misplaced < 0.05, "{name}: {misplaced}");
    }
}

#[test]
fn a_gate_that_dies_gives_its_share_back_within_two_seconds() {
    for name in ["killed", "holder-killed"] {
        let course = course(name);
        let back_s = course.until(20.0, |sample| sample.shares > 0.99).unwrap();
        assert!(back_s <= 2.0, "{name}: {back_s}");
        assert!(course.most(15.0..60.0, |sample| sample.shares) < 1.01, "{name}");
        assert!(course.goodput(20.0..60.0) > 0.95, "{name}");
    }
}

#[test]
fn a_new_gate_has_a_share_within_a_second() {
    let fleet = named("new").expect("it ships").fleet;
    let course = simulate(&fleet);
    let counted_s = course.until(20.0, |sample| sample.cut_off == 0 && sample.share[2] > 0.0);
    assert!(counted_s.unwrap() <= 1.0, "{counted_s:?}");
    let placed_s = course.until(20.0, |sample| sample.misplaced < 0.03).unwrap();
    assert!(placed_s <= 1.0, "{placed_s}");
    assert!(course.most(15.0..60.0, |sample| sample.shares) < 1.05);
}

#[test]
fn the_parts_of_a_fleet_never_have_more_than_the_whole_and_a_tenth() {
    for name in ["apart", "holder-apart", "nats-gone"] {
        for in_view in [true, false] {
            let fleet = named(name).expect("it ships").fleet;
            let one = simulate(&Fleet { gates: 1, divided: false, in_view, ..fleet.clone() });
            let moving = Spread::Moving { every_s: 3.0, crowded: 0.8 };
            for spread in [Spread::Even, moving] {
                let course = simulate(&Fleet { spread, in_view, ..fleet.clone() });
                let most = course.most(5.0..60.0, |sample| sample.shares);
                assert!(most < 1.1, "{name}, in view: {in_view}: {most}");
                let admitted = |course: &Course| course.admitted_per_s(22.0..60.0);
                let ratio = admitted(&course) / admitted(&one);
                assert!(ratio < 1.1, "{name}, in view: {in_view}: {ratio}");
            }
        }
    }
}

#[test]
fn a_gate_beside_a_working_majority_stays_at_its_safe_share() {
    let course = course("apart");
    let most = course.most(22.0..40.0, |sample| sample.share[2]);
    assert!((0.03..0.05).contains(&most), "{most}");
    assert!(course.goodput(22.0..40.0) > 0.95);
}

#[test]
fn without_nats_gates_come_to_use_the_service_and_back_again_they_settle_within_two_seconds() {
    let course = course("nats-gone");
    let fallen = course.most(21.5..22.0, |sample| sample.shares);
    assert!(fallen < 0.12, "{fallen}");
    let in_use = course.mean(24.0..31.0, |sample| sample.in_use);
    assert!(in_use > 0.8, "{in_use}");
    for gate in 0..3 {
        let share = course.mean(40.0..50.0, |sample| sample.share[gate]);
        assert!((0.2..0.4).contains(&share), "{gate}: {share}");
    }
    let settled = |sample: &tidegate_sim::fleet::Sample| {
        sample.cut_off == 0 && sample.shares > 0.99 && sample.misplaced < 0.05
    };
    let settled_s = course.until(50.0, settled).unwrap();
    assert!(settled_s <= 2.0, "{settled_s}");
}

#[test]
fn a_quarter_of_the_messages_may_be_lost() {
    let course = course("loss");
    assert!(course.goodput(10.0..60.0) > 0.95);
    assert!(course.most(5.0..60.0, |sample| sample.shares) < 1.1);
}

/// Of the first two seconds of a fourth gate: its part of all admissions, its share of the service,
/// and what it uses of that.
fn joining(seed: u64, in_view: bool, learns: bool) -> (f64, f64, f64) {
    let fleet = named("joining").expect("it ships").fleet;
    // So many sessions that chance is below a hundredth.
    let course =
        simulate(&Fleet { cpus: 160.0, seconds: 23.0, seed, in_view, learns, ..fleet.clone() });
    let mean = |of: &dyn Fn(&Sample) -> f64| course.mean(20.0..22.0, of);
    let admitted = mean(&|it| it.admitted_by[3] as f64) / mean(&|it| it.admitted as f64);
    let used = mean(&|it| it.answered_by[3] as f64) * 10.0 / course.peak_per_s;
    let share = mean(&|it| it.share[3]);
    (admitted, share, used / share)
}

#[test]
fn a_gate_that_joins_admits_no_more_than_its_share_from_its_first_decision() {
    for in_view in [true, false] {
        let all = [1, 2, 3].map(|seed| joining(seed, in_view, true));
        for (admitted, ..) in all {
            assert!(admitted <= 0.25 * 1.03, "in view: {in_view}: {admitted}");
        }
        let used = all.iter().map(|(.., used)| used).sum::<f64>() / 3.0;
        assert!(used <= 1.03, "in view: {in_view}: {used}");
    }
}

#[test]
fn without_what_the_others_have_learned_a_gate_that_joins_would_take_most_of_the_service() {
    let [knows, assumes] = [true, false].map(|learns| joining(2, false, learns).1);
    assert!(assumes > 10.0 * knows, "{assumes} in place of {knows}");
}

#[test]
fn a_fleet_of_hundreds_follows_demand() {
    // The large fleet, a twentieth of it.
    let large = named("internet").expect("it ships").fleet;
    let fleet = Fleet { gates: 50, cpus: 68.0, active: 500_000, seconds: 30.0, ..large };
    let course = simulate(&fleet);
    assert!(course.goodput(10.0..30.0) > 0.95);
    assert!(course.sessions_at_once > 490_000);
}
