//! What a simulated gate asks of a policy.

use std::time::Duration;

use tidegate_control::{Controller, Decision, Reading, Time};

/// A policy as the simulated gate meets it: the production [`Controller`], or
/// a rival written for comparison.
pub trait Judge {
    /// A new session arrived and stands in line.
    fn stands_in_line(&mut self) {}

    /// May this new session in, whose turn it is?
    fn new_session(&mut self, now: Time, user: User) -> Decision;

    /// Whether its no is for good and for one session, as where a share of them
    /// is turned away; else it holds for the whole line, which waits.
    fn turns_away(&self) -> bool {
        false
    }

    /// Is it time to turn the longest-held session away, who has been waiting so
    /// long? The gate's own hold time ends it in any case.
    fn gives_up(&mut self, _now: Time, _waited: Duration) -> bool {
        false
    }

    /// What is in flight right now, told before every question.
    fn in_flight(&mut self, _handshakes: u32, _requests: u32) {}

    /// How much work may lie before the next in line outside a lull, told before every
    /// question: see [`Discipline::bearable`](tidegate_control::Discipline::bearable).
    fn bears(&mut self, _bearable: Duration) {}

    /// A returning connection arrived.
    fn returning(&mut self, _now: Time) {}

    /// May this request of somebody inside go on to the upstream? A gate that
    /// controls sessions never says no.
    fn request(&mut self, _now: Time, _user: User) -> bool {
        true
    }

    /// Somebody inside got her response, or left without one. Rivals that work by
    /// the response see each; the gate itself reads sums.
    fn responded(&mut self, _now: Time, _response: &Response) {}

    /// What was measured since the last call.
    fn observe(&mut self, now: Time, reading: &Reading);

    /// One sentence with numbers: why it decides as it does.
    fn why(&self, now: Time) -> String;
}

/// What became of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Response {
    /// Whether the customer left before it was with the upstream: in the midst of
    /// her handshake, as a rule.
    pub is_early: bool,
    /// Seconds since it was with the upstream, or was to be made, until the gate got
    /// to the response or the customer left.
    pub took_s: f64,
    /// Seconds of these in which it was not worked on and did not wait for what it
    /// needs by itself: a service that controls its own queue measures them there.
    pub queued_s: f64,
    /// Whether the customer left without an answer.
    pub is_dropped: bool,
    /// Requests that were with the upstream until then, this one included if it was.
    pub in_flight: u32,
}

/// Who asks: a number that stays with a customer, evenly spread over its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User(pub u8);

impl Judge for Controller {
    fn stands_in_line(&mut self) {
        Controller::stands_in_line(self);
    }

    fn new_session(&mut self, now: Time, _: User) -> Decision {
        Controller::ask_again(self, now)
    }

    fn in_flight(&mut self, handshakes: u32, requests: u32) {
        Controller::in_flight(self, handshakes, requests);
    }

    fn bears(&mut self, bearable: Duration) {
        Controller::bears(self, bearable);
    }

    fn returning(&mut self, now: Time) {
        Controller::returning(self, now);
    }

    fn observe(&mut self, now: Time, reading: &Reading) {
        Controller::observe(self, now, reading);
    }

    fn why(&self, now: Time) -> String {
        self.status(now).why
    }
}
