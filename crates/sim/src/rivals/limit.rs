//! Limits on what is in flight that learn from response times, and the two
//! places where they may stand: before every request, as they are deployed, or
//! at the door only, where they never turn away a customer who is inside.

use super::admit_if;
use crate::policy::{Policy, Response, User};
use tidegate_control::{Decision, Moment, Reading, Time};

/// A limit on requests in flight.
pub(crate) trait Limit {
    /// Requests in flight at most.
    fn limit(&self) -> f64;
    /// Learns from a response; `in_flight` is what was in flight until then.
    fn learn(&mut self, now: Time, response: &Response, in_flight: u32);
    /// Its name, for a sentence.
    fn name(&self) -> &'static str;
}

/// A limit where it stands.
#[derive(Debug)]
pub(crate) struct Limited<L> {
    limit: L,
    place: Place,
    handshakes: u32,
    requests: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Before every request: what is above it gets an error.
    Requests,
    /// Before new sessions only.
    Door,
}

impl<L: Limit> Limited<L> {
    pub(crate) fn on_requests(limit: L) -> Self {
        Self { limit, place: Place::Requests, handshakes: 0, requests: 0 }
    }

    pub(crate) fn at_the_door(limit: L) -> Self {
        Self { limit, place: Place::Door, handshakes: 0, requests: 0 }
    }

    fn see(&mut self, moment: Moment) {
        (self.handshakes, self.requests) = (moment.handshakes, moment.requests);
    }

    fn has_room_for_one_beside(&self, in_flight: u32) -> bool {
        f64::from(in_flight) < self.limit.limit()
    }
}

impl<L: Limit> Policy for Limited<L> {
    fn decide(&mut self, _: Time, _: User, moment: Moment) -> Decision {
        self.see(moment);
        // A handshake is the beginning of a request.
        let in_flight = self.requests + self.handshakes;
        admit_if(self.place == Place::Requests || self.has_room_for_one_beside(in_flight))
    }

    fn request(&mut self, _: Time, _: User, moment: Moment) -> bool {
        self.see(moment);
        self.place == Place::Door || self.has_room_for_one_beside(self.requests)
    }

    fn responded(&mut self, now: Time, response: &Response) {
        match self.place {
            Place::Door => self.limit.learn(now, response, response.in_flight + self.handshakes),
            Place::Requests if response.is_early => {}
            Place::Requests => self.limit.learn(now, response, response.in_flight),
        }
    }

    fn observe(&mut self, _: Time, _: &Reading) {}

    fn why(&self, _: Time) -> String {
        let (name, limit) = (self.limit.name(), self.limit.limit());
        match self.place {
            Place::Requests => format!("the {name} limit is {limit:.0} requests in flight"),
            Place::Door => {
                format!("new sessions enter while less than {limit:.0} are in flight, by {name}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Aimd, Pace};
    use super::*;

    #[test]
    fn at_the_door_nobody_inside_is_turned_away() {
        let (mut door, mut requests) = (
            Limited::at_the_door(Aimd::new(Pace(1.0))),
            Limited::on_requests(Aimd::new(Pace(1.0))),
        );
        let (user, moment) = (User(0), Moment::in_flight(0, 20));
        assert!(!door.decide(Time::ZERO, user, moment).is_admit());
        assert!(door.request(Time::ZERO, user, moment));
        assert!(requests.decide(Time::ZERO, user, moment).is_admit());
        assert!(!requests.request(Time::ZERO, user, moment));
    }

    #[test]
    fn a_handshake_uses_the_limit_at_the_door_only() {
        let response = Response { in_flight: 9, ..Response::default() };
        let grown = |mut limited: Limited<Aimd>| {
            limited.see(Moment::in_flight(1, 9));
            limited.responded(Time::ZERO, &response);
            limited.limit.limit()
        };
        // Half of 20 is in use, or one less.
        assert_eq!(grown(Limited::at_the_door(Aimd::new(Pace(1.0)))), 21.0);
        assert_eq!(grown(Limited::on_requests(Aimd::new(Pace(1.0)))), 20.0);
    }

    #[test]
    fn who_leaves_during_her_handshake_counts_at_the_door_only() {
        let grow = Response { in_flight: 50, ..Response::default() };
        let left = Response { is_early: true, is_dropped: true, ..grow };
        let after = |mut limited: Limited<Aimd>| {
            (0..10).for_each(|_| limited.responded(Time::ZERO, &grow));
            limited.responded(Time::ZERO, &left);
            limited.limit.limit()
        };
        assert_eq!(after(Limited::at_the_door(Aimd::new(Pace(1.0)))), 27.0);
        assert_eq!(after(Limited::on_requests(Aimd::new(Pace(1.0)))), 30.0);
    }
}
