//! The run: events in order of time.

mod customers;
mod gate;
mod room;
#[cfg(test)]
mod tests;
mod threads;
mod work;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use self::gate::{AdmissionQueue, ReadingQueue};
use self::room::{LinePlace, Room};
use self::threads::Threads;
use self::work::{Job, Stage};
use super::arrivals::Stream;
use super::best::Best;
use super::capacity::Worth;
use super::handshake_mix::HandshakeMix;
use super::machine::{Host, Ordered, Place, Station};
use super::outcome::{Cohort, Outcome, Tenth};
use super::policy::{Policy, User};
use super::random::Random;
use super::scenario::{AttackKind, Changed, Resource, Scenario};
use tidegate_control::{CensusCounts, Reading, RouteWork, ThinkTimeCensus};

/// Runs a scenario at a load, judged by a policy.
pub fn run(scenario: &Scenario, load: f64, seed: u64, policy: &mut dyn Policy) -> Outcome {
    let mut world = World::new(scenario, load, seed, policy);
    while world.step() {}
    world.end();
    let why = world.policy.why(world.time());
    let mut outcome = world.outcome;
    outcome.waits_s.sort_by(f64::total_cmp);
    outcome.admission_waits_s.sort_by(f64::total_cmp);
    outcome.seconds = scenario.duration_s - scenario.watch_from_s;
    outcome.why = why;
    outcome
}

/// Stations: the upstream, the database, and each core of the gate from [`CORES`] on.
const UPSTREAM: usize = 0;
const DATABASE: usize = 1;
const CORES: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Arrival,
    Attack(usize),
    ComesBack(u32),
    NextRequest(u32),
    /// A page of the waiting room asks for the next one.
    Refresh(u32),
    Impatience(u32, u32),
    Waited(u32),
    Resumed(u32),
    Left(u32, u32),
    Forgotten(u64),
    Dispatcher(usize),
    Redial(u32, u32, u32),
    Hello(u32, u32),
    Request(u32, u32),
    Response(u32, u32),
    Tick,
    Tenth,
    Change(usize),
}

/// A customer, over all attempts.
#[derive(Clone, Debug, PartialEq)]
struct Customer {
    class: u16,
    prefix: u8,
    user: User,
    /// Requests that the session consists of.
    length: u32,
    attacker: Option<AttackKind>,
    /// How long the customer stays away, and what each attempt draws from.
    random: Random,
}

#[derive(Clone, Debug)]
struct Session {
    customer: Customer,
    /// Think times, patience and work of this visit.
    random: Random,
    attempt: u32,
    /// The gate's core that its connection is on.
    core: usize,
    left: u32,
    request: u32,
    intended_at: f64,
    idle_since: f64,
    /// CPU seconds that its last handshake was charged.
    price_s: f64,
    /// CPU seconds spent on it while watched.
    spent: f64,
    /// What it got while watched, in mean sessions.
    worth: f64,
    /// Whether its customer came for the first time while watched.
    counted: bool,
    first: bool,
    /// Since when a request of it is with the upstream.
    forwarded_at: Option<f64>,
    returning: bool,
    gone: bool,
    /// When the customer left before the end.
    gone_at: f64,
    /// Since when its connection is in the admission queue.
    queued_at: f64,
    completed: bool,
    inside: bool,
    /// Its place in the waiting room.
    place: Option<LinePlace>,
    /// Its connection is one of the waiting room.
    in_room: bool,
    /// When its customer will have waited too long for a response.
    impatient_at: f64,
    /// The tick since which it has nothing under way.
    thinks_since: Option<u64>,
}

impl Session {
    /// Whether the session was admitted, though the gate may have forgotten it.
    fn was_let_in(&self) -> bool {
        self.inside || self.left < self.customer.length
    }
}

struct World<'a> {
    scenario: &'a Scenario,
    /// How those connect who do not say it: to find their kind takes longer than an event.
    usual_tls: HandshakeMix,
    policy: &'a mut dyn Policy,
    now: f64,
    stream: Stream,
    /// What customers come from, and those of each attack.
    customers: Random,
    attackers: Vec<Random>,
    /// What readings are wrong by.
    noise: Random,
    capacity_per_s: f64,
    /// Connections that the shared ticket may still bring at once, as of when.
    shared_ticket: (f64, f64),
    hosts: Vec<Host>,
    /// The host of each [`Resource`].
    host_of: [usize; 3],
    stations: Vec<Station>,
    jobs: Vec<Job>,
    free_jobs: Vec<u32>,
    sessions: Vec<Session>,
    events: BinaryHeap<Reverse<(Ordered, u64, usize)>>,
    event_kinds: Vec<Event>,
    free_events: Vec<usize>,
    order: u64,
    threads: Threads,
    /// One for each of the gate's cores.
    queues: Vec<AdmissionQueue>,
    room: Option<Room>,
    active: u32,
    thinking: ThinkTimeCensus,
    thoughts: CensusCounts,
    reading: Reading,
    readings: ReadingQueue,
    tenth: Tenth,
    worth: Worth,
    best: Best,
    used_at_tenth: Vec<f64>,
    outcome: Outcome,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, load: f64, seed: u64, policy: &'a mut dyn Policy) -> Self {
        let [gate, upstream, database] = scenario.cores(-1.0);
        let mut hosts = vec![Host::new(gate)];
        let mut own = |cores: f64| {
            hosts.push(Host::new(cores));
            hosts.len() - 1
        };
        let upstream_on = scenario.upstream.cores.map_or(0, |_| own(upstream));
        let database_on = scenario.database.as_ref().map_or(0, |_| own(database));
        let host_of = [0, upstream_on, database_on];
        let station = |resource: Resource, station, threads| {
            let program = resource as usize;
            Station::new(Place { program, station }, host_of[program], threads)
        };
        let mut stations = vec![
            station(Resource::Upstream, UPSTREAM, usize::MAX),
            station(Resource::Database, DATABASE, usize::MAX),
        ];
        // A connection stays on its core, and each core has a thread and a queue.
        let cores = scenario.most_cores()[Resource::Gate as usize].ceil() as usize;
        stations.extend((0..cores).map(|core| station(Resource::Gate, CORES + core, 1)));
        let hold = Duration::from_secs_f64(scenario.gate.hold_s);
        let capacity_per_s = scenario.capacity_per_s();
        let mut random = Random::new(seed);
        let mut world = Self {
            scenario,
            usual_tls: scenario.work.tls(),
            policy,
            now: 0.0,
            stream: Stream::new(&scenario.arrivals, capacity_per_s * load, random.split()),
            customers: random.split(),
            noise: random.split(),
            attackers: scenario.attacks.iter().map(|_| random.split()).collect(),
            capacity_per_s,
            shared_ticket: (scenario.gate.session_rate.1, 0.0),
            used_at_tenth: vec![0.0; hosts.len()],
            hosts,
            host_of,
            stations,
            jobs: Vec::new(),
            free_jobs: Vec::new(),
            sessions: Vec::new(),
            events: BinaryHeap::new(),
            event_kinds: Vec::new(),
            free_events: Vec::new(),
            order: 0,
            threads: Threads::new(scenario.upstream.threads),
            room: None,
            queues: (0..cores).map(|_| AdmissionQueue::new(hold)).collect(),
            active: 0,
            thinking: ThinkTimeCensus::default(),
            thoughts: CensusCounts::default(),
            reading: Reading {
                routes: vec![RouteWork::default(); scenario.customers.len()],
                ..Reading::default()
            },
            readings: ReadingQueue::new([gate, upstream]),
            tenth: Tenth::default(),
            worth: scenario.worth(0.0, 0.0),
            best: Best::new(scenario, load),
            outcome: Outcome::default(),
        };
        if let Some(room) = scenario.gate.room {
            let cores = scenario.gate.cores;
            world.room = Some(Room::new(room.share, room.page_s, cores, random.split()));
        }
        for (index, change) in scenario.changes.iter().enumerate() {
            world.schedule(change.at_s, Event::Change(index));
        }
        for index in 0..scenario.attacks.len() {
            world.schedule_attack(index);
        }
        world.schedule(scenario.gate.tick_s, Event::Tick);
        world.schedule(0.1, Event::Tenth);
        match scenario.arrivals.closed {
            None => world.schedule_arrival(),
            Some(number) => {
                // Not all at once: evenly over the first tenth of a second.
                let number = (f64::from(number) * load).round();
                for place in 0..number as u32 {
                    world.schedule(0.1 * f64::from(place) / number, Event::Arrival);
                }
            }
        }
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
                self.stations[station].release(&mut self.hosts[host], job);
                self.finished(station, job);
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
            Event::NextRequest(session) => self.next_request(session),
            Event::Refresh(session) => self.refreshes(session),
            Event::Impatience(session, request) => self.loses_patience(session, request),
            Event::Waited(job) => self.compute(UPSTREAM, job),
            Event::Resumed(job) => self.serve(job),
            Event::Left(session, request) => {
                let s = &self.sessions[session as usize];
                if s.request == request && s.inside {
                    self.leaves(session);
                }
            }
            Event::Forgotten(since) => {
                self.active -= 1;
                self.thinking.ends(since);
            }
            Event::Dispatcher(core) => self.dispatcher_timer_fires(core),
            Event::Redial(session, request, times) => self.redials(session, request, times),
            Event::Hello(session, request) => self.redials(session, request, 0),
            Event::Request(session, request) => {
                if self.is_wanted(session, request) {
                    self.forward(session);
                }
            }
            Event::Response(session, request) => {
                if self.is_wanted(session, request) {
                    self.answered(session);
                }
            }
            Event::Tick => self.tick(),
            Event::Tenth => self.end_tenth(),
            Event::Change(index) => self.change(index),
        }
    }

    fn change(&mut self, index: usize) {
        let Changed::Cores { resource, cores, seen } = self.scenario.changes[index].what else {
            return; // Costs are looked up when work is drawn.
        };
        let host = self.host_of[resource as usize];
        self.hosts[host].advance(self.now);
        self.hosts[host].cores = cores;
        if seen {
            for resource in [Resource::Gate, Resource::Upstream].map(|seen| seen as usize) {
                if self.host_of[resource] == host {
                    self.readings.capacity[resource] = cores;
                }
            }
        }
    }

    fn end_tenth(&mut self) {
        let demand = self.scenario.demand(self.now);
        let mut demand_on = vec![0.0; self.hosts.len()];
        for (host, work) in self.host_of.iter().zip(demand) {
            demand_on[*host] += work;
        }
        let mut room = f64::INFINITY;
        for (index, host) in self.hosts.iter_mut().enumerate() {
            host.advance(self.now);
            let used: f64 = host.used.iter().sum();
            let idle = host.cores * 0.1 - (used - self.used_at_tenth[index]);
            self.used_at_tenth[index] = used;
            let (least, most) = host.take_owed();
            self.tenth.owes(least / host.cores, most / host.cores);
            if demand_on[index] > 0.0 {
                room = room.min(idle.max(0.0) / demand_on[index]);
            }
        }
        // A session holds a thread for so long, and a request for its part of that.
        let (since, session_s) = (self.threads.since(self.now), demand[3]);
        room = room.min(since.idle_s / session_s);
        let each_s = session_s / self.scenario.requests() / self.scenario.upstream.threads as f64;
        self.tenth.owes(since.waited.0 as f64 * each_s, since.waited.1 as f64 * each_s);
        self.worth = self.scenario.worth(self.now, self.best.connections_per_s());
        let best = self.best.tenth(self.now, &self.worth);
        if self.now > self.scenario.watch_from_s + 0.05 {
            self.outcome.best += best;
        }
        (self.tenth.at_s, self.tenth.active) = (self.now, self.active);
        (self.tenth.best, self.tenth.room) = (best, room);
        self.outcome.course.push(std::mem::take(&mut self.tenth));
        self.schedule(self.now + 0.1, Event::Tenth);
    }

    /// Counts those who are inside when the run ends.
    fn end(&mut self) {
        let under_way = |s: &&Session| s.was_let_in() && !s.gone && s.customer.attacker.is_none();
        for s in self.sessions.iter().filter(under_way) {
            self.outcome.under_way += s.worth;
            if s.counted {
                let group = group(self.scenario, s);
                self.outcome.by_length[group].under_way += 1;
                self.outcome.by_prefix[s.customer.prefix as usize].under_way += 1;
            }
        }
    }

    /// Counts something of a session in both of its groups, if it is watched from
    /// its beginning.
    fn count_group(&mut self, session: u32, what: impl Fn(&mut Cohort) -> &mut u64) {
        let s = &self.sessions[session as usize];
        if s.counted {
            let group = group(self.scenario, s);
            *what(&mut self.outcome.by_length[group]) += 1;
            *what(&mut self.outcome.by_prefix[s.customer.prefix as usize]) += 1;
        }
    }

    /// Whether a request is still waited for.
    fn is_wanted(&self, session: u32, request: u32) -> bool {
        let s = &self.sessions[session as usize];
        !s.gone && s.request == request
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

/// 0: no longer than the mean; 1: longer.
fn group(scenario: &Scenario, session: &Session) -> usize {
    let Customer { class, length, .. } = session.customer;
    let class = &scenario.customers[class as usize];
    usize::from(f64::from(length) > class.requests.mean())
}
