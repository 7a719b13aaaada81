//! A PI controller that sets the share of new sessions to be refused.
//!
//! Source: Uber Engineering 2023, "PID Controller for Cinnamon": the error is
//! `(inflow − (outflow + free)) ∕ outflow` of an interval, free being the places left
//! under a limit of requests in flight; the share rejected is `Kp e + Ki Σe`, without
//! a derivative term.
//! Deviation: an interval is a tick; inflow less outflow is the change of the
//! number in flight, handshakes included, since the last tick. Cinnamon rejects the requests of
//! least priority and queues others no longer than a time-out; here new sessions are
//! rejected at random and admitted ones stay, so that a queue that neither grows nor
//! shrinks is not drained. The limit is [`PER_PLACE`] for each processor in view and each
//! thread of the service, whose number this rule gets: their auto-tuner is left out.
//! Swept: the error as above and as the number in flight against the limit, with and
//! without handshakes, at the tick and on average over it, bounded and not; Kp from
//! 0.05 to 1, Ki from 0.003 to 3; the limit as 8 per processor and as 1, 2, 4 per
//! processor and thread. The error of the source carries most (96 %); against the
//! limit it refuses every session for seconds at a time at ten times the capacity (85 %
//! at most). A smaller Ki loses more of the admitted sessions, a greater one oscillates.

use super::admit_if;
use crate::policy::{Policy, User};
use crate::random::Random;
use tidegate_control::{Decision, Moment, Reading, Time};

const KP: f64 = 0.1;
const KI: f64 = 1.4;
const PER_PLACE: f64 = 2.0;
/// With every session rejected the controller would learn nothing.
const MOST_REJECTED: f64 = 0.999;

/// The policy's state.
#[derive(Debug)]
pub(crate) struct Pi {
    threads: f64,
    in_flight: f64,
    integral: f64,
    rejected: f64,
    random: Random,
}

impl Pi {
    /// For a service with this number of threads.
    pub(crate) fn new(threads: usize) -> Self {
        let threads = threads as f64;
        Self { threads, in_flight: 0.0, integral: 0.0, rejected: 0.0, random: Random::new(1) }
    }
}

impl Policy for Pi {
    fn decide(&mut self, _: Time, _: User, _: Moment) -> Decision {
        admit_if(self.random.uniform() >= self.rejected)
    }

    fn refuses_one(&self) -> bool {
        true
    }

    fn observe(&mut self, _: Time, reading: &Reading) {
        let in_flight = f64::from(reading.in_flight_handshakes + reading.in_flight_requests);
        let more = in_flight - std::mem::replace(&mut self.in_flight, in_flight);
        let limit = PER_PLACE * (reading.capacity_cpus() + self.threads);
        let free = (limit - in_flight).max(0.0);
        let error = (more - free) / (reading.upstream_responses as f64).max(1.0);
        self.integral = (self.integral + KI * error).clamp(0.0, 1.0);
        self.rejected = (KP * error + self.integral).clamp(0.0, MOST_REJECTED);
    }

    fn why(&self, _: Time) -> String {
        format!("{:.0} % of new sessions are refused", self.rejected * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::{ByResource, ResourceName, Usage};

    #[test]
    fn the_share_by_hand() {
        // A processor and a thread: four may be in flight.
        let mut pi = Pi::new(1);
        let mut after = |in_flight_handshakes, in_flight_requests, upstream_responses| {
            let gate = Usage { capacity_cpus: 1.0, used_cpu_s: None, idle: None };
            let reading = Reading {
                usage: ByResource::default().with(ResourceName::Gate, gate),
                in_flight_handshakes,
                in_flight_requests,
                upstream_responses,
                ..Reading::default()
            };
            pi.observe(Time::ZERO, &reading);
            (pi.rejected * 1e9).round() / 1e9
        };
        // Ten more, twenty answered: e = 0.5, so 0.05 and 1.4 × 0.5.
        assert_eq!(after(7, 3, 20), 0.75);
        // No change: e = 0.
        assert_eq!(after(5, 5, 20), 0.7);
        // Seven less and one place free: e = −8 ∕ 40.
        assert_eq!(after(0, 3, 40), 0.4);
        // As many, and one place free: e = −1 ∕ 40.
        assert_eq!(after(0, 3, 40), 0.3825);
        assert_eq!(after(0, 500, 10), 0.999, "never all of them");
        assert_eq!(after(0, 0, 0), 0.0);
    }

    #[test]
    fn the_share_refused_is_the_share_set() {
        let mut pi = Pi::new(1);
        pi.rejected = 0.75;
        let admitted =
            (0..4000).filter(|_| pi.decide(Time::ZERO, User(0), Moment::IDLE).is_admit()).count();
        assert!((900..1100).contains(&admitted), "{admitted}");
    }
}
