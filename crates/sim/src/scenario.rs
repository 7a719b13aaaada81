//! What a simulated run consists of. Times in seconds, work in CPU seconds,
//! rates per second; loads are multiples of the capacity.

use super::arrivals::Arrivals;
use super::distribution::Distribution;
use super::expectation::Expectation;
use super::handshake_mix::HandshakeMix;
use super::length::SessionLength;
use tidegate_control::Priority;

/// A service, its customers and attackers, how they come, and what changes.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name: that of its file.
    pub name: String,
    /// What it is about, in a sentence.
    pub about: String,
    /// The loads that it is run at, one run each.
    pub loads: Vec<f64>,
    /// How long a run is.
    pub duration_s: f64,
    /// From when on it is judged.
    pub watch_from_s: f64,
    /// The gate.
    pub gate: Gate,
    /// The service behind it.
    pub upstream: Upstream,
    /// The service's database, where it is a resource of its own.
    pub database: Option<Database>,
    /// What work costs.
    pub work: Work,
    /// Who comes; shares add up to 1.
    pub customers: Vec<Customers>,
    /// When they come.
    pub arrivals: Arrivals,
    /// Who means ill.
    pub attacks: Vec<Attack>,
    /// What changes on the way.
    pub changes: Vec<Change>,
    /// What the gate is told of it.
    pub telemetry: Telemetry,
    /// What must come out.
    pub expectations: Vec<Expectation>,
}

/// The gate and its host.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Cores of its host.
    pub cores: f64,
    /// Time between two readings.
    pub tick_s: f64,
    /// How long a new session is held that may not in now; 0: refused at once.
    pub hold_s: f64,
    /// Sessions held at most; one more, and the one that waits longest is refused.
    pub hold_sessions: usize,
    /// After so long without a request the connection is closed, and the next
    /// request needs a returning one.
    pub keep_alive_s: f64,
    /// How long a session counts as inside after its connection was closed idle.
    pub linger_s: f64,
    /// Connections per second of one session, and at once, beyond which it
    /// counts as new: what a shared ticket is worth.
    pub session_rate: (f64, f64),
    /// Its waiting room; `None`: who is refused is reset.
    pub room: Option<Room>,
}

/// The waiting room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Its share of the gate's cores.
    pub share: f64,
    /// CPU time of a page.
    pub page_s: f64,
}

/// The service behind the gate.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Cores of its host; `None`: it shares those of the gate.
    pub cores: Option<f64>,
    /// Requests that it works on at a time.
    pub threads: usize,
    /// Whether the gate can see its CPU time.
    pub visible: bool,
    /// CPU time of a request in a relay that the gate takes for the service.
    pub relay_s: Option<f64>,
    /// Time that a request waits for something else: no CPU, but it holds a
    /// thread. With a mean of 0 it does not wait.
    pub wait: Distribution,
    /// Pauses of the whole service, as for a garbage collection.
    pub pauses: Option<Pauses>,
}

/// Pauses of a service: requests that come in one are begun at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pauses {
    /// From the beginning of one to that of the next; the first comes after so long.
    pub every_s: f64,
    /// How long each lasts.
    pub lasts_s: f64,
}

impl Pauses {
    /// The end of the pause at a time, if there is one.
    pub(crate) fn end(&self, at_s: f64) -> Option<f64> {
        let began_s = (at_s / self.every_s).floor() * self.every_s;
        (began_s > 0.0 && at_s < began_s + self.lasts_s).then_some(began_s + self.lasts_s)
    }
}

/// The service's database on a host of its own, which the gate cannot see.
#[derive(Clone, Debug)]
pub struct Database {
    /// Cores of its host.
    pub cores: f64,
    /// Work of a request in it.
    pub request: Distribution,
}

/// What work costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Accepting a connection and reading its hello; all that a refusal costs.
    pub accept: f64,
    /// A full handshake, of classes that do not say how they connect.
    pub full_handshake: f64,
    /// A resumed handshake of these.
    pub resumed_handshake: f64,
    /// A request, in the gate.
    pub gate_request: f64,
    /// Of the gate's work on requests, the share that it spends without knowing
    /// for what.
    pub gate_unattributed: f64,
    /// The first request of a session, in the upstream.
    pub first_request: Distribution,
    /// A later request, in the upstream.
    pub later_request: Distribution,
}

impl Work {
    /// How those connect who do not say it.
    pub fn tls(&self) -> HandshakeMix {
        HandshakeMix::costing(self.full_handshake, self.resumed_handshake)
    }
}

/// A class of customers.
#[derive(Clone, Debug)]
pub struct Customers {
    /// What they are called.
    pub name: String,
    /// Their share of those who arrive; while some classes do not come, the shares of the
    /// others grow in proportion: see [`Scenario::share`].
    pub share: f64,
    /// When they come: from when until when, in seconds.
    pub comes_s: (f64, f64),
    /// The address prefix that they come from, 0 to 7; `None`: each from any.
    pub prefix: Option<u8>,
    /// Requests in a session.
    pub requests: SessionLength,
    /// Think time.
    pub think: Distribution,
    /// The longest wait for a response, drawn for each.
    pub patience: Distribution,
    /// Round-trip time between them and the gate. A new connection takes one and a half
    /// until its hello is there, a handshake one until the request is, a request and its
    /// response half of one each.
    pub rtt_s: f64,
    /// How they connect; `None`: as [`Work`] says.
    pub tls: Option<HandshakeMix>,
    /// Of the connections that they open after their first, the share that
    /// brings a ticket. Without one they are new to the gate: see
    /// [`Customers::resumes`].
    pub tickets: f64,
    /// Whether a customer who is done closes the connection, as a load driver
    /// does; a browser leaves it to the gate.
    pub close_when_done: bool,
    /// Work of their first request in the upstream; `None`: as [`Work`] says.
    pub first_request: Option<Distribution>,
    /// Work of a later one.
    pub later_request: Option<Distribution>,
    /// What both are multiplied by.
    pub weight: f64,
    /// What they do when they are refused or their patience ends.
    pub after_failure: AfterFailure,
    /// Whether they have been there before: their first connection returns with a ticket.
    pub known: bool,
    /// How important their requests are. Those of a class take a route of their own.
    pub priority: Priority,
    /// What they do in the waiting room.
    pub waits: Waits,
}

/// How customers behave in the waiting room.
#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    /// How long they stay, drawn for each.
    pub patience: Distribution,
    /// The share of pages after which they do not come back in time.
    pub late: f64,
    /// By how much they are late then, on average (exponential).
    pub late_by_s: f64,
}

impl Scenario {
    /// The priorities of routes: each class of customers has one.
    pub fn priorities(&self) -> Vec<Priority> {
        self.customers.iter().map(|class| class.priority).collect()
    }

    /// The share of a class of those who arrive at a time.
    pub fn share(&self, class: &Customers, at_s: f64) -> f64 {
        let all = self.customers.iter();
        if !class.comes(at_s) {
            return 0.0;
        }
        if all.clone().all(|class| class.comes(at_s)) {
            return class.share;
        }
        let present: f64 = all.filter(|class| class.comes(at_s)).map(|class| class.share).sum();
        class.share / present
    }
}

impl Customers {
    /// Whether customers of the class come at a time.
    pub fn comes(&self, at_s: f64) -> bool {
        (self.comes_s.0..self.comes_s.1).contains(&at_s)
    }

    /// Of the connections that they open after their first, the share that
    /// returns with a ticket; in clear there is none.
    ///
    /// The rest are queued like new sessions, shake hands in full, and may be
    /// refused in the middle of their visit. Their former session counts as
    /// inside until the gate forgets it.
    pub fn resumes(&self) -> f64 {
        if self.tls == Some(HandshakeMix::Clear) { 0.0 } else { self.tickets }
    }
}

/// What a customer does who was refused or has waited too long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AfterFailure {
    /// Leaves for good.
    Leaves,
    /// Comes back as a new session after about `back_off_s` (exponential), so
    /// often at most. A short back-off is hammering.
    Returns {
        /// Mean time away.
        back_off_s: f64,
        /// Attempts beyond the first, at most.
        times: u32,
    },
}

/// Connections that want the server's time and nothing else.
#[derive(Clone, Debug)]
pub struct Attack {
    /// How.
    pub kind: AttackKind,
    /// Connections per second, as a multiple of the capacity in sessions.
    pub load: f64,
    /// From when.
    pub from_s: f64,
    /// Until when.
    pub until_s: f64,
}

impl Attack {
    /// The same with so many times its connections.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        Self { load: self.load * factor, ..self.clone() }
    }
}

/// How an attack is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttackKind {
    /// Full handshakes, and no request after them.
    Handshakes,
    /// Tickets that do not open: such a connection counts as new. If it is let
    /// in it shakes hands in full and asks once.
    ForgedTickets,
    /// One real ticket in many hands: resumed handshakes and one request each,
    /// as far as the session's own rate allows; beyond it they count as new.
    SharedTicket,
    /// Sessions that shake hands, ask once, and keep the connection till the
    /// gate closes it.
    Lingering,
}

/// Something that changes at a time.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// When.
    pub at_s: f64,
    /// What.
    pub what: Changed,
}

/// What changes.
#[derive(Clone, Copy, Debug)]
pub enum Changed {
    /// A host's cores: by a quota if the gate sees it, else by a neighbour.
    Cores {
        /// Whose.
        resource: Resource,
        /// How many from now on.
        cores: f64,
        /// Whether readings tell of it.
        seen: bool,
    },
    /// What work costs: times so much from now on, or by and by.
    Cost {
        /// Requests in upstream and database.
        requests: f64,
        /// Handshakes.
        handshakes: f64,
        /// How long the change takes.
        over_s: f64,
    },
}

/// A host that has work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The gate's.
    Gate = 0,
    /// The upstream's.
    Upstream = 1,
    /// The database's.
    Database = 2,
}

/// What is wrong with the readings.
#[derive(Clone, Debug, PartialEq)]
pub struct Telemetry {
    /// How late they come.
    pub late_s: f64,
    /// Whether they tell CPU use.
    pub has_use: bool,
    /// Whether they tell idle time.
    pub has_idle: bool,
    /// What CPU use is multiplied by; idle time is told accordingly.
    pub use_factor: f64,
    /// CPU use is off by up to this share, at random, and idle time with it.
    pub noise: f64,
    /// What capacities are multiplied by.
    pub capacity_factor: f64,
    /// What counts of connections, handshakes, requests, responses and sessions
    /// are multiplied by; the times that go with them are right.
    pub count_factor: f64,
    /// Time between two readings of the upstream's CPU use by an agent or a page, which are known
    /// a tick late; 0: it is measured at each tick.
    pub told_every_s: f64,
    /// From when on the upstream is out of view.
    pub unseen_from_s: Option<f64>,
    /// From when until when none come at all.
    pub blind: Option<(f64, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_delays_what_comes_in_it_to_its_end() {
        let pauses = Pauses { every_s: 5.0, lasts_s: 0.25 };
        let ends = [0.1, 4.9, 5.0, 5.2, 5.25, 10.1].map(|at_s| pauses.end(at_s));
        assert_eq!(ends, [None, None, Some(5.25), Some(5.25), None, Some(10.25)]);
    }
}
