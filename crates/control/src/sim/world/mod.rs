//! The run: events in order of time.

mod customers;
mod gate;
mod work;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use self::gate::{Telegraph, Usher};
use self::work::{Job, Stage};
use super::arrivals::Stream;
use super::judge::{Judge, User};
use super::machine::{Host, Ordered, Station};
use super::outcome::{Outcome, Tenth};
use super::random::Random;
use super::scenario::{AttackKind, Changed, Resource, Scenario};
use crate::{Discipline, Reading};

/// Runs a scenario at a load, judged by a policy.
pub fn run(scenario: &Scenario, load: f64, seed: u64, judge: &mut dyn Judge) -> Outcome {
    let mut world = World::new(scenario, load, seed, judge);
    while world.step() {}
    let why = world.judge.why(world.time());
    let mut outcome = world.outcome;
    outcome.responses_s.sort_by(f64::total_cmp);
    outcome.seconds = scenario.duration_s - scenario.watch_from_s;
    outcome.why = why;
    outcome
}

/// The programs: each is a station.
const GATE: usize = Resource::Gate as usize;
const UPSTREAM: usize = Resource::Upstream as usize;
const DATABASE: usize = Resource::Database as usize;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Arrival,
    Attack(usize),
    ComesBack(u32),
    Wish(u32),
    Impatience(u32, u32),
    Waited(u32),
    Left(u32, u32),
    Forgotten,
    Usher,
    Redial(u32, u32, u32),
    Tick,
    Tenth,
    Change(usize),
}

#[derive(Clone, Copy, Debug)]
struct Session {
    class: u16,
    prefix: u8,
    user: User,
    attempt: u32,
    length: u32,
    left: u32,
    request: u32,
    wished_at: f64,
    idle_since: f64,
    /// CPU seconds spent on it while watched.
    spent: f64,
    attacker: Option<AttackKind>,
    first: bool,
    /// Whether a request of it is with the upstream.
    asking: bool,
    returning: bool,
    gone: bool,
    completed: bool,
    inside: bool,
}

struct World<'a> {
    scenario: &'a Scenario,
    judge: &'a mut dyn Judge,
    now: f64,
    random: Random,
    stream: Stream,
    capacity_per_s: f64,
    /// Connections that the shared ticket may still bring at once, as of when.
    shared_ticket: (f64, f64),
    hosts: Vec<Host>,
    stations: [Station; 3],
    jobs: Vec<Job>,
    free_jobs: Vec<u32>,
    sessions: Vec<Session>,
    events: BinaryHeap<Reverse<(Ordered, u64, usize)>>,
    event_kinds: Vec<Event>,
    free_events: Vec<usize>,
    order: u64,
    free_threads: usize,
    thread_queue: VecDeque<u32>,
    held: VecDeque<(u32, f64)>,
    usher: Usher,
    discipline: Discipline,
    active: u32,
    reading: Reading,
    telegraph: Telegraph,
    tenth: Tenth,
    connections: u64,
    used_at_tenth: Vec<f64>,
    outcome: Outcome,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, load: f64, seed: u64, judge: &'a mut dyn Judge) -> Self {
        let [gate, upstream, database] = scenario.cores(-1.0);
        let mut hosts = vec![Host::new(gate)];
        let mut own = |cores: f64| {
            hosts.push(Host::new(cores));
            hosts.len() - 1
        };
        let upstream_on = scenario.upstream.cores.map_or(0, |_| own(upstream));
        let database_on = scenario.database.as_ref().map_or(0, |_| own(database));
        let stations = [
            Station::new(0, gate.ceil().max(1.0) as usize),
            Station::new(upstream_on, usize::MAX),
            Station::new(database_on, usize::MAX),
        ];
        let capacity_per_s = scenario.capacity_per_s();
        let mut world = Self {
            scenario,
            judge,
            now: 0.0,
            random: Random::new(seed),
            stream: Stream::new(&scenario.arrivals, capacity_per_s * load),
            capacity_per_s,
            shared_ticket: (scenario.gate.session_rate.1, 0.0),
            used_at_tenth: vec![0.0; hosts.len()],
            hosts,
            stations,
            jobs: Vec::new(),
            free_jobs: Vec::new(),
            sessions: Vec::new(),
            events: BinaryHeap::new(),
            event_kinds: Vec::new(),
            free_events: Vec::new(),
            order: 0,
            free_threads: scenario.upstream.threads,
            thread_queue: VecDeque::new(),
            held: VecDeque::new(),
            usher: Usher::default(),
            discipline: Discipline::new(Duration::from_secs_f64(scenario.gate.hold_s)),
            active: 0,
            reading: Reading::default(),
            telegraph: Telegraph::new([gate, upstream]),
            tenth: Tenth::default(),
            connections: 0,
            outcome: Outcome::default(),
        };
        for (index, change) in scenario.changes.iter().enumerate() {
            world.schedule(change.at_s, Event::Change(index));
        }
        for index in 0..scenario.attacks.len() {
            world.schedule_attack(index);
        }
        world.schedule(scenario.gate.tick_s, Event::Tick);
        world.schedule(0.1, Event::Tenth);
        world.schedule_arrival();
        world
    }

    /// Goes on to the next event; false at the end of the run.
    fn step(&mut self) -> bool {
        let event_at = self.events.peek().map_or(f64::INFINITY, |Reverse((at, ..))| at.0);
        let done = self.hosts.iter().map(|host| host.next_done().unwrap_or(f64::INFINITY));
        let (host, done_at) =
            done.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).expect("there is a host");
        let at = event_at.min(done_at);
        // The last tenth ends with the run, whatever its sum of rounding is.
        if at > self.scenario.duration_s + 1e-6 {
            return false;
        }
        self.now = at;
        if done_at <= event_at {
            self.hosts[host].advance(at);
            if let Some((station, job)) = self.hosts[host].finish() {
                self.stations[station].release(station, &mut self.hosts[host], job);
                self.finished(job);
            }
        } else if let Some(Reverse((_, _, slot))) = self.events.pop() {
            self.free_events.push(slot);
            self.happens(self.event_kinds[slot]);
        }
        true
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Arrival => self.arrives(),
            Event::Attack(attack) => self.attacks(attack),
            Event::ComesBack(session) => self.comes_back(session),
            Event::Wish(session) => self.wishes(session),
            Event::Impatience(session, request) => self.loses_patience(session, request),
            Event::Waited(job) => self.compute(UPSTREAM, job),
            Event::Left(session, request) => {
                let s = &self.sessions[session as usize];
                if s.request == request && s.inside {
                    self.leaves(session);
                }
            }
            Event::Forgotten => self.active -= 1,
            Event::Usher => self.usher_comes(),
            Event::Redial(session, request, times) => self.redials(session, request, times),
            Event::Tick => self.tick(),
            Event::Tenth => self.end_tenth(),
            Event::Change(index) => self.change(index),
        }
    }

    fn change(&mut self, index: usize) {
        let Changed::Cores { resource, cores, seen } = self.scenario.changes[index].what else {
            return; // Costs are looked up when work is drawn.
        };
        let host = self.stations[resource as usize].host;
        self.hosts[host].advance(self.now);
        self.hosts[host].cores = cores;
        if seen {
            for station in [GATE, UPSTREAM] {
                if self.stations[station].host == host {
                    self.telegraph.capacity[station] = cores;
                }
            }
        }
    }

    fn end_tenth(&mut self) {
        let demand = self.scenario.demand(self.now);
        let mut demand_on = vec![0.0; self.hosts.len()];
        for (station, work) in self.stations.iter().zip(demand) {
            demand_on[station.host] += work;
        }
        let mut room = f64::INFINITY;
        for (index, host) in self.hosts.iter_mut().enumerate() {
            host.advance(self.now);
            let used: f64 = host.used.iter().sum();
            let idle = host.cores * 0.1 - (used - self.used_at_tenth[index]);
            self.used_at_tenth[index] = used;
            let (least, most) = host.take_owed();
            self.tenth.owed_s.0 = self.tenth.owed_s.0.max(least / host.cores);
            self.tenth.owed_s.1 = self.tenth.owed_s.1.max(most / host.cores);
            if demand_on[index] > 0.0 {
                room = room.min(idle.max(0.0) / demand_on[index]);
            }
        }
        let offered = self.stream.rate(self.now, &mut self.random);
        let connections = std::mem::take(&mut self.connections) as f64 * 10.0;
        let best = self.scenario.best_per_s(self.now, offered, connections) * 0.1;
        if self.now > self.scenario.watch_from_s + 0.05 {
            self.outcome.best += best;
        }
        (self.tenth.at_s, self.tenth.inside) = (self.now, self.active);
        (self.tenth.best, self.tenth.room) = (best, room);
        self.outcome.course.push(std::mem::take(&mut self.tenth));
        self.schedule(self.now + 0.1, Event::Tenth);
    }

    fn time(&self) -> Duration {
        Duration::from_secs_f64(self.now)
    }

    fn is_watched(&self) -> bool {
        self.now >= self.scenario.watch_from_s
    }

    fn count(&mut self, what: impl Fn(&mut Outcome) -> &mut u64) {
        if self.is_watched() {
            *what(&mut self.outcome) += 1;
        }
    }

    fn schedule(&mut self, at: f64, event: Event) {
        let slot = match self.free_events.pop() {
            Some(slot) => {
                self.event_kinds[slot] = event;
                slot
            }
            None => {
                self.event_kinds.push(event);
                self.event_kinds.len() - 1
            }
        };
        self.order += 1;
        self.events.push(Reverse((Ordered(at), self.order, slot)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Change, Customers, Distribution, SessionLength, Tls, policies};

    fn demo(policy: &str, load: f64, duration_s: f64) -> Outcome {
        let scenario = Scenario { duration_s, watch_from_s: 0.0, ..Scenario::default() };
        let mut judge = policies::named(policy, &scenario).unwrap();
        run(&scenario, load, 1, judge.as_mut())
    }

    #[test]
    fn a_light_load_is_carried_whole_and_every_session_is_accounted_for() {
        let outcome = demo("off", 0.4, 20.0);
        assert_eq!((outcome.refused, outcome.abandoned), (0, 0));
        assert_eq!(outcome.offered, outcome.admitted);
        assert!((outcome.goodput() - 1.0).abs() < 0.15, "{}", outcome.goodput());
    }

    #[test]
    fn the_cpu_time_of_a_run_is_that_of_its_sessions() {
        let outcome = demo("off", 0.5, 60.0);
        assert!((outcome.cpu_s / 60.0 - 0.5).abs() < 0.03, "{}", outcome.cpu_s / 60.0);
        assert!(outcome.wasted() < 0.01, "{}", outcome.wasted());
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
        for (tls, tickets) in [(None, 0.3), (Some(Tls::Clear), 1.0), (Tls::named("rsa-4096"), 0.0)]
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
            assert_eq!(outcome.full_handshakes > 0, tls != Some(Tls::Clear));
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
        assert!(without.lost() >= without.cut_off());
        // More connections are let in than sessions.
        assert!(without.full_handshakes > without.admitted);
    }

    #[test]
    fn former_sessions_of_those_without_tickets_are_forgotten_in_the_end() {
        let outcome = class(Customers { tickets: 0.0, ..Customers::default() }, "off", 0.3, 10.0);
        // 64 sessions a second, with 11 pauses. A seat is taken for as long as a pause, or,
        // where that is longer than 250 ms (0.24 of them), for these and the linger time:
        // 73.1 + 0.24 × 1250 = 372.7 ms. Together 262, and a few who are served.
        let inside = outcome.course[100..].iter().map(|tenth| f64::from(tenth.inside));
        let mean = inside.clone().sum::<f64>() / inside.count() as f64;
        assert!((mean / 263.0 - 1.0).abs() < 0.05, "{mean}");
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
}
