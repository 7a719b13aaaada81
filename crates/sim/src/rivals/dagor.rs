//! Priorities: each user has one, and the server refuses those beyond a level that
//! follows its queueing time.
//!
//! Source: Zhou et al. 2018, "Overload Control for Scaling WeChat
//! Microservices", SoCC, section 4: a window is a second or 2000 requests;
//! overloaded means a mean queueing time above 20 ms where requests time out after
//! 500 ms; then the level falls until the requests admitted would have been 5 %
//! fewer than those of the last window, else it rises until 1 % more; 128 user
//! priorities, from a hash of the user, within each business priority.
//! Deviation: two business priorities, active before new sessions, as their
//! payments are before all else; a window is a second at the customers' pace, but
//! a tenth of a second at least; a queueing time of [`QUEUEING_S`]; an abandoned request
//! has queued until it was abandoned. The level is not passed on to the clients, since
//! customers do not follow it.
//! Swept: queueing times of 1 to 20 ms; windows of 0.1, 0.3 and 1 s; one business
//! priority and two. Their 20 ms carry 57 %: customers leave before the
//! level has fallen. 5 ms carry most (89 %), 2 ms 84 %. With one business priority 66 %:
//! an active session fails when the level passes its user.

use super::{NOT_NOW, Pace};
use crate::policy::{Policy, Response, User};
use tidegate_control::{Decision, Moment, Reading, Time};

/// User priorities, and those of both business priorities.
const USERS: usize = 128;
const LEVELS: usize = 2 * USERS;
const QUEUEING_S: f64 = 0.005;
const REQUESTS: f64 = 2000.0;

/// The policy's state.
#[derive(Debug)]
pub(crate) struct Dagor {
    window_s: f64,
    began_s: f64,
    requests: f64,
    queued_s: f64,
    /// Priorities of this number and higher are refused.
    level: usize,
    /// Requests of the window by priority, admitted or not.
    requested: [u32; LEVELS],
}

impl Dagor {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            window_s: pace.of(1.0).max(0.1),
            began_s: 0.0,
            requests: 0.0,
            queued_s: 0.0,
            level: LEVELS,
            requested: [0; LEVELS],
        }
    }

    fn passes(&mut self, is_new: bool, user: User) -> bool {
        let priority = usize::from(is_new) * USERS + usize::from(user.0) * USERS / 256;
        self.requested[priority] += 1;
        priority < self.level
    }

    fn end_window(&mut self) {
        let admitted: u32 = self.requested[..self.level].iter().sum();
        let mut sum = f64::from(admitted);
        if self.queued_s / self.requests > QUEUEING_S {
            let wanted = sum * 0.95;
            while self.level > 1 && sum > wanted {
                self.level -= 1;
                sum -= f64::from(self.requested[self.level]);
            }
        } else {
            let all: u32 = self.requested.iter().sum();
            let wanted = sum + f64::from(all) * 0.01;
            while self.level < LEVELS && sum < wanted {
                sum += f64::from(self.requested[self.level]);
                self.level += 1;
            }
        }
        self.requested = [0; LEVELS];
        (self.requests, self.queued_s) = (0.0, 0.0);
    }
}

impl Policy for Dagor {
    fn decide(&mut self, _: Time, user: User, _: Moment) -> Decision {
        if self.passes(true, user) { Decision::Admit } else { NOT_NOW }
    }

    fn refuses_one(&self) -> bool {
        true
    }

    fn request(&mut self, _: Time, user: User, _: Moment) -> bool {
        self.passes(false, user)
    }

    fn responded(&mut self, now: Time, response: &Response) {
        // A refused request has not queued here.
        if response.is_early {
            return;
        }
        self.requests += 1.0;
        self.queued_s += response.queued_s;
        let now_s = now.as_secs_f64();
        if now_s - self.began_s >= self.window_s || self.requests >= REQUESTS {
            self.began_s = now_s;
            self.end_window();
        }
    }

    fn observe(&mut self, _: Time, _: &Reading) {}

    fn why(&self, _: Time) -> String {
        let (active, new) = (self.level.min(USERS), self.level.saturating_sub(USERS));
        format!("of 128 priorities {active} pass for active sessions and {new} for new ones")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window in which every user opens a new session, with one response.
    fn window(dagor: &mut Dagor, at_s: f64, queued_s: f64) -> usize {
        for user in 0..=255 {
            dagor.passes(true, User(user));
        }
        let response = Response { queued_s, ..Response::default() };
        dagor.responded(Time::from_secs_f64(at_s), &response);
        dagor.level
    }

    #[test]
    fn the_level_falls_by_a_twentieth_and_rises_by_a_hundredth() {
        let mut dagor = Dagor::new(Pace(1.0));
        assert_eq!(window(&mut dagor, 1.0, 0.001), 256);
        // 256 requests; 243.2 wanted, two of each priority: seven levels less.
        assert_eq!(window(&mut dagor, 2.0, 0.006), 249);
        // 242 + 2.56 wanted: two levels more.
        assert_eq!(window(&mut dagor, 3.0, 0.004), 251);
        let admits =
            |dagor: &mut Dagor, user| dagor.decide(Time::ZERO, User(user), Moment::IDLE).is_admit();
        assert!(admits(&mut dagor, 245) && !admits(&mut dagor, 246));
        assert!(dagor.request(Time::ZERO, User(255), Moment::IDLE), "active sessions come first");
    }

    #[test]
    fn active_sessions_are_refused_when_no_new_session_is_left() {
        let mut dagor = Dagor::new(Pace(1.0));
        dagor.level = USERS;
        for user in 0..=255 {
            dagor.passes(false, User(user));
        }
        dagor.responded(
            Time::from_secs_f64(1.0),
            &Response { queued_s: 1.0, ..Response::default() },
        );
        assert_eq!(dagor.level, 121);
        assert!(
            !dagor.request(Time::ZERO, User(255), Moment::IDLE)
                && dagor.request(Time::ZERO, User(0), Moment::IDLE)
        );
    }

    #[test]
    fn a_window_ends_after_its_time_or_2000_requests() {
        let mut dagor = Dagor::new(Pace(1.0));
        let late = Response { queued_s: 1.0, ..Response::default() };
        let mut level_after = |at_s, responses| {
            (0..=255).for_each(|user| _ = dagor.passes(true, User(user)));
            for _ in 0..responses {
                dagor.responded(Time::from_secs_f64(at_s), &late);
            }
            dagor.level
        };
        // 512 requests: seven levels of four; then of 484 seven again.
        assert_eq!([level_after(0.5, 1999), level_after(0.6, 1)], [256, 249]);
        assert_eq!([level_after(1.5, 1), level_after(1.7, 1)], [249, 242]);
    }
}
