//! Customers and attackers: arrivals, requests and departures.

use super::{Customer, Event, LinePlace, Session, Stage, World};
use crate::distribution::Distribution;
use crate::handshake_mix::HandshakeMix;
use crate::policy::User;
use crate::random::Random;
use crate::scenario::{AfterFailure, AttackKind, Customers};
use tidegate_control::Priority;

/// After so long a system asks for a connection again, and after twice as long
/// each time from then on.
///
/// Source: RFC 6298, section 2: the initial retransmission time, doubled.
const REDIAL_S: f64 = 1.0;

impl<'a> World<'a> {
    pub(super) fn schedule_arrival(&mut self) {
        let until = self.scenario.duration_s;
        if let Some(at) = self.stream.next(self.now, until) {
            self.schedule(at, Event::Arrival);
        }
    }

    pub(super) fn schedule_attack(&mut self, index: usize) {
        let attack = &self.scenario.attacks[index];
        let rate = attack.load * self.capacity_per_s;
        if rate > 0.0 {
            let at = self.now.max(attack.from_s) + self.attackers[index].exponential(1.0 / rate);
            if at < attack.until_s {
                self.schedule(at, Event::Attack(index));
            }
        }
    }

    pub(super) fn arrives(&mut self) {
        if self.scenario.arrivals.closed.is_none() {
            self.schedule_arrival();
        }
        // Each customer has numbers of their own, the same whatever becomes of others.
        let mut random = self.customers.split();
        let draw = random.uniform();
        let mut sum = 0.0;
        let class = self.scenario.customers.iter().position(|class| {
            sum += self.scenario.share(class, self.now);
            draw <= sum + 1e-9
        });
        let class = class.unwrap_or(0);
        let length = self.scenario.customers[class].requests.draw(&mut random);
        let any = (random.uniform() * 7.999) as u8;
        let prefix = self.scenario.customers[class].prefix.unwrap_or(any);
        let user = user(&mut random);
        self.best.comes(class, length);
        let class = class as u16;
        self.begins(Customer { class, prefix, user, length, attacker: None, random }, 0);
    }

    pub(super) fn comes_back(&mut self, session: u32) {
        let Session { ref customer, attempt, counted, .. } = self.sessions[session as usize];
        let (customer, place) = (customer.clone(), self.sessions[session as usize].place);
        self.count(|outcome| &mut outcome.retries);
        let again = self.begins(customer, attempt + 1);
        let again = &mut self.sessions[again as usize];
        (again.counted, again.place) = (counted, place.map(LinePlace::kept));
    }

    pub(super) fn attacks(&mut self, index: usize) {
        self.schedule_attack(index);
        self.best.is_attacked();
        // They come from one place.
        let mut random = self.attackers[index].split();
        let (user, attacker) = (user(&mut random), Some(self.scenario.attacks[index].kind));
        self.begins(Customer { class: 0, prefix: 0, user, length: 1, attacker, random }, 0);
    }

    fn begins(&mut self, mut customer: Customer, attempt: u32) -> u32 {
        let session = self.sessions.len() as u32;
        let (attacker, left) = (customer.attacker, customer.length);
        let returning = attacker == Some(AttackKind::SharedTicket) && self.ticket_is_good();
        self.sessions.push(Session {
            random: customer.random.split(),
            customer,
            attempt,
            core: 0,
            left,
            request: 0,
            intended_at: self.now,
            idle_since: self.now,
            price_s: 0.0,
            spent: 0.0,
            worth: 0.0,
            counted: self.is_watched(),
            first: true,
            forwarded_at: None,
            returning,
            gone: false,
            gone_at: 0.0,
            queued_at: 0.0,
            completed: false,
            inside: false,
            place: None,
            in_room: false,
            impatient_at: f64::INFINITY,
            thinks_since: None,
        });
        if attempt == 0 {
            self.count_group(session, |group| &mut group.offered);
        }
        if attacker.is_none() && self.class(session).known {
            self.is_known(session);
        }
        if attacker.is_some() {
            self.count(|outcome| &mut outcome.attacks.0);
        } else {
            self.tenth.offered += 1;
            self.count(|outcome| &mut outcome.offered);
            self.becomes_impatient(session);
        }
        self.dials(session);
        session
    }

    /// The customer has a ticket of an earlier visit.
    fn is_known(&mut self, session: u32) {
        let s = &mut self.sessions[session as usize];
        (s.returning, s.inside) = (true, true);
        self.active += 1;
        self.tenth.admitted += 1;
        self.count(|outcome| &mut outcome.admitted);
    }

    /// A customer asks for something now, and will not wait for it for longer than their patience.
    pub(super) fn becomes_impatient(&mut self, session: u32) {
        let impatient_at = self.now + self.draws(session, |class| &class.patience);
        let s = &mut self.sessions[session as usize];
        s.impatient_at = impatient_at;
        let impatient = Event::Impatience(session, s.request);
        self.schedule(impatient_at, impatient);
    }

    /// Opens a connection, whose hello arrives after one and a half round trips. Its
    /// addresses and ports decide which of the gate's cores it is on.
    pub(super) fn dials(&mut self, session: u32) {
        let cores = self.queues.len();
        if cores > 1 {
            let Session { random, core, .. } = &mut self.sessions[session as usize];
            *core = ((random.uniform() * cores as f64) as usize).min(cores - 1);
        }
        let rtt_s = self.class(session).rtt_s;
        if rtt_s > 0.0 {
            let request = self.sessions[session as usize].request;
            self.schedule(self.now + 1.5 * rtt_s, Event::Hello(session, request));
        } else {
            self.connects(session, 0);
        }
    }

    /// Sends a request, which arrives after so many round trips.
    pub(super) fn sends(&mut self, session: u32, round_trips: f64) {
        let after_s = round_trips * self.class(session).rtt_s;
        if after_s > 0.0 {
            let request = self.sessions[session as usize].request;
            self.schedule(self.now + after_s, Event::Request(session, request));
        } else {
            self.forward(session);
        }
    }

    /// The response is on its way, and arrives after half a round trip.
    pub(super) fn receives(&mut self, session: u32) {
        let after_s = 0.5 * self.class(session).rtt_s;
        if after_s > 0.0 {
            let request = self.sessions[session as usize].request;
            self.schedule(self.now + after_s, Event::Response(session, request));
        } else {
            self.answered(session);
        }
    }

    /// Asks for a connection, on the nth retry; 0: for the first time.
    fn connects(&mut self, session: u32, retry: u32) {
        if self.stations[self.core_station(session)].is_full() {
            let request = self.sessions[session as usize].request;
            let after_s = REDIAL_S * 2_f64.powi(retry.min(6) as i32);
            self.schedule(self.now + after_s, Event::Redial(session, request, retry + 1));
        } else {
            self.submit_to_core(session, Stage::Accept, self.scenario.work.accept);
        }
    }

    /// Retries a connection that was not answered, if the customer still waits for it.
    pub(super) fn redials(&mut self, session: u32, request: u32, retry: u32) {
        let s = &self.sessions[session as usize];
        if !s.gone && s.request == request {
            self.connects(session, retry);
        }
    }

    /// Whether the shared ticket is still within its session's own rate.
    fn ticket_is_good(&mut self) -> bool {
        let (rate, burst) = self.scenario.gate.session_rate;
        let (tokens, at) = self.shared_ticket;
        let tokens = (tokens + (self.now - at) * rate).min(burst);
        let good = tokens >= 1.0;
        self.shared_ticket = (if good { tokens - 1.0 } else { tokens }, self.now);
        good
    }

    pub(super) fn next_request(&mut self, session: u32) {
        let s = &mut self.sessions[session as usize];
        s.request += 1;
        s.intended_at = self.now;
        let closed = self.now - s.idle_since > self.scenario.gate.keep_alive_s;
        self.becomes_impatient(session);
        if closed {
            self.reconnects(session);
            self.dials(session);
        } else {
            self.sends(session, 0.5);
        }
    }

    /// Somebody who was let in before opens another connection.
    fn reconnects(&mut self, session: u32) {
        let share = self.class(session).resumes();
        let forgotten_at = self.counted_until(session);
        let s = &mut self.sessions[session as usize];
        s.returning = share >= 1.0 || s.random.uniform() <= share;
        let was_inside = std::mem::replace(&mut s.inside, s.returning);
        if s.returning && !was_inside {
            self.active += 1;
        } else if was_inside && !s.returning {
            // The gate cannot know that it is the same session, and still expects it.
            let since = self.sessions[session as usize]
                .thinks_since
                .take()
                .expect("the session was thinking");
            self.schedule(forgotten_at, Event::Forgotten(since));
        }
    }

    /// Until when a session counts as inside that has no request under way.
    fn counted_until(&self, session: u32) -> f64 {
        let (s, gate) = (&self.sessions[session as usize], &self.scenario.gate);
        // A session in clear ends with its connection: nobody can come back to it.
        let lingers =
            s.customer.attacker.is_some() || self.class(session).tls != Some(HandshakeMix::Clear);
        s.idle_since + gate.keep_alive_s + if lingers { gate.linger_s } else { 0.0 }
    }

    pub(super) fn loses_patience(&mut self, session: u32, request: u32) {
        let s = &self.sessions[session as usize];
        // The idle time begins with the answer: no later request, so answered.
        // Nor is a wait that ended with a page of the waiting room one for the next page.
        let is_answered = s.idle_since > s.intended_at || self.now < s.impatient_at;
        if s.gone || s.request != request || is_answered {
            return;
        }
        if s.was_let_in() && self.is_watched() {
            let waited = self.now - s.intended_at;
            self.outcome.waits_s.push(waited);
        }
        self.leaves_early(session);
    }

    /// A customer leaves with the session incomplete.
    pub(super) fn leaves_early(&mut self, session: u32) {
        let s = &mut self.sessions[session as usize];
        (s.gone, s.gone_at) = (true, self.now);
        self.ends_request(session, None);
        let Session { inside, request, .. } = self.sessions[session as usize];
        if inside || request > 0 {
            self.abandons(session);
        }
        if inside {
            self.leaves(session);
        }
        self.has_failed(session);
    }

    pub(super) fn has_failed(&mut self, session: u32) {
        if self.sessions[session as usize].customer.attacker.is_some() {
            return;
        }
        if self.class(session).priority == Priority::High {
            self.count(|outcome| &mut outcome.high.1);
        }
        if let AfterFailure::Returns { back_off_s, times } = self.class(session).after_failure
            && self.sessions[session as usize].attempt < times
        {
            let customer = &mut self.sessions[session as usize].customer;
            let at = self.now + customer.random.exponential(back_off_s);
            self.schedule(at, Event::ComesBack(session));
        } else {
            self.is_followed(session);
        }
    }

    /// In a closed loop, the next session follows one that has ended.
    pub(super) fn is_followed(&mut self, session: u32) {
        if self.scenario.arrivals.closed.is_some() {
            let think_s = self.draws(session, |class| &class.think);
            self.schedule(self.now + think_s, Event::Arrival);
        }
    }

    /// A session that was admitted came to nothing.
    pub(super) fn abandons(&mut self, session: u32) {
        let s = &self.sessions[session as usize];
        self.outcome.wasted_cpu_s += s.spent;
        if s.customer.attacker.is_none() {
            self.outcome.dropped += s.worth;
            self.count_group(session, |group| &mut group.abandoned);
            self.count(|outcome| &mut outcome.abandoned);
            self.tenth.abandoned += 1;
        }
    }

    pub(super) fn answered(&mut self, session: u32) {
        let now = self.now;
        let s = &mut self.sessions[session as usize];
        let took = now - s.intended_at;
        let worth = self.worth.of_request[s.customer.class as usize][usize::from(!s.first)];
        (s.idle_since, s.first, s.left) = (now, false, s.left - 1);
        let (done, request, attacker) = (s.left == 0, s.request, s.customer.attacker);
        let counted_until = self.counted_until(session);
        if let Some(kind) = attacker {
            self.count_group(session, |group| &mut group.completed);
            self.sessions[session as usize].gone = true;
            if kind == AttackKind::Lingering {
                self.schedule(counted_until, Event::Left(session, request));
            } else if self.sessions[session as usize].inside {
                self.leaves(session);
            }
            return;
        }
        if self.is_watched() {
            if self.class(session).priority == Priority::High {
                self.outcome.high.0 += 1;
            }
            self.outcome.answered += 1;
            self.sessions[session as usize].worth += worth;
            self.outcome.waits_s.push(took);
        }
        self.tenth.responses += 1;
        self.tenth.carried += worth;
        self.tenth.response_time_s += took;
        if done {
            self.completes(session, counted_until);
            return;
        }
        let think = self.draws(session, |class| &class.think);
        if now + think > counted_until {
            self.schedule(counted_until, Event::Left(session, request));
        }
        self.schedule(now + think, Event::NextRequest(session));
    }

    fn completes(&mut self, session: u32, counted_until: f64) {
        let s = &mut self.sessions[session as usize];
        (s.gone, s.completed) = (true, true);
        let (request, worth) = (s.request, s.worth);
        self.tenth.completed += 1;
        self.outcome.carried += worth;
        self.count(|outcome| &mut outcome.completed);
        self.count_group(session, |group| &mut group.completed);
        self.is_followed(session);
        if self.class(session).close_when_done {
            self.leaves(session);
        } else {
            self.schedule(counted_until, Event::Left(session, request));
        }
    }

    /// Who is inside has nothing under way from now on.
    pub(super) fn thinks(&mut self, session: u32) {
        let s = &mut self.sessions[session as usize];
        if s.inside && s.thinks_since.is_none() {
            s.thinks_since = Some(self.thinking.begins());
        }
    }

    /// A session makes a request; it was thinking, or is new.
    pub(super) fn begins_request(&mut self, session: u32) {
        if let Some(since) = self.sessions[session as usize].thinks_since.take() {
            self.thinking.requests(since);
        }
    }

    pub(super) fn leaves(&mut self, session: u32) {
        if let Some(since) = self.sessions[session as usize].thinks_since.take() {
            self.thinking.ends(since);
        }
        self.sessions[session as usize].inside = false;
        self.active -= 1;
    }

    pub(super) fn class(&self, session: u32) -> &'a Customers {
        &self.scenario.customers[self.sessions[session as usize].customer.class as usize]
    }

    pub(super) fn draws(
        &mut self,
        session: u32,
        what: impl Fn(&Customers) -> &Distribution,
    ) -> f64 {
        what(self.class(session)).draw(&mut self.sessions[session as usize].random)
    }
}

/// The number that a customer keeps, whatever the policy.
fn user(random: &mut Random) -> User {
    User((random.uniform() * 255.999) as u8)
}
