//! Runs whose results are known by other means.

use super::*;
use crate::{
    AfterFailure, Arrivals, Attack, AttackKind, Bursts, Change, Customers, Distribution,
    HandshakeMix, Segment, SessionLength, Upstream, policies,
};
use tidegate_control::{Decision, Moment};

fn demo(policy: &str, load: f64, duration_s: f64) -> Outcome {
    let scenario = Scenario { duration_s, watch_from_s: 0.0, ..Scenario::default() };
    let mut policy = policies::named(policy, &scenario).unwrap();
    run(&scenario, load, 1, policy.as_mut())
}

#[test]
fn a_light_load_is_carried_whole_and_every_session_is_accounted_for() {
    let outcome = demo("off", 0.4, 20.0);
    assert_eq!((outcome.refused, outcome.abandoned), (0, 0));
    assert_eq!(outcome.offered, outcome.admitted);
    assert!((outcome.goodput().unwrap() - 1.0).abs() < 0.15, "{:?}", outcome.goodput());
}

#[test]
fn the_cpu_time_of_a_run_is_that_of_its_sessions() {
    let outcome = demo("off", 0.5, 60.0);
    assert!((outcome.cpu_s / 60.0 - 0.5).abs() < 0.03, "{}", outcome.cpu_s / 60.0);
    assert!(outcome.wasted().unwrap() < 0.01, "{:?}", outcome.wasted());
}

#[test]
fn nobody_carries_more_than_the_best_possible() {
    let bursts = Bursts { factor: 5.0, lasts_s: 0.5, share: 0.1 };
    let bursts = Arrivals { bursts: Some(bursts), ..Arrivals::default() };
    let segment = |from_s, level| Segment { from_s, level, to_level: level };
    let crowd = vec![segment(0.0, 0.05), segment(4.0, 1.0), segment(10.0, 0.05)];
    let crowd = Arrivals { segments: crowd, ..Arrivals::default() };
    let mut later = Scenario::default().work;
    later.first_request = later.first_request.with_mean(100e-6);
    later.later_request = later.later_request.with_mean(1e-3);
    for (arrivals, work, load, policy, least) in [
        // 0.95 on average over seeds.
        (bursts.clone(), Scenario::default().work, 0.5, "tide", 0.92),
        (bursts, Scenario::default().work, 0.5, "off", 0.8),
        (crowd, Scenario::default().work, 10.0, "tide", 0.95),
        // Sessions that it loses are long, and it completes short ones instead.
        (Arrivals::default(), later, 10.0, "off", 0.0),
    ] {
        let scenario =
            Scenario { duration_s: 30.0, watch_from_s: 4.0, arrivals, work, ..Scenario::default() };
        let outcome = run(&scenario, load, 1, policies::named(policy, &scenario).unwrap().as_mut());
        let goodput = outcome.goodput().unwrap();
        assert!((least..1.02).contains(&goodput), "{policy} at {load}: {goodput}");
    }
}

#[test]
fn sessions_longer_than_the_run_count_for_what_they_got() {
    // Sessions last 84 s and more, and nobody can complete one in 30.
    let class = |requests, share| Customers {
        requests: SessionLength::power_law(requests, requests),
        share,
        ..Customers::default()
    };
    let scenario = Scenario {
        watch_from_s: 2.0,
        customers: vec![class(2.0, 0.9), class(480.0, 0.1)],
        ..Scenario::default()
    };
    let outcome = run(&scenario, 4.0, 1, policies::named("tide", &scenario).unwrap().as_mut());
    let goodput = outcome.goodput().unwrap();
    assert!((0.9..1.02).contains(&goodput), "{goodput}");
    assert!(outcome.fair_lengths().unwrap() > 0.98, "{:?}", outcome.by_length);
}

#[test]
fn waiting_for_a_thread_is_a_queue_and_an_idle_thread_is_room() {
    // Two threads for two requests a second each; processors have nothing to do.
    let mut scenario = Scenario {
        duration_s: 20.0,
        watch_from_s: 5.0,
        customers: vec![Customers {
            patience: Distribution::constant(5.0),
            ..Customers::default()
        }],
        ..Scenario::default()
    };
    scenario.upstream = Upstream {
        cores: Some(4.0),
        threads: 2,
        visible: true,
        relay_s: None,
        wait: Distribution::exponential(0.01),
        pauses: None,
    };
    let at = |load| run(&scenario, load, 1, policies::named("off", &scenario).unwrap().as_mut());
    let (calm, crowd) = (at(0.5), at(3.0));
    assert!(crowd.standing_ms() > 1000.0, "{}", crowd.standing_ms());
    assert!(calm.standing_ms() < 50.0, "{}", calm.standing_ms());
    let room = |outcome: &Outcome| outcome.course[60..].iter().map(|tenth| tenth.room).sum::<f64>();
    assert!(room(&crowd) < 0.02 * room(&calm), "{} {}", room(&crowd), room(&calm));
}

#[test]
fn added_cores_are_used() {
    let cores = Changed::Cores { resource: Resource::Gate, cores: 2.0, seen: true };
    let mut scenario = Scenario {
        duration_s: 20.0,
        watch_from_s: 10.0,
        changes: vec![Change { at_s: 5.0, what: cores }],
        ..Scenario::default()
    };
    scenario.upstream.threads = 2;
    let outcome = run(&scenario, 4.0, 1, policies::named("tide", &scenario).unwrap().as_mut());
    let goodput = outcome.goodput().unwrap();
    assert!(goodput > 0.95 && outcome.cpu_s > 18.0, "{goodput}, {} s", outcome.cpu_s);
}

#[test]
fn a_wait_given_up_counts_for_as_long_as_it_was() {
    // Nearly every active customer waits for the whole patience of 250 ms, in vain.
    let outcome = demo("off", 10.0, 10.0);
    assert!(outcome.lost().unwrap() > 0.5, "{:?}", outcome.lost());
    assert!((outcome.response_ms(0.95).unwrap() - 250.0).abs() < 1e-6);
    assert!(outcome.waits_s.len() as u64 > outcome.answered);
}

/// One class of customers at a load, under a policy.
fn class(customers: Customers, policy: &str, load: f64, watch_from_s: f64) -> Outcome {
    let scenario = Scenario {
        duration_s: 90.0,
        watch_from_s,
        customers: vec![customers],
        ..Scenario::default()
    };
    run(&scenario, load, 1, policies::named(policy, &scenario).unwrap().as_mut())
}

#[test]
fn the_cpu_time_is_as_worked_out_whatever_the_work_the_tls_and_the_tickets_are() {
    for (tls, tickets) in
        [(None, 0.3), (Some(HandshakeMix::Clear), 1.0), (HandshakeMix::named("rsa-4096"), 0.0)]
    {
        let outcome = class(
            Customers {
                requests: SessionLength::one_and(Distribution::gamma(5.0, 0.5)),
                think: Distribution::lognormal(0.2, 1.5),
                patience: Distribution::uniform(0.5, 0.01),
                tls,
                tickets,
                first_request: Some(Distribution::weibull(200e-6, 2.0)),
                later_request: Some(Distribution::pareto(100e-6, 2.0, 5e-3)),
                ..Customers::default()
            },
            "off",
            0.5,
            10.0,
        );
        assert!((outcome.cpu_s / 80.0 - 0.5).abs() < 0.03, "{tls:?}: {}", outcome.cpu_s / 80.0);
        assert_eq!((outcome.refused, outcome.cut_off), (0, 0));
        let resumes = tls.is_none();
        assert_eq!(outcome.resumed_handshakes > 0, resumes, "{tls:?}");
        assert_eq!(outcome.full_handshakes > 0, tls != Some(HandshakeMix::Clear));
    }
}

#[test]
fn who_brings_no_ticket_may_be_refused_in_the_middle_of_her_visit() {
    let with_tickets = class(Customers::default(), "tide", 4.0, 0.0);
    assert_eq!(with_tickets.cut_off, 0);
    let without = class(Customers { tickets: 0.0, ..Customers::default() }, "tide", 4.0, 0.0);
    assert_eq!(without.resumed_handshakes, 0);
    assert!(without.cut_off > 1000 && without.cut_off <= without.abandoned, "{without:?}");
    // Whoever was let in and cut off is not refused once more, and counts once.
    assert!(without.admitted + without.refused <= without.offered);
    let under_way = without.admitted - without.completed - without.abandoned;
    assert!(under_way < without.admitted / 50, "{under_way} of {}", without.admitted);
    assert!(without.lost().unwrap() >= without.cut_off().unwrap());
    // More connections are let in than sessions.
    assert!(without.full_handshakes > without.admitted);
}

#[test]
fn former_sessions_of_those_without_tickets_are_forgotten_in_the_end() {
    let outcome = class(Customers { tickets: 0.0, ..Customers::default() }, "off", 0.3, 10.0);
    // 62.6 sessions a second, with 11.3 pauses. A seat is taken for as long as a pause, or,
    // where that is longer than 250 ms (0.24 of them), for these and the linger time:
    // 73.1 + 0.24 × 1250 = 372.7 ms. Together 263.7, and a few who are served.
    let inside = outcome.course[100..].iter().map(|tenth| f64::from(tenth.active));
    let mean = inside.clone().sum::<f64>() / inside.count() as f64;
    assert!((mean / 265.0 - 1.0).abs() < 0.05, "{mean}");
}

fn from_toml(more: &str) -> Scenario {
    let text = format!("about = \"x\"\nduration = \"8s\"\nwatch_from = \"0s\"\n{more}");
    Scenario::from_toml(&text, "x").unwrap()
}

#[test]
fn where_nobody_is_held_whoever_may_come_in_does() {
    let scenario = from_toml("[gate]\nhold = \"0s\"");
    let at = |policy, load| {
        let mut policy = policies::named(policy, &scenario).unwrap();
        run(&scenario, load, 1, policy.as_mut())
    };
    assert_eq!(at("off", 0.4).refused, 0);
    let light = at("tide", 0.4);
    assert!(light.refused().unwrap() < 0.05, "{:?}", light.refused());
    let heavy = at("tide", 4.0);
    let goodput = heavy.goodput().unwrap();
    assert!(heavy.refused > heavy.admitted && goodput > 0.5, "{goodput}");
}

#[test]
fn nobody_is_turned_away_whom_the_policy_lets_in_however_busy_the_gate_is() {
    // Turns of the event loop take longer than the hold time of 75 ms.
    let outcome = demo("off", 4.0, 20.0);
    // What is left are customers who gave up before it was their turn.
    let refused = outcome.refused().unwrap();
    assert!(refused < 0.1, "{refused}");
}

#[test]
fn customers_who_leave_the_line_tell_of_a_lasting_overload_too() {
    // Nobody's hold time of 75 ms is ever up: they leave before.
    let scenario = from_toml("customers = [{ patience = \"60ms\" }]");
    let mut policy = policies::named("tide", &scenario).unwrap();
    let outcome = run(&scenario, 3.0, 1, policy.as_mut());
    // Seven in ten if they do not; some are lost until it is noticed.
    let lost = outcome.lost().unwrap();
    assert!(lost < 0.15, "{lost}");
}

#[test]
fn what_nobody_waits_for_does_not_stay_in_flight() {
    // Many give up while the gate has their requests and the upstream has not.
    let scenario = from_toml(
        "customers = [{ patience = \"30ms\" }]\n[arrivals]\n\
         segments = [{ level = 1.0 }, { from = \"2s\", level = 0.0 }]",
    );
    let mut policy = policies::named("off", &scenario).unwrap();
    let mut world = World::new(&scenario, 4.0, 1, policy.as_mut());
    while world.step() {}
    assert!(world.outcome.abandoned > 100, "{}", world.outcome.abandoned);
    let Reading { in_flight_handshakes, in_flight_requests, .. } = world.reading;
    assert_eq!((in_flight_handshakes, in_flight_requests), (0, 0));
}

#[test]
fn no_more_is_wasted_than_was_spent_while_watched() {
    // The processor is gone when the watch begins, and all inside give up in it.
    let cores = Changed::Cores { resource: Resource::Gate, cores: 0.01, seen: false };
    let scenario = Scenario {
        duration_s: 6.0,
        watch_from_s: 4.0,
        changes: vec![Change { at_s: 3.9, what: cores }],
        ..Scenario::default()
    };
    let outcome = run(&scenario, 0.9, 1, policies::named("off", &scenario).unwrap().as_mut());
    assert!(outcome.abandoned > 100, "{}", outcome.abandoned);
    assert!(outcome.wasted_cpu_s <= outcome.cpu_s, "{outcome:?}");
}

#[test]
fn in_a_pause_nothing_is_answered_and_nothing_is_lost_that_can_wait() {
    let scenario = from_toml(
        "customers = [{ patience = \"2s\" }]\n[upstream.pauses]\nevery = \"3s\"\nlasts = \"500ms\"",
    );
    let outcome = run(&scenario, 0.4, 1, policies::named("off", &scenario).unwrap().as_mut());
    // Tenths are numbered by their end; a request of before the pause may end in it.
    let answered = |from: usize| outcome.course[from..from + 3].iter().map(|t| t.responses).sum();
    let (before, within): (u64, u64) = (answered(26), answered(31));
    assert!(before > 100 && within == 0, "{before}, {within}");
    assert_eq!((outcome.abandoned, outcome.refused), (0, 0));
    assert!(outcome.overshoot_ms() > 20.0, "{}", outcome.overshoot_ms());
}

#[test]
fn connections_are_spread_over_cores_and_each_core_runs_its_own_work() {
    let scenario = from_toml("[gate]\ncores = 4\n[upstream]\ncores = 4");
    let mut policy = policies::named("tide", &scenario).unwrap();
    let mut world = World::new(&scenario, 2.0, 1, policy.as_mut());
    while world.step() {}
    assert_eq!((world.queues.len(), world.stations.len()), (4, CORES + 4));
    let on = |core| world.sessions.iter().filter(|s| s.core == core).count() as f64;
    let all = world.sessions.len() as f64;
    assert!((0..4).all(|core| (on(core) / all - 0.25).abs() < 0.02));
}

/// Lets everybody in, and keeps the readings.
#[derive(Default)]
pub(super) struct Open(pub(super) Vec<Reading>);

impl Policy for Open {
    fn decide(&mut self, _: Duration, _: User, _: Moment) -> Decision {
        Decision::Admit
    }
    fn observe(&mut self, _: Duration, reading: &Reading) {
        self.0.push(reading.clone());
    }
    fn why(&self, _: Duration) -> String {
        String::new()
    }
}

#[test]
fn a_request_that_nobody_waited_for_was_one_all_the_same() {
    // Without it, connections of a crowd that gives up would look cheap.
    let scenario = from_toml(
        "customers = [{ requests = 1, patience = \"30ms\" }]\n[arrivals]\n\
         segments = [{ level = 1.0 }, { from = \"2s\", level = 0.0 }]\n\
         [work]\nfull_handshake = \"100us\"",
    );
    let mut listener = Open::default();
    let outcome = run(&scenario, 4.0, 1, &mut listener);
    let sum = |of: fn(&Reading) -> u64| listener.0.iter().map(of).sum::<u64>();
    let (requests, responses) = (sum(|r| r.new.requests), sum(|r| r.upstream_responses));
    assert!(responses + 100 < requests, "{responses} of {requests}");
    assert!(requests <= responses + outcome.abandoned, "{requests}, {responses}");
}

#[test]
fn the_gate_knows_who_came_in_clear_and_takes_nothing_for_a_handshake_there() {
    let scenario = from_toml("customers = [{ tls = \"clear\" }]");
    let mut listener = Open::default();
    run(&scenario, 0.5, 1, &mut listener);
    let sum = |of: fn(&Reading) -> u64| listener.0.iter().map(of).sum::<u64>();
    let (connections, in_clear) = (sum(|r| r.new.connections), sum(|r| r.new.in_clear));
    // The last ones are on their way in when the run ends.
    assert!(connections > 1000 && connections - in_clear < 5, "{in_clear} of {connections}");
    assert_eq!(sum(|r| r.new.handshakes), 0);
}

#[test]
fn nothing_is_in_flight_when_all_have_left() {
    let segment = |from_s, level| Segment { from_s, level, to_level: level };
    let segments = vec![segment(0.0, 1.0), segment(3.0, 0.0)];
    let arrivals = Arrivals { segments, ..Arrivals::default() };
    let scenario = Scenario { duration_s: 30.0, arrivals, ..Scenario::default() };
    let mut listener = Open::default();
    let outcome = run(&scenario, 4.0, 1, &mut listener);
    let inside = outcome.course.last().unwrap().active;
    let last = listener.0.last().unwrap();
    let in_flight = (last.in_flight_handshakes, last.in_flight_requests);
    assert_eq!((inside, in_flight), (0, (0, 0)));
}

/// A run under a policy: when who came for the first time, and the sessions.
fn came(scenario: &Scenario, policy: &str) -> (Vec<(u64, Customer)>, Vec<Session>) {
    let mut policy = policies::named(policy, scenario).unwrap();
    let mut world = World::new(scenario, 4.0, 1, policy.as_mut());
    let (mut came, mut seen) = (Vec::new(), 0);
    while world.step() {
        let news = world.sessions[seen..].iter().filter(|session| session.attempt == 0);
        came.extend(news.map(|session| (world.now.to_bits(), session.customer.clone())));
        seen = world.sessions.len();
    }
    (came, world.sessions)
}

#[test]
fn whatever_a_policy_does_the_same_customers_and_attackers_come_at_the_same_times() {
    let scenario = from_toml(
        "[arrivals]\nbursts = { factor = 3.0, share = 0.2 }\n\
         [[customers]]\nback_off = \"500ms\"\nattempts = 3\ntickets = 0.5\n\
         [[attacks]]\nkind = \"forged-tickets\"\n[telemetry]\nnoise = 0.1\n",
    );
    let [off, tide, codel] = ["off", "tide", "codel"].map(|policy| came(&scenario, policy));
    assert!(off.0.len() > 10_000 && off.0 == tide.0 && off.0 == codel.0);
    // They did decide differently: who comes back is another one.
    assert!(off.1.len() != tide.1.len() && off.1.len() != codel.1.len());
}

#[test]
fn who_completes_under_two_policies_takes_the_same_work() {
    let scenario = from_toml(
        "[database]\nrequest = \"10us\"\n\
         [[customers]]\ntickets = 0.5\npatience = { mean = \"300ms\", scv = 0.1 }\n",
    );
    let [(_, tide), (_, codel)] = ["tide", "codel"].map(|policy| came(&scenario, policy));
    let both = tide.iter().zip(&codel).filter(|(one, other)| one.completed && other.completed);
    let work: Vec<_> = both.map(|(one, other)| (one.spent, other.spent)).collect();
    let completed = tide.iter().filter(|session| session.completed).count();
    assert!(work.len() > 100 && work.len() < completed, "{} of {completed}", work.len());
    assert!(work.iter().all(|(one, other)| (one / other - 1.0).abs() < 1e-9));
}

#[test]
fn a_run_follows_from_its_seed() {
    assert_eq!(demo("tide", 2.0, 2.0).completed, demo("tide", 2.0, 2.0).completed);
}

#[test]
fn all_that_was_offered_was_admitted_or_refused_or_still_stands_there() {
    for policy in ["off", "eac", "tide"] {
        let outcome = demo(policy, 4.0, 5.0);
        let settled = outcome.admitted + outcome.refused;
        assert!(settled <= outcome.offered, "{policy}");
        // Those held, and for `off` those in the gate's queue.
        let waiting = (outcome.offered - settled) as f64 / outcome.offered as f64;
        assert!(waiting < 0.05, "{policy}: {waiting}");
    }
}

#[test]
fn the_best_possible_is_the_same_for_every_policy() {
    let after_failure = AfterFailure::Returns { back_off_s: 0.2, times: 5 };
    let attack = Attack { kind: AttackKind::Handshakes, load: 1.0, from_s: 2.0, until_s: 6.0 };
    let scenario = Scenario {
        duration_s: 8.0,
        watch_from_s: 1.0,
        customers: vec![Customers { after_failure, ..Customers::default() }],
        attacks: vec![attack],
        ..Scenario::default()
    };
    let best = |policy: &str| {
        let mut policy = crate::policies::named(policy, &scenario).unwrap();
        run(&scenario, 4.0, 1, policy.as_mut()).best
    };
    let off = best("off");
    assert!(off > 0.0);
    for policy in ["tide", "eac", "codel", "plan-only"] {
        assert_eq!(best(policy), off, "{policy}");
    }
}
