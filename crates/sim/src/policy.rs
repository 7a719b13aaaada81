//! The interface of a policy to the simulated gate.

use std::time::Duration;

use tidegate_control::{Controller, Decision, Entry, Moment, Priority, Reading, Time};

/// An admission policy: the production [`Controller`], or a rival written for
/// comparison.
pub trait Policy {
    /// A new session arrived and is queued.
    fn offered(&mut self) {}

    /// Decides on the session of this customer, which is next.
    fn decide(&mut self, now: Time, user: User, moment: Moment) -> Decision;

    /// What the handshake of a connection that begins so is charged; `None`: nothing, as
    /// all count alike.
    fn price(&self, _entry: Entry) -> Option<Duration> {
        None
    }

    /// Whether the session whose handshake costs least is next, whoever waits longest.
    fn cheapest_first(&self) -> bool {
        false
    }

    /// Whether a negative decision refuses this one session, as where a share of them is
    /// refused; otherwise the whole queue waits.
    fn refuses_one(&self) -> bool {
        false
    }

    /// Whether the oldest queued session, which has waited so long, is to be refused
    /// now. The gate's own hold time ends its wait in any case.
    fn drops_oldest(&mut self, _now: Time, _waited: Duration) -> bool {
        false
    }

    /// A returning connection arrived.
    fn returning(&mut self, _now: Time) {}

    /// Whether this request of an active session goes on to the upstream. A gate that
    /// controls sessions never refuses one.
    fn request(&mut self, _now: Time, _user: User, _moment: Moment) -> bool {
        true
    }

    /// The same of a request that takes a route.
    fn passes(&mut self, now: Time, _route: Route, user: User, moment: Moment) -> bool {
        self.request(now, user, moment)
    }

    /// A customer with an active session got a response, or left without one. Rivals
    /// that work by response times see each; the gate itself reads sums.
    fn responded(&mut self, _now: Time, _response: &Response) {}

    /// What was measured since the last call.
    fn observe(&mut self, now: Time, reading: &Reading);

    /// One sentence with numbers: why it decides as it does.
    fn why(&self, now: Time) -> String;
}

/// What became of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Response {
    /// Whether the customer left before the request was with the upstream: during the
    /// handshake, as a rule.
    pub is_early: bool,
    /// Seconds since it was with the upstream, or was to be made, until the gate got
    /// the response or the customer left.
    pub took_s: f64,
    /// Seconds of these in which it was not worked on and did not wait for what it
    /// needs by itself: a service that controls its own queue measures them there.
    pub queued_s: f64,
    /// Whether the customer left without a response.
    pub is_dropped: bool,
    /// Requests that were with the upstream until then, this one included if it was.
    pub in_flight: u32,
}

/// The route of a request.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Its place among the scenario's classes of customers.
    pub index: usize,
    /// How important it is.
    pub priority: Priority,
}

/// A number that stays with a customer, evenly distributed over its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User(pub u8);

impl Policy for Controller {
    fn offered(&mut self) {
        Controller::offered(self);
    }

    fn decide(&mut self, now: Time, _: User, moment: Moment) -> Decision {
        Controller::decide(self, now, moment)
    }

    fn price(&self, entry: Entry) -> Option<Duration> {
        Some(Controller::price(self, entry))
    }

    fn drops_oldest(&mut self, now: Time, waited: Duration) -> bool {
        Controller::drops_oldest(self, now, waited)
    }

    fn returning(&mut self, now: Time) {
        Controller::returning(self, now);
    }

    fn passes(&mut self, _: Time, route: Route, user: User, moment: Moment) -> bool {
        let Some(passage) = self.passage() else { return true };
        passage.of(route.priority).admits(f64::from(user.0) / 256.0, moment.requests)
    }

    fn observe(&mut self, now: Time, reading: &Reading) {
        Controller::observe(self, now, reading);
    }

    fn why(&self, now: Time) -> String {
        self.status(now).why
    }
}
