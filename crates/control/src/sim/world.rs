//! The run: events in order of time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::machine::{Host, Ordered, Station};
use super::outcome::{Outcome, Second};
use super::random::Random;
use super::scenario::Scenario;
use crate::{ClassWork, Controller, Discipline, Reading, Settings, Usage};

/// Runs a scenario from its start and reports what happened from
/// `watch_from_s` on.
pub fn run(scenario: &Scenario, watch_from_s: f64) -> Outcome {
    let mut world = World::new(scenario, watch_from_s);
    while world.step() {}
    world.outcome.responses_s.sort_by(f64::total_cmp);
    world.outcome.seconds = scenario.duration_s - watch_from_s;
    world.outcome
}

const GATE: usize = 0;
const UPSTREAM: usize = 1;

/// How often the held sessions are asked for.
const HOLD_POLL_S: f64 = 0.001;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Accept,
    Handshake,
    Forward,
    Serve,
    Answer,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    session: u32,
    request: u32,
    stage: Stage,
    work: f64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival,
    Wish(u32),
    Impatience(u32, u32),
    Waited(u32),
    Left(u32, u32),
    Retry,
    Tick,
    Tenth,
    Change(usize),
}

#[derive(Clone, Copy, Debug)]
struct Session {
    left: u32,
    request: u32,
    wished_at: f64,
    idle_since: f64,
    first: bool,
    returning: bool,
    gone: bool,
    inside: bool,
}

struct World<'a> {
    scenario: &'a Scenario,
    watch_from: f64,
    now: f64,
    random: Random,
    lengths: Vec<f64>,
    controller: Controller,
    hosts: Vec<Host>,
    stations: [Station; 2],
    jobs: Vec<Job>,
    free_jobs: Vec<u32>,
    sessions: Vec<Session>,
    events: BinaryHeap<Reverse<(Ordered, u64, usize)>>,
    event_kinds: Vec<Event>,
    free_events: Vec<usize>,
    order: u64,
    free_slots: usize,
    slot_queue: VecDeque<u32>,
    held: VecDeque<(u32, f64)>,
    discipline: Discipline,
    active: u32,
    forwarded_at: Vec<f64>,
    reading: Reading,
    capacity: (f64, f64),
    used: [f64; 2],
    tenth: Second,
    outcome: Outcome,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, watch_from: f64) -> Self {
        let machines = &scenario.machines;
        let mut hosts = vec![Host::new(machines.gate_cores)];
        hosts.extend(machines.upstream_cores.map(Host::new));
        let gate_threads = machines.gate_cores.ceil().max(1.0) as usize;
        let stations = [Station::new(0, gate_threads), Station::new(hosts.len() - 1, usize::MAX)];
        let settings = Settings { policy: scenario.policy, ..Settings::default() };
        let mut world = Self {
            scenario,
            watch_from,
            now: 0.0,
            random: Random::new(scenario.seed),
            lengths: lengths(scenario.customers.requests, scenario.customers.requests_max),
            controller: Controller::new(settings),
            hosts,
            stations,
            jobs: Vec::new(),
            free_jobs: Vec::new(),
            sessions: Vec::new(),
            events: BinaryHeap::new(),
            event_kinds: Vec::new(),
            free_events: Vec::new(),
            order: 0,
            free_slots: machines.upstream_threads,
            slot_queue: VecDeque::new(),
            held: VecDeque::new(),
            discipline: Discipline::new(Duration::from_secs_f64(scenario.hold_s)),
            active: 0,
            forwarded_at: Vec::new(),
            reading: Reading::default(),
            capacity: (machines.gate_cores, machines.upstream_cores.unwrap_or(machines.gate_cores)),
            used: [0.0; 2],
            tenth: Second::default(),
            outcome: Outcome::default(),
        };
        for (change, (at, _)) in machines.changes.iter().enumerate() {
            world.schedule(*at, Event::Change(change));
        }
        world.schedule(scenario.tick_s, Event::Tick);
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
        if at > self.scenario.duration_s {
            return false;
        }
        self.now = at;
        if done_at <= event_at {
            self.hosts[host].advance(at);
            if let Some((station, job)) = self.hosts[host].finish() {
                self.stations[station].release(station, &mut self.hosts[host]);
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
            Event::Wish(session) => self.wishes(session),
            Event::Impatience(session, request) => self.loses_patience(session, request),
            Event::Waited(job) => self.compute(UPSTREAM, job),
            Event::Left(session, request) => {
                let s = &self.sessions[session as usize];
                if s.request == request && s.inside {
                    self.leaves(session);
                }
            }
            Event::Retry => self.retry_held(),
            Event::Tick => self.tick(),
            Event::Tenth => {
                self.tenth.at_s = self.now;
                self.tenth.inside = self.active;
                self.outcome.course.push(std::mem::take(&mut self.tenth));
                self.schedule(self.now + 0.1, Event::Tenth);
            }
            Event::Change(change) => {
                let cores = self.scenario.machines.changes[change].1;
                let host = self.hosts.len() - 1;
                self.hosts[host].advance(self.now);
                self.hosts[host].cores = cores;
                if self.scenario.machines.changes_visible {
                    self.capacity.1 = cores;
                    if host == 0 {
                        self.capacity.0 = cores;
                    }
                }
            }
        }
    }

    // --- customers ---

    fn arrives(&mut self) {
        self.schedule_arrival();
        let draw = self.random.uniform();
        let requests = self.lengths.partition_point(|share| *share < draw) as u32 + 1;
        let session = self.sessions.len() as u32;
        self.sessions.push(Session {
            left: requests,
            request: 0,
            wished_at: self.now,
            idle_since: self.now,
            first: true,
            returning: false,
            gone: false,
            inside: false,
        });
        self.count(|outcome| &mut outcome.offered, 1);
        self.schedule(self.now + self.scenario.customers.patience_s, Event::Impatience(session, 0));
        self.submit(GATE, session, Stage::Accept, self.scenario.work.accept);
    }

    fn wishes(&mut self, session: u32) {
        let s = &mut self.sessions[session as usize];
        s.request += 1;
        s.wished_at = self.now;
        let impatient = Event::Impatience(session, s.request);
        let closed = self.now - s.idle_since > self.scenario.customers.keep_alive_s;
        if closed {
            s.returning = true;
            if !s.inside {
                s.inside = true;
                self.active += 1;
            }
            self.submit(GATE, session, Stage::Accept, self.scenario.work.accept);
        } else {
            self.forward(session);
        }
        self.schedule(self.now + self.scenario.customers.patience_s, impatient);
    }

    fn loses_patience(&mut self, session: u32, request: u32) {
        let s = &self.sessions[session as usize];
        // The idle time begins with the answer: no later wish, so answered.
        if s.gone || s.request != request || s.idle_since > s.wished_at {
            return;
        }
        let inside = s.inside;
        self.sessions[session as usize].gone = true;
        if inside {
            self.abandons();
            self.leaves(session);
        }
    }

    fn abandons(&mut self) {
        self.count(|outcome| &mut outcome.abandoned, 1);
        self.tenth.abandoned += 1;
    }

    fn answered(&mut self, session: u32) {
        let now = self.now;
        let customers = &self.scenario.customers;
        let s = &mut self.sessions[session as usize];
        let took = now - s.wished_at;
        (s.idle_since, s.first, s.left) = (now, false, s.left - 1);
        let (done, request) = (s.left == 0, s.request);
        if now >= self.watch_from {
            self.outcome.responses_s.push(took);
        }
        self.tenth.responses += 1;
        self.tenth.response_time_s += took;
        let counted_for = customers.keep_alive_s + customers.grace_s;
        if done {
            self.sessions[session as usize].gone = true;
            self.count(|outcome| &mut outcome.completed, 1);
            self.tenth.completed += 1;
            if customers.close_when_done {
                self.leaves(session);
            } else {
                self.schedule(now + counted_for, Event::Left(session, request));
            }
            return;
        }
        let think = self.random.exponential(customers.think_s);
        if think > counted_for {
            self.schedule(now + counted_for, Event::Left(session, request));
        }
        self.schedule(now + think, Event::Wish(session));
    }

    fn leaves(&mut self, session: u32) {
        self.sessions[session as usize].inside = false;
        self.active -= 1;
    }

    // --- the gate ---

    fn knocks(&mut self, session: u32) {
        self.tell_in_flight();
        if !self.held.is_empty() && !self.discipline.newest_first(self.time()) {
            self.controller.stands_in_line();
            self.hold(session);
        } else if self.controller.new_session(self.time()).is_admit() {
            self.admit(session);
        } else {
            self.hold(session);
        }
    }

    fn tell_in_flight(&mut self) {
        let reading = &self.reading;
        self.controller.in_flight(reading.in_flight_handshakes, reading.in_flight_requests);
    }

    fn hold(&mut self, session: u32) {
        if self.scenario.hold_s == 0.0 || self.scenario.hold_sessions == 0 {
            return self.refuse(session);
        }
        if self.held.is_empty() {
            self.schedule(self.now + HOLD_POLL_S, Event::Retry);
        } else if self.held.len() == self.scenario.hold_sessions {
            self.refuse_oldest();
        }
        self.held.push_back((session, self.now));
    }

    fn retry_held(&mut self) {
        let came_by = self.now - self.discipline.longest_wait(self.time()).as_secs_f64();
        while self.held.front().is_some_and(|(_, since)| *since <= came_by) {
            self.refuse_oldest();
        }
        loop {
            let newest_first = self.discipline.newest_first(self.time());
            let next = if newest_first { self.held.back() } else { self.held.front() };
            let Some((session, _)) = next.copied() else { break };
            self.tell_in_flight();
            let gone = self.sessions[session as usize].gone;
            if !gone && !self.controller.ask_again(self.time()).is_admit() {
                break;
            }
            if newest_first {
                self.held.pop_back()
            } else {
                self.held.pop_front()
            };
            if gone { self.refuse(session) } else { self.admit(session) }
        }
        if !self.held.is_empty() {
            self.schedule(self.now + HOLD_POLL_S, Event::Retry);
        }
    }

    fn refuse_oldest(&mut self) {
        if let Some((session, _)) = self.held.pop_front() {
            self.discipline.turn_away(self.time());
            self.refuse(session);
        }
    }

    fn refuse(&mut self, session: u32) {
        self.sessions[session as usize].gone = true;
        self.count(|outcome| &mut outcome.refused, 1);
        self.tenth.refused += 1;
    }

    fn admit(&mut self, session: u32) {
        if self.sessions[session as usize].gone {
            // The gate cannot know: the hello stands in its buffer, the end of
            // the connection behind it.
            self.abandons();
        } else {
            self.sessions[session as usize].inside = true;
            self.active += 1;
        }
        self.reading.sessions_started += 1;
        self.reading.new.connections += 1;
        self.reading.in_flight_handshakes += 1;
        self.tenth.admitted += 1;
        self.count(|outcome| &mut outcome.admitted, 1);
        self.count(|outcome| &mut outcome.full_handshakes, 1);
        self.submit(GATE, session, Stage::Handshake, self.scenario.work.full_handshake);
    }

    fn returns(&mut self, session: u32) {
        self.controller.returning(self.time());
        self.reading.returning.connections += 1;
        self.reading.in_flight_handshakes += 1;
        self.count(|outcome| &mut outcome.resumed_handshakes, 1);
        self.submit(GATE, session, Stage::Handshake, self.scenario.work.resumed_handshake);
    }

    fn forward(&mut self, session: u32) {
        self.submit(GATE, session, Stage::Forward, self.gate_request() * 0.6);
    }

    fn gate_request(&self) -> f64 {
        self.scenario.work.gate_request / (1.0 - self.scenario.work.gate_unattributed)
    }

    fn tick(&mut self) {
        let scenario = self.scenario;
        let used = std::mem::take(&mut self.used);
        let usage = |capacity, used| Usage { capacity_cpus: capacity, used_cpu_s: Some(used) };
        let shared = scenario.machines.upstream_cores.is_none();
        self.reading.elapsed = Duration::from_secs_f64(scenario.tick_s);
        self.reading.gate = usage(self.capacity.0, used[GATE]);
        self.reading.upstream =
            scenario.machines.upstream_visible.then(|| usage(self.capacity.1, used[UPSTREAM]));
        self.reading.shared_cpus =
            (shared && scenario.machines.upstream_visible).then_some(self.capacity.0);
        self.reading.held = self.held.len() as u32;
        self.reading.sessions_active = self.active;
        self.controller.observe(self.time(), &self.reading);
        let gauges = (self.reading.in_flight_handshakes, self.reading.in_flight_requests);
        self.reading = Reading::default();
        (self.reading.in_flight_handshakes, self.reading.in_flight_requests) = gauges;
        self.outcome.why = self.controller.status(self.time()).why;
        self.schedule(self.now + scenario.tick_s, Event::Tick);
    }

    // --- work ---

    fn submit(&mut self, station: usize, session: u32, stage: Stage, work: f64) {
        let request = self.sessions[session as usize].request;
        let job = Job { session, request, stage, work };
        let index = match self.free_jobs.pop() {
            Some(index) => {
                self.jobs[index as usize] = job;
                index
            }
            None => {
                self.jobs.push(job);
                self.forwarded_at.push(0.0);
                self.jobs.len() as u32 - 1
            }
        };
        if stage == Stage::Serve {
            self.forwarded_at[index as usize] = self.now;
            if self.free_slots == 0 {
                self.slot_queue.push_back(index);
                return;
            }
            self.free_slots -= 1;
            self.serve(index);
        } else {
            self.compute(station, index);
        }
    }

    /// The upstream begins a request that has one of its threads.
    fn serve(&mut self, job: u32) {
        match self.scenario.work.upstream_wait {
            0.0 => self.compute(UPSTREAM, job),
            wait => {
                let wait = self.random.exponential(wait);
                self.schedule(self.now + wait, Event::Waited(job));
            }
        }
    }

    fn compute(&mut self, station: usize, job: u32) {
        let host = &mut self.hosts[self.stations[station].host];
        host.advance(self.now);
        self.stations[station].push(station, host, job, self.jobs[job as usize].work);
    }

    fn finished(&mut self, station: usize, index: u32) {
        let job = self.jobs[index as usize];
        let waited = self.now - self.forwarded_at[index as usize];
        self.free_jobs.push(index);
        self.used[station] += job.work;
        let s = self.sessions[job.session as usize];
        let wanted = !s.gone && s.request == job.request;
        match job.stage {
            Stage::Accept if s.returning => self.returns(job.session),
            Stage::Accept => self.knocks(job.session),
            Stage::Handshake => {
                self.reading.in_flight_handshakes -= 1;
                let class = self.class(s.returning);
                class.handshakes += 1;
                class.handshake_cpu_s += job.work;
                if wanted {
                    self.forward(job.session);
                }
            }
            Stage::Forward => {
                self.reading.in_flight_requests += 1;
                let work = &self.scenario.work;
                let mean = if s.first { work.first_request } else { work.later_request };
                let demand = self.random.service(mean, work.request_scv);
                self.submit(UPSTREAM, job.session, Stage::Serve, demand);
            }
            Stage::Serve => {
                match self.slot_queue.pop_front() {
                    Some(next) => self.serve(next),
                    None => self.free_slots += 1,
                }
                self.reading.upstream_responses += 1;
                self.reading.upstream_time_s += waited;
                self.reading.upstream_time_max_s = self.reading.upstream_time_max_s.max(waited);
                if wanted {
                    let work = self.gate_request() * 0.4;
                    self.submit(GATE, job.session, Stage::Answer, work);
                } else {
                    self.reading.in_flight_requests -= 1;
                }
            }
            Stage::Answer => {
                self.reading.in_flight_requests -= 1;
                let attributed = self.scenario.work.gate_request;
                let class = self.class(s.returning);
                class.requests += 1;
                class.request_cpu_s += attributed;
                if wanted {
                    self.answered(job.session);
                }
            }
        }
    }

    fn class(&mut self, returning: bool) -> &mut ClassWork {
        if returning { &mut self.reading.returning } else { &mut self.reading.new }
    }

    // --- time and counts ---

    fn time(&self) -> Duration {
        Duration::from_secs_f64(self.now)
    }

    fn count(&mut self, what: impl Fn(&mut Outcome) -> &mut u64, number: u64) {
        if self.now >= self.watch_from {
            *what(&mut self.outcome) += number;
        }
    }

    /// The next arrival, by the rate that holds when it comes: thinning is not
    /// needed where the rate only steps, as a memoryless wait may begin anew.
    fn schedule_arrival(&mut self) {
        let mut from = self.now;
        for index in 0..self.scenario.arrivals.len() {
            let (_, rate) = self.scenario.arrivals[index];
            let until = self.scenario.arrivals.get(index + 1).map_or(f64::INFINITY, |next| next.0);
            if until <= from || rate <= 0.0 {
                continue;
            }
            from = from.max(self.scenario.arrivals[index].0);
            let at = from + self.random.exponential(1.0 / rate);
            if at <= until {
                self.schedule(at, Event::Arrival);
                return;
            }
            from = until;
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

/// Cumulative shares of the session lengths 1, 2, … `max`, as a power law whose
/// exponent gives the mean asked for.
fn lengths(mean: f64, max: f64) -> Vec<f64> {
    let max = max.max(1.0) as u32;
    let mean = mean.clamp(1.0, f64::from(max));
    // Relative to the longest, so that no exponent in the bracket overflows.
    let weight = |k: u32, exponent: f64| (f64::from(k) / f64::from(max)).powf(-exponent);
    let mean_at = |exponent: f64| {
        let weights = (1..=max).map(|k| (f64::from(k), weight(k, exponent)));
        let (sum, total) = weights.fold((0.0, 0.0), |(s, t), (k, w)| (s + k * w, t + w));
        sum / total
    };
    let (mut low, mut high) = (-500.0, 60.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if mean_at(middle) > mean { low = middle } else { high = middle }
    }
    let weights: Vec<f64> = (1..=max).map(|k| weight(k, high)).collect();
    let total: f64 = weights.iter().sum();
    let shares = weights.iter().scan(0.0, |sum, weight| {
        *sum += weight / total;
        Some(*sum)
    });
    let mut shares: Vec<f64> = shares.collect();
    // Rounding must not leave a draw of 1 without a length.
    shares.pop();
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PolicyKind;

    #[test]
    fn session_lengths_have_the_mean_asked_for() {
        for (mean, max) in [(12.0, 60.0), (12.0, 12.0), (3.0, 40.0), (1.0, 1.0)] {
            let shares = lengths(mean, max);
            let expected = 1.0 + shares.iter().map(|share| 1.0 - share).sum::<f64>();
            assert!((expected - mean).abs() < 1e-6, "{mean} of {max}: {expected}");
        }
    }

    #[test]
    fn a_light_load_is_carried_whole_and_every_session_is_accounted_for() {
        let mut scenario = Scenario::demo(PolicyKind::Off).at(0.4);
        scenario.duration_s = 20.0;
        let outcome = run(&scenario, 0.0);
        assert_eq!((outcome.refused, outcome.abandoned), (0, 0));
        assert_eq!(outcome.offered, outcome.admitted);
        let expected = scenario.capacity_per_s() * 0.4;
        assert!((outcome.goodput() / expected - 1.0).abs() < 0.15, "{}", outcome.goodput());
    }

    #[test]
    fn a_run_follows_from_its_seed() {
        let mut scenario = Scenario::demo(PolicyKind::Tide).at(2.0);
        scenario.duration_s = 2.0;
        let again = run(&scenario, 0.0).completed;
        assert_eq!(run(&scenario, 0.0).completed, again);
    }
}
