//! Limits on the requests in flight that learn from response times. A limit applies to
//! every request, as deployed, or to the admission of new sessions only, where it never
//! refuses a request of an active session.

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

/// A limit and what it applies to.
#[derive(Debug)]
pub(crate) struct Limited<L> {
    limit: L,
    scope: Scope,
    handshakes: u32,
    requests: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scope {
    /// Every request: what exceeds the limit gets an error.
    Requests,
    /// New sessions only.
    Admission,
}

impl<L: Limit> Limited<L> {
    pub(crate) fn on_requests(limit: L) -> Self {
        Self { limit, scope: Scope::Requests, handshakes: 0, requests: 0 }
    }

    pub(crate) fn on_admission(limit: L) -> Self {
        Self { limit, scope: Scope::Admission, handshakes: 0, requests: 0 }
    }

    fn see(&mut self, moment: Moment) {
        (self.handshakes, self.requests) = (moment.handshakes, moment.requests);
    }

    fn has_room_beside(&self, in_flight: u32) -> bool {
        f64::from(in_flight) < self.limit.limit()
    }
}

impl<L: Limit> Policy for Limited<L> {
    fn decide(&mut self, _: Time, _: User, moment: Moment) -> Decision {
        self.see(moment);
        // A handshake precedes a request.
        let in_flight = self.requests + self.handshakes;
        admit_if(self.scope == Scope::Requests || self.has_room_beside(in_flight))
    }

    fn request(&mut self, _: Time, _: User, moment: Moment) -> bool {
        self.see(moment);
        self.scope == Scope::Admission || self.has_room_beside(self.requests)
    }

    fn responded(&mut self, now: Time, response: &Response) {
        match self.scope {
            Scope::Admission => {
                self.limit.learn(now, response, response.in_flight + self.handshakes)
            }
            Scope::Requests if response.is_early => {}
            Scope::Requests => self.limit.learn(now, response, response.in_flight),
        }
    }

    fn observe(&mut self, _: Time, _: &Reading) {}

    fn why(&self, _: Time) -> String {
        let (name, limit) = (self.limit.name(), self.limit.limit());
        match self.scope {
            Scope::Requests => format!("the {name} limit is {limit:.0} requests in flight"),
            Scope::Admission => {
                format!("new sessions are admitted below {limit:.0} requests in flight, by {name}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Aimd, Pace};
    use super::*;

    #[test]
    fn on_admission_no_request_of_an_active_session_is_refused() {
        let (mut admission, mut requests) = (
            Limited::on_admission(Aimd::new(Pace(1.0))),
            Limited::on_requests(Aimd::new(Pace(1.0))),
        );
        let (user, moment) = (User(0), Moment::in_flight(0, 20));
        assert!(!admission.decide(Time::ZERO, user, moment).is_admit());
        assert!(admission.request(Time::ZERO, user, moment));
        assert!(requests.decide(Time::ZERO, user, moment).is_admit());
        assert!(!requests.request(Time::ZERO, user, moment));
    }

    #[test]
    fn a_handshake_uses_the_limit_on_admission_only() {
        let response = Response { in_flight: 9, ..Response::default() };
        let grown = |mut limited: Limited<Aimd>| {
            limited.see(Moment::in_flight(1, 9));
            limited.responded(Time::ZERO, &response);
            limited.limit.limit()
        };
        // Half of 20 is in use, or one less.
        assert_eq!(grown(Limited::on_admission(Aimd::new(Pace(1.0)))), 21.0);
        assert_eq!(grown(Limited::on_requests(Aimd::new(Pace(1.0)))), 20.0);
    }

    #[test]
    fn a_customer_who_leaves_during_the_handshake_counts_on_admission_only() {
        let grow = Response { in_flight: 50, ..Response::default() };
        let left = Response { is_early: true, is_dropped: true, ..grow };
        let after = |mut limited: Limited<Aimd>| {
            (0..10).for_each(|_| limited.responded(Time::ZERO, &grow));
            limited.responded(Time::ZERO, &left);
            limited.limit.limit()
        };
        assert_eq!(after(Limited::on_admission(Aimd::new(Pace(1.0)))), 27.0);
        assert_eq!(after(Limited::on_requests(Aimd::new(Pace(1.0)))), 30.0);
    }
}
