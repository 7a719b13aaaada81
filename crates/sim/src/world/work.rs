//! Work: what each stage of a connection and a request needs, and what follows.

use super::{CORES, DATABASE, Event, Session, UPSTREAM, World};
use crate::policy::{Response, Route};
use crate::scenario::AttackKind;
use std::time::Duration;
use tidegate_control::{ClassWork, FullHandshake, KindWork};

/// Where a piece of work belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    /// Accepting a connection.
    Accept,
    Handshake,
    /// A handshake with the waiting room.
    RoomHandshake,
    /// A page of the waiting room.
    Page,
    /// Reading a request and passing it on.
    Forward,
    /// The upstream's part of it.
    Serve,
    /// The database's.
    Query,
    /// Passing the response on.
    Answer,
    /// Saying that the request may not in.
    Reject,
    /// The dispatcher is awake, and yields to connections with data to read.
    Called,
    /// The dispatcher's turn.
    Dispatcher,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    session: u32,
    request: u32,
    stage: Stage,
    work: f64,
    forwarded_at: f64,
    /// Seconds that its request takes undisturbed, up to this stage.
    service_s: f64,
}

impl World<'_> {
    /// The station of the core that a session's connection is on.
    pub(super) fn core_station(&self, session: u32) -> usize {
        CORES + self.sessions[session as usize].core
    }

    /// Adds work for the core that a session's connection is on.
    pub(super) fn submit_to_core(&mut self, session: u32, stage: Stage, work: f64) {
        let station = self.core_station(session);
        let request = self.sessions[session as usize].request;
        let (forwarded_at, service_s) = (self.now, 0.0);
        let job = Job { session, request, stage, work, forwarded_at, service_s };
        let job = self.owe(station, job);
        self.compute(station, job);
    }

    /// A piece of work that a station will do, now or when it has a thread.
    fn owe(&mut self, station: usize, job: Job) -> u32 {
        let host = &mut self.hosts[self.stations[station].host];
        host.advance(self.now);
        host.owe(job.work);
        self.add(job)
    }

    fn add(&mut self, job: Job) -> u32 {
        match self.free_jobs.pop() {
            Some(index) => {
                self.jobs[index as usize] = job;
                index
            }
            None => {
                self.jobs.push(job);
                self.jobs.len() as u32 - 1
            }
        }
    }

    pub(super) fn compute(&mut self, station: usize, job: u32) {
        let host = &mut self.hosts[self.stations[station].host];
        host.advance(self.now);
        let Job { stage, work, .. } = self.jobs[job as usize];
        if stage == Stage::Accept {
            self.stations[station].knock(host, job, work);
        } else {
            self.stations[station].push(host, job, work);
        }
    }

    /// Queues a core's dispatcher behind all that is ready there: its own work is part of
    /// accepting.
    pub(super) fn queue_dispatcher(&mut self, core: usize, stage: Stage) {
        let (forwarded_at, service_s) = (self.now, 0.0);
        let job = Job { session: 0, request: 0, stage, work: 0.0, forwarded_at, service_s };
        let job = self.add(job);
        self.compute(CORES + core, job);
    }

    pub(super) fn forward(&mut self, session: u32) {
        if self.sessions[session as usize].in_room {
            return self.asks_for_page(session);
        }
        self.submit_to_core(session, Stage::Forward, self.scenario.gate_request() * 0.6);
    }

    /// Hands a request to the upstream, which begins it when a thread is free. Where
    /// nobody waits for it any more it is in flight for the upstream only.
    fn hand_over(&mut self, session: u32) {
        let (scenario, class) = (self.scenario, self.class(session));
        let weight = class.weight * scenario.factors(self.now).0;
        let Session { first, request, ref mut random, .. } = self.sessions[session as usize];
        let work = scenario.request(class, first).draw_times(weight, random);
        let (stage, forwarded_at) = (Stage::Serve, self.now);
        let job = Job { session, request, stage, work, forwarded_at, service_s: work };
        let job = self.owe(UPSTREAM, job);
        // The request of a customer who left meanwhile is worked on all the same.
        if self.sessions[session as usize].gone {
            self.counts_request(session);
        } else {
            self.reading.in_flight_requests += 1;
            self.sessions[session as usize].forwarded_at = Some(forwarded_at);
            self.begins_request(session);
        }
        if self.threads.take(self.now, job) {
            self.serve(job);
        }
    }

    /// The upstream begins a request that has one of its threads.
    pub(super) fn serve(&mut self, job: u32) {
        if let Some(end_s) = self.scenario.upstream.pauses.and_then(|pauses| pauses.end(self.now)) {
            return self.schedule(end_s, Event::Resumed(job));
        }
        let wait = &self.scenario.upstream.wait;
        if wait.mean() == 0.0 {
            return self.compute(UPSTREAM, job);
        }
        let Job { session, ref mut service_s, .. } = self.jobs[job as usize];
        let wait_s = wait.draw(&mut self.sessions[session as usize].random);
        *service_s += wait_s;
        self.schedule(self.now + wait_s, Event::Waited(job));
    }

    pub(super) fn finished(&mut self, station: usize, index: u32) {
        let job = self.jobs[index as usize];
        self.free_jobs.push(index);
        match job.stage {
            Stage::Called => return self.queue_dispatcher(station - CORES, Stage::Dispatcher),
            Stage::Dispatcher => return self.dispatch(station - CORES),
            _ => {}
        }
        let is_watched = self.is_watched();
        let s = &mut self.sessions[job.session as usize];
        let (returning, attacker) = (s.returning, s.customer.attacker);
        let wanted = !s.gone && s.request == job.request;
        if is_watched {
            self.outcome.cpu_s += job.work;
            if attacker.is_some() || (s.gone && !s.completed) {
                self.outcome.wasted_cpu_s += job.work;
            } else {
                s.spent += job.work;
            }
        }
        match job.stage {
            Stage::Accept if returning => self.returns(job.session),
            Stage::Accept => self.comes_new(job.session),
            Stage::RoomHandshake => self.room_handshake_ends(job.session, job.work, wanted),
            Stage::Page => self.answers_in_room(job.session, job.work, wanted),
            Stage::Handshake => {
                self.handshake_ends(job.session);
                self.decide_soon(station - CORES);
                let in_clear = self.is_in_clear(job.session);
                if let Some(kind) = self.kind(job.session).filter(|_| !returning) {
                    self.shook_hands(kind, job.work);
                }
                let class = self.class_work(returning);
                if in_clear {
                    class.in_clear += 1;
                } else {
                    class.handshakes += 1;
                    class.handshake_cpu_s += job.work;
                }
                if attacker == Some(AttackKind::Handshakes) {
                    self.count_group(job.session, |group| &mut group.completed);
                    self.sessions[job.session as usize].gone = true;
                    self.leaves(job.session);
                } else if wanted {
                    // A request in clear text comes with the hello.
                    self.sends(job.session, if in_clear { 0.0 } else { 1.0 });
                }
            }
            Stage::Forward => {
                let moment = self.moment(Duration::ZERO);
                let route = self.route(job.session);
                self.reading.routes[route.index].requests += 1;
                if self.policy.passes(self.time(), route, self.user(job.session), moment) {
                    self.hand_over(job.session);
                } else {
                    self.reading.routes[route.index].refused += 1;
                    self.reading.static_requests += 1;
                    self.counts_request(job.session);
                    let work = self.scenario.gate_request() * 0.4;
                    self.submit_to_core(job.session, Stage::Reject, work);
                }
            }
            Stage::Serve => match &self.scenario.database {
                Some(database) => {
                    let factor = self.scenario.factors(self.now).0;
                    let random = &mut self.sessions[job.session as usize].random;
                    let work = database.request.draw_times(factor, random);
                    let service_s = job.service_s + work;
                    let job = Job { stage: Stage::Query, work, service_s, ..job };
                    let job = self.owe(DATABASE, job);
                    self.compute(DATABASE, job);
                }
                None => self.served(job, wanted),
            },
            Stage::Query => self.served(job, wanted),
            Stage::Answer => {
                self.ends_request(job.session, Some(job.service_s));
                let waited = self.now - job.forwarded_at;
                self.reading.upstream_responses += 1;
                let route = self.route(job.session);
                self.reading.routes[route.index].responses += 1;
                self.reading.upstream_time_s += waited;
                self.reading.upstream_time_ln += (waited * 1e9).max(1.0).ln();
                if wanted {
                    self.thinks(job.session);
                    self.receives(job.session);
                }
            }
            Stage::Reject => {
                if wanted {
                    self.leaves_early(job.session);
                }
            }
            Stage::Called | Stage::Dispatcher => unreachable!("it was seen to above"),
        }
    }

    fn served(&mut self, job: Job, wanted: bool) {
        if let Some(next) = self.threads.release(self.now) {
            self.serve(next);
        }
        if wanted {
            let work = self.scenario.gate_request() * 0.4;
            let service_s = job.service_s + work;
            let station = self.core_station(job.session);
            let job = self.owe(station, Job { stage: Stage::Answer, work, service_s, ..job });
            self.compute(station, job);
        }
    }

    /// A session has its response, after so many seconds of service, or its customer
    /// has left without one (`None`). Either way no request of it is with the upstream
    /// any more, as far as the gate knows.
    pub(super) fn ends_request(&mut self, session: u32, service_s: Option<f64>) {
        let s = &mut self.sessions[session as usize];
        let forwarded_at = s.forwarded_at.take();
        if forwarded_at.is_none() && (service_s.is_some() || !s.inside) {
            return;
        }
        let took_s = self.now - forwarded_at.unwrap_or(s.intended_at);
        let response = Response {
            is_early: forwarded_at.is_none(),
            took_s,
            queued_s: (took_s - service_s.unwrap_or(0.0)).max(0.0),
            is_dropped: service_s.is_none(),
            in_flight: self.reading.in_flight_requests,
        };
        if forwarded_at.is_some() {
            self.reading.in_flight_requests -= 1;
            self.counts_request(session);
            if service_s.is_none() {
                self.reading.upstream_given_up += 1;
                self.reading.given_up_time_ln += (took_s * 1e9).max(1.0).ln();
            }
        }
        self.policy.responded(self.time(), &response);
    }

    /// A request has come to its end, whichever: the gate counts those that nobody
    /// waited for as well.
    fn counts_request(&mut self, session: u32) {
        let attributed = self.scenario.work.gate_request;
        let class = self.class_work(self.sessions[session as usize].returning);
        class.requests += 1;
        class.request_cpu_s += attributed;
    }

    /// The route of a session's requests: that of its class.
    fn route(&self, session: u32) -> Route {
        let index = usize::from(self.sessions[session as usize].customer.class);
        Route { index, priority: self.class(session).priority }
    }

    /// A full handshake of a kind was finished.
    fn shook_hands(&mut self, kind: FullHandshake, cpu_s: f64) {
        let kinds = &mut self.reading.kinds;
        match kinds.iter_mut().find(|work| work.kind == kind) {
            Some(work) => (work.handshakes, work.cpu_s) = (work.handshakes + 1, work.cpu_s + cpu_s),
            None => kinds.push(KindWork { kind, handshakes: 1, cpu_s }),
        }
    }

    fn class_work(&mut self, returning: bool) -> &mut ClassWork {
        if returning { &mut self.reading.returning } else { &mut self.reading.new }
    }
}
