//! Priorities: each user has one, and the server turns away those below a level
//! that follows its queueing time.
//!
//! Source: Zhou et al. 2018, "Overload Control for Scaling WeChat
//! Microservices", SoCC: a window is a second or 2000 requests; overloaded
//! means a mean queueing time above 20 ms; then the level rises until the
//! requests admitted would have been 5 % fewer than those of the last window,
//! else it falls until 1 % more; 128 user priorities, from a hash.
//! Deviation: one business priority; a window is a second of people at the
//! customers' pace, a tick at least; queueing time is that of the upstream's
//! responses beyond the shortest mean that was seen.

use super::{NOT_NOW, Pace, mean_response_s};
use crate::sim::judge::{Judge, User};
use crate::{Decision, Reading, Time};

const LEVELS: usize = 128;

/// The policy's state.
#[derive(Debug)]
pub(in crate::sim) struct Dagor {
    window_s: f64,
    queueing_s: f64,
    passed_s: f64,
    responses: f64,
    time_s: f64,
    shortest_s: f64,
    /// Users from this level on are turned away.
    level: usize,
    /// Requests of the window by priority, admitted or not.
    asked: [u32; LEVELS],
}

impl Dagor {
    pub(in crate::sim) fn new(pace: Pace) -> Self {
        Self {
            window_s: pace.of(1.0).max(0.1),
            queueing_s: 0.020,
            passed_s: 0.0,
            responses: 0.0,
            time_s: 0.0,
            shortest_s: f64::INFINITY,
            level: LEVELS,
            asked: [0; LEVELS],
        }
    }

    fn passes(&mut self, user: User) -> bool {
        let priority = usize::from(user.0) * LEVELS / 256;
        self.asked[priority] += 1;
        priority < self.level
    }

    fn end_window(&mut self) {
        let queueing_s = self.time_s / self.responses.max(1.0) - self.shortest_s;
        let admitted: u32 = self.asked[..self.level].iter().sum();
        if queueing_s > self.queueing_s {
            let wanted = f64::from(admitted) * 0.95;
            let mut sum = f64::from(admitted);
            while self.level > 1 && sum > wanted {
                self.level -= 1;
                sum -= f64::from(self.asked[self.level]);
            }
        } else {
            let all: u32 = self.asked.iter().sum();
            let wanted = f64::from(admitted) + f64::from(all) * 0.01;
            let mut sum = f64::from(admitted);
            while self.level < LEVELS && sum < wanted {
                sum += f64::from(self.asked[self.level]);
                self.level += 1;
            }
        }
        self.asked = [0; LEVELS];
        (self.passed_s, self.responses, self.time_s) = (0.0, 0.0, 0.0);
    }
}

impl Judge for Dagor {
    fn new_session(&mut self, _: Time, user: User) -> Decision {
        if self.passes(user) { Decision::Admit } else { NOT_NOW }
    }

    fn turns_away(&self) -> bool {
        true
    }

    fn request(&mut self, _: Time, user: User) -> bool {
        self.passes(user)
    }

    fn observe(&mut self, _: Time, reading: &Reading) {
        if let Some(mean_s) = mean_response_s(reading) {
            self.shortest_s = self.shortest_s.min(mean_s);
        }
        self.passed_s += reading.elapsed.as_secs_f64();
        self.responses += reading.upstream_responses as f64;
        self.time_s += reading.upstream_time_s;
        if self.responses > 0.0
            && (self.passed_s >= self.window_s - 1e-6 || self.responses >= 2000.0)
        {
            self.end_window();
        }
    }

    fn why(&self, _: Time) -> String {
        format!("of 128 priorities {} may in", self.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn window(dagor: &mut Dagor, mean_s: f64) {
        for user in 0..=255 {
            dagor.passes(User(user));
        }
        let reading = Reading {
            elapsed: Duration::from_secs(1),
            upstream_responses: 100,
            upstream_time_s: 100.0 * mean_s,
            ..Reading::default()
        };
        dagor.observe(Time::ZERO, &reading);
    }

    #[test]
    fn the_level_falls_by_a_twentieth_and_rises_by_a_hundredth() {
        let mut dagor = Dagor::new(Pace(1.0));
        window(&mut dagor, 0.010);
        assert_eq!(dagor.level, 128);
        window(&mut dagor, 0.031);
        // 256 asked; 243.2 wanted, two of each priority: seven levels less.
        assert_eq!(dagor.level, 121);
        window(&mut dagor, 0.012);
        // 242 + 2.56 wanted: two levels more.
        assert_eq!(dagor.level, 123);
        assert!(dagor.request(Time::ZERO, User(245)) && !dagor.request(Time::ZERO, User(246)));
    }
}
