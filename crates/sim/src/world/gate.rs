//! The gate: which sessions are admitted, queued and refused, and its readings.
//!
//! It is simulated as it is, with what it cannot know: connections and requests
//! that it has not read yet appear in no gauge.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Event, Stage, World};
use crate::handshake_mix::HandshakeMix;
use crate::policy::User;
use crate::scenario::Resource;
use tidegate_control::times;
use tidegate_control::{
    ByResource, CensusCounts, Decision, Discipline, Entry, FullHandshake, Moment, Reading,
    ResourceName, RouteWork, Usage,
};

/// The admission queue of one of the gate's cores. Its dispatcher is one of the core's
/// tasks, and runs after everything else that was ready there.
pub(super) struct AdmissionQueue {
    /// New sessions, and since when each is held; the oldest in front.
    held: VecDeque<(u32, f64)>,
    discipline: Discipline,
    /// Whether the dispatcher is to run.
    is_called: bool,
    /// When the next decision is worthwhile.
    decide_at: f64,
    /// When the dispatcher's timer fires unless it is called before.
    comes_at: f64,
}

impl AdmissionQueue {
    pub(super) fn new(hold: Duration) -> Self {
        Self {
            held: VecDeque::new(),
            discipline: Discipline::new(hold),
            is_called: false,
            decide_at: 0.0,
            comes_at: 0.0,
        }
    }

    fn longest_wait_s(&self, now: Duration) -> f64 {
        self.discipline.longest_wait(now, self.held.len()).as_secs_f64()
    }
}

/// Readings on their way to the policy.
pub(super) struct ReadingQueue {
    /// Cores of gate and upstream, as far as they are seen.
    pub(super) capacity: [f64; 2],
    used: [f64; 2],
    sent_s: f64,
    under_way: VecDeque<(f64, Reading)>,
    told: Told,
}

/// What is told of the upstream's use.
#[derive(Clone, Copy, Default)]
struct Told {
    at_s: f64,
    used_s: f64,
    /// CPU seconds per second between the last two reports.
    rate: Option<f64>,
}

impl Told {
    /// The rate that is known now, where so much was used so far and reports are `every_s` apart;
    /// the report of this tick is known at the next.
    fn rate(&mut self, now: f64, used_s: f64, every_s: f64) -> Option<f64> {
        let known = self.rate;
        let passed_s = now - self.at_s;
        if passed_s >= every_s - 1e-9 {
            self.rate = Some((used_s - self.used_s) / passed_s);
            (self.at_s, self.used_s) = (now, used_s);
        }
        known
    }
}

impl ReadingQueue {
    pub(super) fn new(capacity: [f64; 2]) -> Self {
        Self {
            capacity,
            used: [0.0; 2],
            sent_s: 0.0,
            under_way: VecDeque::new(),
            told: Told::default(),
        }
    }
}

impl World<'_> {
    /// A new session is queued on the core that its connection is on.
    pub(super) fn is_queued(&mut self, session: u32) {
        self.policy.offered();
        self.waits_for_decision(session);
    }

    /// A session that was offered waits for the decision.
    pub(super) fn waits_for_decision(&mut self, session: u32) {
        let (core, now) = (self.sessions[session as usize].core, self.time());
        let queue = &mut self.queues[core];
        if queue.held.is_empty() || queue.discipline.newest_first(now) {
            queue.decide_at = self.now;
        }
        self.sessions[session as usize].queued_at = self.now;
        queue.held.push_back((session, self.now));
        self.call_dispatcher(core);
    }

    pub(super) fn user(&self, session: u32) -> User {
        self.sessions[session as usize].customer.user
    }

    /// What the gate knows at a decision.
    pub(super) fn moment(&self, allowed_backlog: Duration) -> Moment {
        let Reading { in_flight_handshakes, in_flight_requests, .. } = self.reading;
        let priced_s = self.reading.in_flight_handshake_cpu_s;
        Moment {
            handshakes: in_flight_handshakes,
            handshake_cpu: priced_s.map(|cpu_s| Duration::from_secs_f64(cpu_s.max(0.0))),
            requests: in_flight_requests,
            allowed_backlog,
            entry: Entry::Average,
        }
    }

    /// A handshake that begins so is charged its price.
    fn charge(&mut self, session: u32, entry: Entry) {
        self.reading.in_flight_handshakes += 1;
        let price_s = self.policy.price(entry).map(|price| price.as_secs_f64());
        self.sessions[session as usize].price_s = price_s.unwrap_or(0.0);
        if let Some(price_s) = price_s {
            *self.reading.in_flight_handshake_cpu_s.get_or_insert_default() += price_s;
        }
    }

    /// The handshake of a session is no longer in flight.
    pub(super) fn handshake_ends(&mut self, session: u32) {
        self.reading.in_flight_handshakes -= 1;
        let price_s = self.sessions[session as usize].price_s;
        let none = self.reading.in_flight_handshakes == 0;
        if let Some(sum_s) = &mut self.reading.in_flight_handshake_cpu_s {
            *sum_s = if none { 0.0 } else { (*sum_s - price_s).max(0.0) };
        }
    }

    /// The kind of a session's full handshakes; `None`: it has none.
    pub(super) fn kind(&self, session: u32) -> Option<FullHandshake> {
        match self.tls(session).entry() {
            Entry::Full(kind) => Some(kind),
            _ => None,
        }
    }

    /// The place in a core's queue of the session that is next.
    fn next_place(&self, core: usize, newest_first: bool) -> Option<usize> {
        let held = &self.queues[core].held;
        if self.policy.cheapest_first() {
            let cost = |place: &usize| self.tls(held[*place].0).full();
            return (0..held.len()).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        }
        held.len().checked_sub(1).map(|last| if newest_first { last } else { 0 })
    }

    /// Work was done on a core: another decision is worthwhile there, whatever the last
    /// one was.
    pub(super) fn decide_soon(&mut self, core: usize) {
        if !self.queues[core].held.is_empty() {
            self.queues[core].decide_at = self.now;
            self.call_dispatcher(core);
        }
    }

    fn call_dispatcher(&mut self, core: usize) {
        if !std::mem::replace(&mut self.queues[core].is_called, true) {
            self.queue_dispatcher(core, Stage::Called);
        }
    }

    /// A dispatcher's timer fires.
    pub(super) fn dispatcher_timer_fires(&mut self, core: usize) {
        // Unless an earlier turn has set it to another time.
        if self.now >= self.queues[core].comes_at {
            self.call_dispatcher(core);
        }
    }

    /// Admits sessions of a core's queue as the policy decides, and refuses those whose
    /// time is over or for which there is no room; before that, those that the policy
    /// gives up.
    pub(super) fn dispatch(&mut self, core: usize) {
        self.queues[core].is_called = false;
        let (gate, time) = (&self.scenario.gate, self.time());
        let share = gate.hold_sessions.div_ceil(self.queues.len());
        let most = if gate.hold_s == 0.0 { 0 } else { share };
        // Sessions above the length of the queue are refused below: where none is held,
        // each is decided on once.
        while self.queues[core].held.len() <= most
            && let Some((_, since)) = self.queues[core].held.front().copied()
        {
            let waited = Duration::from_secs_f64((self.now - since).max(0.0));
            if !self.policy.drops_oldest(time, waited) {
                break;
            }
            self.refuse_oldest(core);
        }
        while self.now >= self.queues[core].decide_at {
            let queue = &self.queues[core];
            let newest_first = queue.discipline.newest_first(time);
            let Some(place) = self.next_place(core, newest_first) else { break };
            let (session, since) = queue.held[place];
            // The end of the connection follows its hello.
            let gone = self.sessions[session as usize].gone;
            let oldest = queue.held.front().map_or(self.now, |(_, since)| *since);
            let waited = Duration::from_secs_f64((self.now - oldest).max(0.0));
            // In the room it has shaken hands.
            let in_room = self.sessions[session as usize].in_room;
            let entry = if in_room { Entry::Clear } else { self.tls(session).entry() };
            let moment =
                Moment { entry, ..self.moment(queue.discipline.allowed_backlog(time, waited)) };
            let decision = (!gone).then(|| self.policy.decide(time, self.user(session), moment));
            let queue = &mut self.queues[core];
            if let Some(Decision::NotNow { retry_after }) = decision
                && !self.policy.refuses_one()
            {
                let after = Discipline::ask_again_after(retry_after);
                queue.decide_at = self.now + after.as_secs_f64();
                break;
            }
            queue.held.remove(place);
            match decision {
                Some(Decision::Admit) => {
                    queue.discipline.admits(time);
                    self.waited_to_admission(session, since);
                    self.admit(session);
                }
                Some(Decision::NotNow { .. }) => self.turn_away(session),
                None => self.turn_away(session),
            }
        }
        let queue = &mut self.queues[core];
        let oldest = queue.held.front().map_or(0.0, |(_, since)| self.now - since);
        let oldest = Duration::from_secs_f64(oldest.max(0.0));
        queue.discipline.waits(time, queue.held.len(), oldest);
        while let Some((_, since)) = self.queues[core].held.front() {
            let queue = &self.queues[core];
            let expires = since + queue.longest_wait_s(time);
            if queue.held.len() <= most && self.now < expires {
                let comes_at = expires.min(queue.decide_at);
                self.queues[core].comes_at = comes_at;
                self.schedule(comes_at, Event::Dispatcher(core));
                break;
            }
            self.refuse_oldest(core);
        }
    }

    fn refuse_oldest(&mut self, core: usize) {
        if let Some((session, _)) = self.queues[core].held.pop_front() {
            self.turn_away(session);
        }
    }

    /// A session leaves the queue without having been admitted: it is refused, or its
    /// customer has hung up.
    fn turn_away(&mut self, session: u32) {
        let (now, s) = (self.time(), &self.sessions[session as usize]);
        let queue = &mut self.queues[s.core];
        if s.gone {
            let age = Duration::from_secs_f64((s.gone_at - s.queued_at).max(0.0));
            queue.discipline.hangs_up(now, age);
            if s.customer.attacker.is_none() {
                self.count(|outcome| &mut outcome.hung_up);
            }
        } else if !s.place.is_some_and(|place| place.asks()) {
            // Those of the room are as many as are to wait, and ask again.
            queue.discipline.refuses(now);
        }
        if !self.stays(session) {
            self.refuse(session);
        }
    }

    /// Notes how long a customer was in the queue who is admitted now.
    fn waited_to_admission(&mut self, session: u32, since: f64) {
        let attacker = self.sessions[session as usize].customer.attacker.is_some();
        if !attacker && self.is_watched() {
            self.outcome.admission_waits_s.push(self.now - since);
        }
    }

    pub(super) fn refuse(&mut self, session: u32) {
        let s = &mut self.sessions[session as usize];
        let (left_before, spent, attacker) = (s.gone, s.spent, s.customer.attacker);
        let was_inside = s.request > 0;
        s.gone = true;
        if !was_inside {
            self.outcome.wasted_cpu_s += spent;
            if attacker.is_none() {
                self.count(|outcome| &mut outcome.refused);
                self.tenth.refused += 1;
            }
        } else if !left_before {
            self.count(|outcome| &mut outcome.cut_off);
            self.tenth.refused += 1;
            self.abandons(session);
        }
        if !left_before {
            self.has_failed(session);
        }
    }

    fn admit(&mut self, session: u32) {
        let s = &mut self.sessions[session as usize];
        let (attacker, was_inside) = (s.customer.attacker.is_some(), s.request > 0);
        s.inside = true;
        self.active += 1;
        self.reading.sessions_started += 1;
        self.reading.new.connections += 1;
        let from_room = self.is_admitted(session);
        if attacker {
            self.count(|outcome| &mut outcome.attacks.1);
        } else if !was_inside {
            self.tenth.admitted += 1;
            self.count(|outcome| &mut outcome.admitted);
        }
        if from_room {
            return self.forward(session);
        }
        self.charge(session, self.tls(session).entry());
        if !self.is_in_clear(session) {
            self.count(|outcome| &mut outcome.full_handshakes);
        }
        let work = self.tls(session).full() * self.scenario.factors(self.now).1;
        self.submit_to_core(session, Stage::Handshake, work);
    }

    pub(super) fn returns(&mut self, session: u32) {
        self.begins_request(session);
        self.policy.returning(self.time());
        self.reading.returning.connections += 1;
        self.charge(session, Entry::Average);
        self.count(|outcome| &mut outcome.resumed_handshakes);
        let work = self.tls(session).resumed() * self.scenario.factors(self.now).1;
        self.submit_to_core(session, Stage::Handshake, work);
    }

    /// How somebody connects; attackers as the scenario's work says.
    pub(super) fn tls(&self, session: u32) -> HandshakeMix {
        match self.sessions[session as usize].customer.attacker {
            Some(_) => self.usual_tls,
            None => self.class(session).tls.unwrap_or(self.usual_tls),
        }
    }

    pub(super) fn is_in_clear(&self, session: u32) -> bool {
        self.tls(session) == HandshakeMix::Clear
    }

    /// Sends a reading to the policy, which may be late or wrong.
    pub(super) fn tick(&mut self) {
        let (scenario, telemetry) = (self.scenario, &self.scenario.telemetry);
        self.schedule(self.now + scenario.gate.tick_s, Event::Tick);
        if telemetry.blind.is_none_or(|(from, until)| !(from..until).contains(&self.now)) {
            let reading = self.read();
            self.readings.under_way.push_back((self.now + telemetry.late_s, reading));
        }
        while let Some((_, reading)) =
            self.readings.under_way.pop_front_if(|(at, _)| *at <= self.now + 1e-9)
        {
            self.policy.observe(self.time(), &reading);
        }
        self.tends_room();
    }

    fn read(&mut self) -> Reading {
        let scenario = self.scenario;
        let elapsed_s = self.now - std::mem::replace(&mut self.readings.sent_s, self.now);
        let idle = self.hosts.iter_mut().map(|host| {
            host.advance(self.now);
            std::mem::take(&mut host.unused) / elapsed_s
        });
        let idle: Vec<f64> = idle.collect();
        let telemetry = &scenario.telemetry;
        let [gate, upstream] = [Resource::Gate, Resource::Upstream].map(|resource| {
            let program = resource as usize;
            let host = self.host_of[program];
            let used = self.hosts[host].used[program];
            let used_cpu_s = used - std::mem::replace(&mut self.readings.used[program], used);
            let every_s = telemetry.told_every_s;
            let used_cpu_s = if every_s > 0.0 && resource == Resource::Upstream {
                self.readings.told.rate(self.now, used, every_s).map(|rate| rate * elapsed_s)
            } else {
                Some(used_cpu_s)
            };
            let capacity_cpus = self.readings.capacity[program];
            let idle = (idle[host] / capacity_cpus).min(1.0);
            let mut factor = telemetry.use_factor;
            if telemetry.noise > 0.0 {
                factor *= 1.0 + telemetry.noise * (2.0 * self.noise.uniform() - 1.0);
            }
            Usage {
                capacity_cpus: capacity_cpus * telemetry.capacity_factor,
                used_cpu_s: used_cpu_s.filter(|_| telemetry.has_use).map(|used| used * factor),
                idle: telemetry.has_idle.then_some((1.0 - (1.0 - idle) * factor).max(0.0)),
            }
        });
        let used_cpu_s = gate.used_cpu_s.zip(upstream.used_cpu_s).map(|(gate, up)| gate + up);
        let share = scenario.upstream.cores.is_none() && scenario.upstream.visible;
        let relay = scenario.upstream.relay_s.map(|each_s| {
            let used_s = each_s * self.reading.upstream_responses as f64;
            let idle = Some((1.0 - used_s / elapsed_s).max(0.0));
            Usage { capacity_cpus: 1.0, used_cpu_s: Some(used_s), idle }
        });
        let seen = relay.or(scenario.upstream.visible.then_some(upstream));
        let lost = telemetry.unseen_from_s.is_some_and(|from_s| self.now >= from_s);
        let seen = seen.filter(|_| !lost);
        let next = Reading {
            in_flight_handshakes: self.reading.in_flight_handshakes,
            in_flight_handshake_cpu_s: self.reading.in_flight_handshake_cpu_s,
            in_flight_requests: self.reading.in_flight_requests,
            routes: vec![RouteWork::default(); self.reading.routes.len()],
            ..Reading::default()
        };
        self.thinking.tick();
        let mut thoughts = CensusCounts::default();
        self.thinking.add_to(&mut thoughts);
        let before = std::mem::replace(&mut self.thoughts, thoughts);
        let reading = Reading {
            elapsed: Duration::from_secs_f64(elapsed_s),
            usage: ByResource::default()
                .with(ResourceName::Gate, gate)
                .with(ResourceName::Upstream, seen)
                .with(ResourceName::Host, share.then_some(Usage { used_cpu_s, ..gate })),
            held: self.queues.iter().map(|queue| queue.held.len() as u32).sum(),
            sessions_active: self.active,
            thinking: thoughts.thinking,
            requests_by_age: thoughts.requests_since(&before),
            ..std::mem::replace(&mut self.reading, next)
        };
        miscounted(reading, telemetry.count_factor)
    }
}

/// The same with so many times its counts.
fn miscounted(reading: Reading, factor: f64) -> Reading {
    let sessions_active = times(reading.sessions_active.into(), factor) as u32;
    let thinking = reading.thinking.map(|thinking| times(thinking, factor));
    Reading { sessions_active, thinking, ..reading.counting(factor) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scenario, Telemetry};
    use crate::world::run;
    use crate::world::tests::Open;

    fn told(telemetry: Telemetry) -> Reading {
        let scenario =
            Scenario { duration_s: 3.0, watch_from_s: 0.0, telemetry, ..Scenario::default() };
        let mut listener = Open::default();
        run(&scenario, 0.5, 1, &mut listener);
        listener.0.pop().unwrap()
    }

    #[test]
    fn readings_are_as_wrong_or_as_scarce_as_they_are_said_to_be() {
        let right = told(Telemetry::default());
        let busy = 1.0 - right.gate().idle.unwrap();
        assert!(busy > 0.2, "{right:?}");
        let half = told(Telemetry { use_factor: 0.5, ..Telemetry::default() });
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let host = |reading: &Reading| reading.usage_of(ResourceName::Host).unwrap();
        let used = |reading: &Reading| host(reading).used_cpu_s.unwrap();
        assert!(close(used(&half), used(&right) / 2.0));
        assert!(close(1.0 - host(&half).idle.unwrap(), busy / 2.0), "{half:?}");
        let nothing = told(Telemetry { has_use: false, has_idle: false, ..Telemetry::default() });
        assert_eq!(nothing.usage.iter().count(), 3);
        for (_, usage) in nothing.usage.iter() {
            assert_eq!((usage.used_cpu_s, usage.idle), (None, None));
        }
        let factors = Telemetry { capacity_factor: 3.0, count_factor: 2.0, ..Telemetry::default() };
        let wrong = told(factors);
        assert!(close(host(&wrong).capacity_cpus, 3.0));
        assert_eq!(wrong.new.requests, 2 * right.new.requests);
        assert_eq!(wrong.sessions_active, 2 * right.sessions_active);
        assert_eq!(wrong.new.request_cpu_s, right.new.request_cpu_s);
    }
}
