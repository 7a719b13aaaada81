//! The division of a service among gates, message by message.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_control::fleet::{
    Demand, Divider, FleetExperience, INTERVAL, LEASE, LOST_AFTER, Member, Refused, SAFE_AFTER,
    Stale, Table, divide,
};
use tidegate_control::{
    ByResource, ClassWork, Controller, Experience, Outlook, Reading, ResourceName, Settings, Usage,
};

proptest! {
    #[test]
    fn shares_add_up_to_the_whole_and_none_is_below_the_floor(
        whole in 0.01..1.0f64,
        demands in prop::collection::vec((0.0..2.0f64, 0.0..20.0f64), 1..50),
    ) {
        let shares = divide(whole, &demands);
        prop_assert!((shares.iter().sum::<f64>() - whole).abs() < 1e-9);
        let floor = 0.02 * whole / demands.len() as f64;
        prop_assert!(shares.iter().all(|share| *share >= floor * 0.999));
    }

    #[test]
    fn a_new_session_has_the_same_chance_at_each_gate(
        demands in prop::collection::vec((0.0..0.05f64, 0.5..2.0f64), 2..10),
    ) {
        let floor = 0.02 / demands.len() as f64;
        let chances: Vec<_> = divide(1.0, &demands)
            .iter()
            .zip(&demands)
            .map(|(share, (committed, asking))| (share - floor - committed) / asking)
            .collect();
        prop_assert!(chances.iter().all(|chance| (chance - chances[0]).abs() < 1e-9));
    }
}

#[test]
fn a_division_worked_out_by_hand() {
    // 2 % equally; 0.3 and 0.2 for active sessions; of the 0.48 left, two thirds to the first.
    let shares = divide(1.0, &[(0.3, 2.0), (0.2, 1.0)]);
    assert!((shares[0] - (0.01 + 0.3 + 0.32)).abs() < 1e-12, "{shares:?}");
    assert!((shares[1] - (0.01 + 0.2 + 0.16)).abs() < 1e-12, "{shares:?}");
}

const START: Duration = Duration::from_secs(100);

fn at(ms: u64) -> Duration {
    START + Duration::from_millis(ms)
}

fn outlook(committed: f64) -> Outlook {
    Outlook { committed, ..Outlook::default() }
}

/// Two gates and a divider that has the whole to divide; the time is [`at`] 2000.
fn fleet() -> (Member, Member, Divider) {
    let (mut one, mut other) = (Member::new("a".to_owned(), 1), Member::new("b".to_owned(), 1));
    let mut divider = Divider::new(1, at(0) + LEASE, at(0));
    for ms in (0..=2000).step_by(INTERVAL.as_millis() as usize) {
        divider.renew(at(ms) + LEASE);
        exchange(&mut divider, &mut [&mut one, &mut other], ms);
    }
    (one, other, divider)
}

fn exchange(divider: &mut Divider, members: &mut [&mut Member], ms: u64) {
    for member in members.iter_mut() {
        divider.report(at(ms), &member.demand(at(ms), &outlook(0.3))).unwrap();
    }
    let table = divider.table(at(ms)).unwrap();
    members.iter_mut().for_each(|member| member.take(&table).unwrap());
}

fn share(member: &mut Member, ms: u64) -> f64 {
    let reading = Reading { elapsed: Duration::from_millis(100), ..Reading::default() };
    member.part(at(ms), &reading, &outlook(0.3)).share
}

#[test]
fn a_gate_that_is_cut_off_has_fallen_before_its_share_is_given_away() {
    let (mut one, mut other, mut divider) = fleet();
    assert!((share(&mut one, 2000) - 0.5).abs() < 1e-9);
    for ms in (2050..4000).step_by(50) {
        divider.renew(at(ms) + LEASE);
        exchange(&mut divider, &mut [&mut one], ms);
        let sum = share(&mut one, ms) + share(&mut other, ms);
        assert!(sum <= 1.05 + 1e-9, "{ms}: {sum}");
    }
    assert!((share(&mut one, 4000) - 1.0).abs() < 1e-9);
    assert!((share(&mut other, 4000) - 0.05).abs() < 1e-9);
    assert!(SAFE_AFTER < LOST_AFTER);
}

/// The share of a gate that has been cut off for 3 s, while so much of the service was in use and
/// its own requests took `own` of it.
fn share_of_one_cut_off(in_use: f64, own: f64) -> f64 {
    let (mut one, _, _) = fleet();
    // A thousandth of the service each.
    let outlook = Outlook { request: 0.001, ..outlook(0.3) };
    let usage = Usage { capacity_cpus: 1.0, used_cpu_s: Some(in_use * 0.1), idle: None };
    let reading = Reading {
        elapsed: Duration::from_millis(100),
        usage: ByResource::default().with(ResourceName::Upstream, usage),
        upstream_responses: (own * 100.0) as u64,
        ..Reading::default()
    };
    let shares = (2000..5000).step_by(100).map(|ms| one.part(at(ms), &reading, &outlook).share);
    shares.last().unwrap()
}

#[test]
fn a_gate_that_is_cut_off_keeps_what_its_sessions_use_of_a_service_that_nobody_fills() {
    let unused = share_of_one_cut_off(0.8, 0.4);
    assert!((0.4..0.5).contains(&unused), "{unused}");
    assert!(share_of_one_cut_off(0.95, 0.4) <= 0.05 + 1e-9, "others fill it");
    let overdrawn = share_of_one_cut_off(0.8, 0.9);
    assert!((0.5..0.6).contains(&overdrawn), "it had a half: {overdrawn}");
}

#[test]
fn a_divider_whose_lease_is_over_makes_no_table() {
    let (_, _, mut divider) = fleet();
    assert!(divider.table(at(2000) + LEASE).is_none());
}

#[test]
fn a_divider_that_begins_gives_no_more_than_the_gates_it_hears_have() {
    let (mut one, _, _) = fleet();
    let mut next = Divider::new(2, at(2100) + LEASE, at(2100));
    next.report(at(2150), &one.demand(at(2150), &outlook(0.3))).unwrap();
    let table = next.table(at(2150)).unwrap();
    assert!((table.shares[0].share - 0.5).abs() < 1e-9, "{table:?}");
    one.take(&table).unwrap();
}

#[test]
fn what_is_old_or_cannot_be_true_is_refused_and_changes_nothing() {
    let (mut one, _, mut divider) = fleet();
    let before = share(&mut one, 2010);
    let table = divider.table(at(2010)).unwrap();
    let forged = [
        Table { sequence: 1, ..table.clone() },
        Table { epoch: 0, sequence: 999, ..table.clone() },
        Table { requests_per_s: f64::NAN, ..table.clone() },
        Table { gates: 0, ..table.clone() },
        Table { shares: [&table.shares[..], &table.shares[..]].concat(), ..table.clone() },
        Table { shares: table.shares[1..].to_vec(), ..table.clone() },
    ];
    for forged in forged {
        assert!(one.take(&forged).is_err(), "{forged:?}");
        assert_eq!(share(&mut one, 2010), before);
    }
    let elsewhere = Table { shares: table.shares[1..].to_vec(), ..table.clone() };
    assert_eq!(one.take(&elsewhere), Err(Stale::NotListed));
    one.take(&table).unwrap();

    let demand = one.demand(at(2020), &outlook(0.3));
    divider.report(at(2020), &demand).unwrap();
    assert_eq!(divider.report(at(2020), &demand), Err(Refused::Old));
    for wrong in [f64::NAN, -1.0, f64::INFINITY] {
        let next = Demand { sequence: 99, committed: wrong, ..demand.clone() };
        assert!(matches!(divider.report(at(2020), &next), Err(Refused::Malformed(_))));
    }
    let nameless = Demand { gate: String::new(), ..demand };
    assert!(divider.report(at(2020), &nameless).is_err());
}

#[test]
fn a_gate_that_starts_has_no_part_before_its_first_table_or_until_none_comes() {
    let (mut one, _, mut divider) = fleet();
    let mut new = Member::new("new".to_owned(), 1);
    assert!(share(&mut new, 2000) < 1e-5);
    exchange(&mut divider, &mut [&mut one, &mut new], 2050);
    assert!(share(&mut new, 2060) > 0.1, "the first table");
    let mut alone = Member::new("alone".to_owned(), 1);
    assert!(share(&mut alone, 2000) < 1e-5 && share(&mut alone, 3100) < 1e-5);
    assert!((share(&mut alone, 3250) - 0.01).abs() < 1e-9, "a tenth of a tenth");
    let mut restarted = Member::new("restarted".to_owned(), 2);
    restarted.goes_on(0.3);
    assert!((share(&mut restarted, 2000) - 0.3).abs() < 1e-9, "that of the gate before");
}

/// A controller that has seen requests which cost the service so much, in CPU seconds.
fn experienced(request_cpu_s: f64) -> Controller {
    let mut controller = Controller::new(Settings::default());
    let used = |used_s| Usage { capacity_cpus: 4.0, used_cpu_s: Some(used_s), idle: None };
    for tick in 1..100 {
        let reading = Reading {
            elapsed: Duration::from_millis(100),
            usage: ByResource::default()
                .with(ResourceName::Gate, used(0.01))
                .with(ResourceName::Upstream, used(100.0 * request_cpu_s)),
            new: ClassWork { requests: 100, ..ClassWork::default() },
            upstream_responses: 100,
            ..Reading::default()
        };
        controller.observe(Duration::from_millis(100 * tick), &reading);
    }
    controller
}

fn request_cpu_s(controller: &Controller) -> f64 {
    controller.status(Duration::ZERO).costs.upstream_request_cpu_s
}

#[test]
fn a_gate_that_starts_knows_what_the_others_have_learned_before_its_first_share() {
    let (mut one, _, mut divider) = fleet();
    let mut told = None;
    for ms in (2000..4400).step_by(200) {
        divider.renew(at(ms) + LEASE);
        exchange(&mut divider, &mut [&mut one], ms);
        divider.learn("a", &experienced(0.003).experience()).unwrap();
        told = divider.experience(at(ms)).or(told);
    }
    assert!(told.is_some_and(|told| one.learns(&told).is_ok()));
    let known = request_cpu_s(&experienced(0.003));
    assert!((known / 0.003 - 1.0).abs() < 0.02);
    let (mut new, mut stranger) =
        (Member::new("new".to_owned(), 1), Controller::new(Settings::default()));
    assert!(divider.experience(at(4400)).is_none(), "it is not due");
    exchange(&mut divider, &mut [&mut new], 4400);
    let told = divider.experience(at(4400)).expect("a gate has started");
    stranger.learn_from(new.learns(&told).unwrap());
    assert!((request_cpu_s(&stranger) / known - 1.0).abs() < 0.01);
    assert!(stranger.experience().is_empty(), "it has measured nothing itself");
}

#[test]
fn what_nobody_can_have_learned_is_refused_and_changes_nothing() {
    let (one, _, mut divider) = fleet();
    let text =
        |value: &str| format!(r#"{{"upstream_request_cpu_s":{{"value":{value},"weight":9}}}}"#);
    for wrong in ["-1", "1e300"] {
        let experience: Experience = serde_json::from_str(&text(wrong)).unwrap();
        assert!(divider.learn("a", &experience).is_err());
        assert!(one.learns(&FleetExperience { epoch: 9, experience }).is_err());
    }
    assert!(divider.experience(at(2100)).is_none());
    let experience: Experience = serde_json::from_str(&text("1")).unwrap();
    let told = |epoch| FleetExperience { epoch, experience: experience.clone() };
    assert_eq!(one.learns(&told(0)), Err(Stale::Old));
    assert!(one.learns(&told(1)).is_ok());
    // Of a gate that has not reported.
    divider.learn("nobody", &experience).unwrap();
    assert!(divider.experience(at(2100)).is_none());
}

#[test]
fn messages_read_back_as_they_were() {
    let (mut one, _, mut divider) = fleet();
    let demand = one.demand(at(2010), &outlook(0.3));
    let text = serde_json::to_string(&demand).unwrap();
    assert_eq!(serde_json::from_str::<Demand>(&text).unwrap(), demand);
    let table = divider.table(at(2010)).unwrap();
    let text = serde_json::to_string(&table).unwrap();
    assert_eq!(serde_json::from_str::<Table>(&text).unwrap(), table);
}
