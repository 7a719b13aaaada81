use std::time::Duration;

use super::*;
use crate::{
    ByResource, ClassWork, Controller, Decision, Moment, PolicyKind, Reading, ResourceName,
    Settings, Usage,
};

/// A service of one processor that the gate does not share, in ticks of 100 ms. Requests of each
/// route cost a fixed time; what passes is worked on in the order of arrival.
struct Service {
    controller: Controller,
    priorities: Vec<Priority>,
    cost_s: Vec<f64>,
    /// CPU time that is owed, and the requests of each route that owe it.
    owed: Vec<f64>,
    /// Requests of each route that were answered since the start.
    done: Vec<f64>,
    ticks: u64,
    in_view: bool,
}

#[derive(Debug, Default, PartialEq)]
struct Counts {
    requests: Vec<u64>,
    refused: Vec<u64>,
}

impl Service {
    fn new(routes: &[(Priority, f64)]) -> Self {
        let policy = PolicyKind::Static { per_second: 1e6 };
        let mut controller = Controller::new(Settings { policy, ..Settings::default() });
        let priorities: Vec<_> = routes.iter().map(|route| route.0).collect();
        controller.set_routes(&priorities);
        Self {
            controller,
            owed: vec![0.0; priorities.len()],
            done: vec![0.0; priorities.len()],
            priorities,
            cost_s: routes.iter().map(|route| route.1).collect(),
            ticks: 0,
            in_view: true,
        }
    }

    fn now(&self) -> Duration {
        Duration::from_millis(100 * self.ticks)
    }

    /// So many seconds with so many requests per second of each route.
    fn run(&mut self, seconds: u64, per_s: &[u64]) -> Counts {
        let mut counts = Counts { requests: vec![0; per_s.len()], refused: vec![0; per_s.len()] };
        for _ in 0..seconds * 10 {
            self.ticks += 1;
            let mut work = vec![RouteWork::default(); per_s.len()];
            let (mut answered_s, mut used_s) = (0.0, 0.0);
            // Ten steps of 10 ms, the routes mixed.
            for step in 0..10 {
                for (route, per_s) in per_s.iter().enumerate() {
                    let due = |steps: u64| per_s * steps / 100;
                    let steps = self.ticks * 10 + step;
                    for number in 0..due(steps + 1) - due(steps) {
                        let in_flight = self.in_flight();
                        let passage = self.controller.passage().unwrap_or_default();
                        let session = (number * 37 + steps * 11) % 101;
                        let passes = passage
                            .of(self.priorities[route])
                            .admits(session as f64 / 101.0, in_flight);
                        work[route].requests += 1;
                        if passes {
                            self.owed[route] += 1.0;
                        } else {
                            work[route].refused += 1;
                        }
                    }
                }
                // Everything in flight is worked on evenly.
                let owed_s: f64 = self.owed.iter().zip(&self.cost_s).map(|(n, s)| n * s).sum();
                let share = (0.010 / owed_s.max(1e-9)).min(1.0);
                used_s += owed_s * share;
                for (route, owed) in self.owed.iter_mut().enumerate() {
                    let done = *owed * share;
                    *owed -= done;
                    answered_s += done;
                    let before = self.done[route].floor();
                    self.done[route] += done;
                    work[route].responses += (self.done[route].floor() - before) as u64;
                }
            }
            let responses: u64 = work.iter().map(|work| work.responses).sum();
            let waits_s = 0.002 + self.in_flight() as f64 * 0.1 / answered_s.max(1.0);
            let busy = Usage {
                capacity_cpus: 1.0,
                used_cpu_s: self.in_view.then_some(used_s),
                idle: self.in_view.then_some(1.0 - used_s / 0.1),
            };
            let gate = Usage { capacity_cpus: 4.0, used_cpu_s: Some(0.001), idle: Some(0.99) };
            let requests: u64 = work.iter().map(|work| work.requests).sum();
            let refused: u64 = work.iter().map(|work| work.refused).sum();
            for (route, work) in work.iter().enumerate() {
                counts.requests[route] += work.requests;
                counts.refused[route] += work.refused;
            }
            let reading = Reading {
                elapsed: Duration::from_millis(100),
                usage: ByResource::default()
                    .with(ResourceName::Gate, gate)
                    .with(ResourceName::Upstream, self.in_view.then_some(busy)),
                returning: ClassWork { requests, ..ClassWork::default() },
                static_requests: refused,
                upstream_responses: responses,
                upstream_time_s: responses as f64 * waits_s,
                upstream_time_ln: responses as f64 * (waits_s * 1e9).ln(),
                in_flight_requests: self.in_flight(),
                routes: work,
                ..Reading::default()
            };
            self.controller.observe(self.now(), &reading);
        }
        counts
    }

    fn in_flight(&self) -> u32 {
        self.owed.iter().sum::<f64>().round() as u32
    }
}

const SHOP: [(Priority, f64); 2] = [(Priority::Normal, 0.005), (Priority::High, 0.005)];

#[test]
fn browsing_at_twelve_times_the_capacity_takes_nothing_from_checkout() {
    let mut service = Service::new(&SHOP);
    let calm = service.run(5, &[80, 20]);
    assert_eq!(calm.refused, [0, 0], "what fits passes");
    // Two hundred a second are the capacity.
    let crowd = service.run(20, &[2400, 20]);
    assert_eq!(crowd.refused[1], 0);
    let passed = crowd.requests[0] - crowd.refused[0];
    // Of 20 s the others leave 18: 3600 requests.
    assert!((3300..=3750).contains(&passed), "{passed}");
    let queue_s = f64::from(service.in_flight()) * 0.005;
    assert!(queue_s < 0.12, "checkout waits {queue_s} s");
    let after = service.run(6, &[80, 20]);
    let again = service.run(5, &[80, 20]);
    assert!(after.refused[0] < 200, "{after:?}");
    assert_eq!(again.refused, [0, 0], "it opens again");
}

#[test]
fn checkout_that_costs_more_than_browsing_gets_what_it_needs() {
    let mut service = Service::new(&[(Priority::Normal, 0.002), (Priority::High, 0.020)]);
    service.run(10, &[150, 10]);
    // Checkout needs 60 % of the processor.
    let crowd = service.run(20, &[4000, 30]);
    assert_eq!(crowd.refused[1], 0);
    let passed = crowd.requests[0] - crowd.refused[0];
    // 40 % of 20 s are 4000 requests.
    assert!((3300..=4400).contains(&passed), "{passed}");
    let cost = |route: usize| service.controller.status(service.now()).routes[route].request_cpu_s;
    assert!(cost(1).unwrap() > 4.0 * cost(0).unwrap(), "{:?} {:?}", cost(0), cost(1));
}

#[test]
fn low_requests_give_way_before_normal_ones() {
    let routes = [(Priority::Low, 0.005), (Priority::Normal, 0.005), (Priority::High, 0.005)];
    let mut service = Service::new(&routes);
    service.run(5, &[40, 40, 30]);
    // 130 of 200 are needed by normal and high ones.
    let crowd = service.run(20, &[1000, 100, 30]);
    assert_eq!((crowd.refused[1], crowd.refused[2]), (0, 0), "{crowd:?}");
    let passed = crowd.requests[0] - crowd.refused[0];
    assert!((900..=1500).contains(&passed), "{passed}");
}

#[test]
fn without_a_route_of_high_priority_no_normal_request_is_refused() {
    let mut service = Service::new(&[(Priority::Low, 0.005), (Priority::Normal, 0.005)]);
    let crowd = service.run(5, &[100, 600]);
    assert_eq!(crowd.refused[1], 0);
    assert!(crowd.refused[0] > 400, "{crowd:?}");
    let alike = Controller::new(Settings::default());
    assert_eq!(alike.passage(), None);
}

#[test]
fn no_new_session_is_admitted_while_requests_of_active_ones_are_refused() {
    let mut service = Service::new(&SHOP);
    service.run(3, &[80, 20]);
    let decide = |service: &mut Service| {
        let now = service.now();
        service.controller.decide(now, Moment::IDLE)
    };
    assert_eq!(decide(&mut service), Decision::Admit);
    service.run(5, &[2400, 20]);
    assert_ne!(decide(&mut service), Decision::Admit);
    let status = service.controller.status(service.now());
    assert!(status.why_not.unwrap().contains("active sessions"));
    let why = status.why_refused.unwrap();
    assert!(why.contains("high priority need"), "{why}");
    service.controller.set_policy(PolicyKind::Off);
    assert_eq!(decide(&mut service), Decision::Admit, "off admits all the same");
    service.controller.set_policy(PolicyKind::Static { per_second: 1e6 });
    service.run(10, &[80, 20]);
    assert_eq!(decide(&mut service), Decision::Admit);
}

#[test]
fn a_service_out_of_view_is_judged_by_its_queue() {
    let mut service = Service::new(&SHOP);
    service.in_view = false;
    service.run(5, &[80, 20]);
    let crowd = service.run(30, &[1200, 20]);
    assert_eq!(crowd.refused[1], 0);
    let passed = crowd.requests[0] - crowd.refused[0];
    assert!((3500..=7500).contains(&passed), "{passed}");
    assert!(service.in_flight() < 60, "{}", service.in_flight());
}

#[test]
fn a_share_passes_by_session_and_nothing_beyond_the_queue() {
    let pass = Pass { share: 0.25, in_flight_max: 8.0 };
    let admits = |session, in_flight| pass.admits(session, in_flight);
    assert!(admits(0.0, 8) && admits(0.24, 0));
    assert!(!admits(0.25, 0) && !admits(0.0, 9));
    assert!(Pass::ALL.admits(0.999, u32::MAX));
}
