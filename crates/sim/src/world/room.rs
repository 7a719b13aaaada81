//! The waiting room: the gate's line, threshold, estimates and share of the processors, and what
//! customers do with their pages.
//!
//! Everybody in it opens a connection for each page. A newcomer shakes hands in full, later pages
//! resume.

use super::{Event, Stage, World};
use crate::random::Random;
use crate::room::Stay;
use crate::scenario::Waits;
use std::time::Duration;
use tidegate_control::waiting_room::{
    Asks, Order, Standing, WaitingId, WaitingRoom, WaitingToken, least_refresh,
};

/// The time at the start of a run, in milliseconds since 1970.
const START_MS: f64 = 1.7e12;
/// Admissions begin at once, and nothing closes the line.
const ORDER: Order = Order { opens_ms: None, shut: false };

/// The room of the simulated gate.
pub(super) struct Room {
    line: WaitingRoom,
    random: Random,
    /// Its share of the processors, in CPU seconds per second.
    per_s: f64,
    page_s: f64,
    spent_s: f64,
    /// Requests that wait for the controller.
    asking: u64,
    /// CPU seconds spent, and pages made, up to the last tick.
    ticked: (f64, u64),
    pages: u64,
}

/// A place in the line, as its customer knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinePlace {
    token: WaitingToken,
    /// When the customer gives up.
    leaves_at: f64,
    /// When they were promised which wait, in seconds.
    estimate: Option<(f64, f64)>,
    /// When they asked for their last page.
    asked_at: f64,
    /// The longest time between two of their pages, in seconds.
    longest_gap_s: f64,
    /// A request of theirs waits for the controller. The page that they get if it says no.
    asks: Option<Duration>,
}

impl LinePlace {
    /// Whether the customer has asked for admission and has no answer yet.
    pub(super) fn asks(&self) -> bool {
        self.asks.is_some()
    }

    /// The same in another attempt: their cookie.
    pub(super) fn kept(self) -> Self {
        Self { asks: None, ..self }
    }
}

impl Room {
    pub(super) fn new(share: f64, page_s: f64, cores: f64, random: Random) -> Self {
        Self {
            line: WaitingRoom::default(),
            random,
            per_s: share * cores,
            page_s,
            spent_s: 0.0,
            asking: 0,
            ticked: (0.0, 0),
            pages: 0,
        }
    }

    fn spent_ns(&self) -> u64 {
        (self.spent_s * 1e9) as u64
    }

    fn new_id(&mut self) -> WaitingId {
        [(); 16].map(|()| (self.random.uniform() * 256.0) as u8)
    }
}

impl World<'_> {
    fn unix_ms(&self) -> u64 {
        (START_MS + self.now * 1e3) as u64
    }

    /// A connection without a session of its own that the gate knows: into the room if its
    /// customer has a place, or others wait; else into the queue.
    pub(super) fn comes_new(&mut self, session: u32) {
        let s = &self.sessions[session as usize];
        let has_place = s.place.is_some();
        let is_customer = s.customer.attacker.is_none();
        match &self.room {
            Some(room) if is_customer && (has_place || room.line.someone_is_first()) => {
                if !has_place && !s.was_let_in() {
                    self.policy.offered();
                    self.counts_refusal();
                }
                self.enters_room(session);
            }
            _ => self.is_queued(session),
        }
    }

    /// A session is not admitted. Whether it is one of the room, where it stays or which it
    /// enters.
    pub(super) fn stays(&mut self, session: u32) -> bool {
        let now_ms = self.unix_ms();
        let Some(room) = &mut self.room else { return false };
        let s = &mut self.sessions[session as usize];
        let asks = s.place.as_mut().and_then(|place| Some((place.asks.take()?, place.token)));
        if let Some((refresh, token)) = asks {
            room.line.asks_no_more(&token, ORDER, now_ms);
            room.asking -= 1;
            if !s.gone {
                self.gets_page(session, refresh);
            }
            return true;
        }
        if s.gone || s.customer.attacker.is_some() {
            return false;
        }
        if !s.was_let_in() {
            self.counts_refusal();
        }
        self.enters_room(session);
        true
    }

    fn counts_refusal(&mut self) {
        self.count(|outcome| &mut outcome.refused);
        self.tenth.refused += 1;
    }

    /// Begins a handshake for the room, if its share of the processors allows one.
    fn enters_room(&mut self, session: u32) {
        let time = self.time();
        let work = self.room_handshake(session);
        let Some(room) = &mut self.room else { return };
        let s = &mut self.sessions[session as usize];
        if !room.line.cpu.begins(asks(s.place), room.per_s, room.spent_ns(), time) {
            return self.is_beyond(session);
        }
        s.in_room = true;
        self.submit_to_core(session, Stage::RoomHandshake, work);
    }

    /// CPU time of a customer's handshake with the room.
    fn room_handshake(&self, session: u32) -> f64 {
        let tls = self.tls(session);
        let work = match asks(self.sessions[session as usize].place) {
            Asks::Stranger => tls.full(),
            Asks::Waiting => tls.resumed(),
        };
        work * self.scenario.factors(self.now).1
    }

    /// Beyond the room's share: the connection is reset.
    fn is_beyond(&mut self, session: u32) {
        let s = &mut self.sessions[session as usize];
        s.in_room = false;
        if s.was_let_in() {
            return self.refuse(session);
        }
        s.gone = true;
        self.outcome.wasted_cpu_s += s.spent;
        self.has_failed(session);
    }

    /// Work of the room is done.
    fn charge_room(&mut self, cpu_s: f64) {
        if let Some(room) = &mut self.room {
            room.spent_s += cpu_s;
        }
        if self.is_watched() {
            self.outcome.room.cpu_s += cpu_s;
        }
    }

    pub(super) fn room_handshake_ends(&mut self, session: u32, work: f64, wanted: bool) {
        self.charge_room(work);
        let asks = asks(self.sessions[session as usize].place);
        if let Some(room) = &self.room {
            room.line.cpu.ends(asks);
        }
        if wanted {
            self.sends(session, 1.0);
        }
    }

    /// A request on a connection of the room has arrived.
    pub(super) fn asks_for_page(&mut self, session: u32) {
        let page_s = self.room.as_ref().map_or(0.0, |room| room.page_s);
        self.submit_to_core(session, Stage::Page, page_s);
    }

    /// The gate has read a request of the room: it joins its session, asks the controller, or is
    /// answered by a page.
    pub(super) fn answers_in_room(&mut self, session: u32, work: f64, wanted: bool) {
        self.charge_room(work);
        let (time, now_ms) = (self.time(), self.unix_ms());
        let s = &mut self.sessions[session as usize];
        if !wanted {
            return;
        }
        if s.was_let_in() {
            // By the cookie of their session.
            (s.in_room, s.inside) = (false, true);
            self.active += 1;
            return self.forward(session);
        }
        let Some(room) = &mut self.room else { return };
        if !room.line.cpu.allows_page(Asks::Waiting, room.per_s, room.spent_ns(), time) {
            return self.is_beyond(session);
        }
        let id = room.new_id();
        let shown = s.place.map(|place| place.token);
        let Some(standing) = room.line.visit(shown, ORDER, now_ms, || Some(id)) else {
            return self.is_beyond(session);
        };
        room.pages += 1;
        self.stands(session, &standing);
        if standing.may_ask {
            self.asks(session, standing.refresh);
        } else {
            self.gets_page(session, standing.refresh);
        }
    }

    /// A customer's place as of now.
    fn stands(&mut self, session: u32, standing: &Standing) {
        let token = standing.token;
        let asked_at = self.sessions[session as usize].intended_at;
        let known = self.sessions[session as usize].place;
        let place = match known.filter(|place| place.token.id == token.id) {
            Some(place) => {
                let longest_gap_s = place.longest_gap_s.max(asked_at - place.asked_at);
                LinePlace { token, longest_gap_s, asked_at, ..place }
            }
            None => {
                let leaves_at = self.now + self.draws(session, |class| &class.waits.patience);
                LinePlace {
                    token,
                    leaves_at,
                    estimate: None,
                    asked_at,
                    longest_gap_s: 0.0,
                    asks: None,
                }
            }
        };
        let promised = standing.estimate.map(|estimate| (self.now, estimate.wait.as_secs_f64()));
        let place = LinePlace { estimate: place.estimate.or(promised), ..place };
        self.sessions[session as usize].place = Some(place);
    }

    /// It is a customer's turn: their request is queued for the controller.
    fn asks(&mut self, session: u32, refresh: Duration) {
        if let Some(place) = &mut self.sessions[session as usize].place {
            place.asks = Some(refresh);
        }
        if let Some(room) = &mut self.room {
            room.asking += 1;
        }
        self.waits_for_decision(session);
    }

    /// A page is on its way, and its customer asks for the next one after so long, or later.
    fn gets_page(&mut self, session: u32, refresh: Duration) {
        let Waits { late, late_by_s, .. } = self.class(session).waits;
        let rtt_s = self.class(session).rtt_s;
        let s = &mut self.sessions[session as usize];
        (s.in_room, s.idle_since) = (false, self.now);
        let mut after_s = 0.5 * rtt_s + refresh.as_secs_f64();
        if s.random.uniform() < late {
            after_s += s.random.exponential(late_by_s);
        }
        let at = self.now + after_s;
        let leaves_at = s.place.map_or(f64::INFINITY, |place| place.leaves_at);
        if leaves_at <= at {
            s.gone = true;
            self.is_followed(session);
        } else {
            self.schedule(at, Event::Refresh(session));
        }
    }

    /// A customer's browser asks for the page again.
    pub(super) fn refreshes(&mut self, session: u32) {
        self.sessions[session as usize].intended_at = self.now;
        self.becomes_impatient(session);
        self.dials(session);
    }

    /// A session is admitted. Whether it comes from the room.
    pub(super) fn is_admitted(&mut self, session: u32) -> bool {
        let (now, now_ms) = (self.now, self.unix_ms());
        let Some(room) = &mut self.room else { return false };
        room.line.note_admission(now_ms);
        let s = &mut self.sessions[session as usize];
        let Some(place) = s.place.filter(|place| place.asks.is_some()) else { return false };
        (s.place, s.in_room) = (None, false);
        room.asking -= 1;
        room.line.admits(&place.token, ORDER, place.token.id, now_ms);
        if self.now >= self.scenario.watch_from_s {
            self.outcome.room.stays.push(Stay {
                came_ms: place.token.arrived_ms,
                admitted_at: now,
                longest_gap_s: place.longest_gap_s,
                estimate: place.estimate,
            });
        }
        true
    }

    /// Moves the threshold, as the gate's control loop does.
    pub(super) fn tends_room(&mut self) {
        let now_ms = self.unix_ms();
        let Some(room) = &mut self.room else { return };
        let before = std::mem::replace(&mut room.ticked, (room.spent_s, room.pages));
        let pages = room.pages - before.1;
        let each_s = if pages > 0 { (room.spent_s - before.0) / pages as f64 } else { 0.0 };
        let least = least_refresh(room.line.waiting(), each_s, room.per_s);
        room.line.tick(ORDER, room.asking, least, now_ms);
    }
}

fn asks(place: Option<LinePlace>) -> Asks {
    if place.is_some() { Asks::Waiting } else { Asks::Stranger }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Room;
    use crate::{AfterFailure, Outcome, Scenario, policies, run};

    /// A site of 16 sessions per second, with a waiting room and people for customers.
    fn site(change: impl FnOnce(&mut Scenario)) -> Scenario {
        let mut scenario = Scenario::named("waiting-room").unwrap();
        (scenario.duration_s, scenario.watch_from_s) = (90.0, 30.0);
        change(&mut scenario);
        scenario
    }

    fn at(scenario: &Scenario, load: f64) -> Outcome {
        run(scenario, load, 1, policies::named("tide", scenario).unwrap().as_mut())
    }

    #[test]
    fn customers_who_are_not_admitted_wait_and_enter_in_the_order_of_arrival() {
        let outcome = at(&site(|_| {}), 3.0);
        assert!(outcome.room.stays.len() > 500, "{}", outcome.room.stays.len());
        assert!(outcome.room.disorder().unwrap() < 0.001, "{:?}", outcome.room.disorder());
        let longest = outcome.room.stays.iter().map(|stay| stay.longest_gap_s).fold(0.0, f64::max);
        assert!(longest >= 2.0, "they refresh: {longest}");
    }

    #[test]
    fn beyond_its_share_of_the_cores_nobody_enters_the_room() {
        let share = 0.01;
        let scenario = site(|scenario| {
            scenario.gate.room = Some(Room { share, page_s: 60e-6 });
            scenario.customers[0].after_failure = AfterFailure::Leaves;
        });
        let outcome = at(&scenario, 10.0);
        let used = outcome.room.cpu_s / outcome.seconds / scenario.gate.cores;
        assert!((0.5 * share..1.1 * share).contains(&used), "{used}");
    }

    #[test]
    fn who_is_in_the_middle_of_a_visit_joins_it_whatever_the_line() {
        let scenario = site(|scenario| {
            scenario.customers[0].tickets = 0.8;
            scenario.gate.keep_alive_s = 0.5;
        });
        let outcome = at(&scenario, 3.0);
        assert!(outcome.completed > 300, "{}", outcome.completed);
        assert_eq!(outcome.cut_off, 0);
    }
}
