//! Credits: the server issues as many as its queueing delay allows.
//!
//! Source: Cho et al. 2020, "Overload Control for µs-scale RPCs with
//! Breakwater", OSDI, section 4: each round trip, with queueing delay d and target
//! t, the pool grows by `max(0.001 × clients, 1)` where d < t, else it is multiplied
//! by `max(1 − 0.02 (d − t) ∕ t, 0.5)`; one per core at least. In the published code
//! also 64 per client at most; it removes one credit at least, and averages times with
//! a weight of an eighth.
//! Deviation: a customer has no credits to spend; a credit is a place in flight, and
//! a new session is admitted while one is left; requests of active sessions need none. A
//! round trip is the mean time until a response, and the pool grows or shrinks once in it.
//! The queueing delay is that of the latest response, which the simulator reports and a
//! gate does not know: the original runs in the service. Dropping at the server and the
//! distribution of credits by demand are left out.
//! Swept: credits as requests in flight or as active sessions; the target as 2 to 12 times the
//! mean service time (theirs are 3 to 40 times) or as 10 and 30 ms; refused sessions
//! queued or refused at once; growth always or only while half of the pool is used.
//! Requests in flight, six service times, queueing and growth always are best: 4 times
//! carries 1.4 % less, 10 times 0.5 % more at response times longer by two fifths. As
//! active sessions, credits carry 78 %: the delay reflects the pool only a session's
//! duration later. Shrinking once a tick instead of once a round trip leaves a standing
//! queue (p95 eleven times that at low load).

use super::admit_if;
use crate::policy::{Policy, Response, User};
use tidegate_control::{Decision, Moment, Reading, Time};

/// The target of queueing delay, in mean service times.
const TARGET: f64 = 6.0;
/// Credits for each client at most.
const PER_CLIENT: f64 = 64.0;

/// The policy's state.
#[derive(Debug)]
pub(crate) struct Breakwater {
    credits: f64,
    /// Clients: active sessions.
    clients: f64,
    in_flight: f64,
    cpus: f64,
    /// Exponential means of the time until a response and of service time.
    round_trip_s: f64,
    service_s: f64,
    /// Queueing delay when the pool was updated, and when that was.
    delay_s: f64,
    updated_s: f64,
}

impl Breakwater {
    pub(crate) fn new() -> Self {
        Self {
            credits: 1.0,
            clients: 0.0,
            in_flight: 0.0,
            cpus: 1.0,
            round_trip_s: 0.0,
            service_s: 0.0,
            delay_s: 0.0,
            updated_s: 0.0,
        }
    }

    fn update(&mut self) {
        let target_s = TARGET * self.service_s;
        if self.delay_s >= target_s {
            let times = 1.0 - 0.02 * (self.delay_s - target_s) / target_s;
            self.credits = (self.credits * times.max(0.5)).min(self.credits - 1.0);
        } else {
            self.credits += (0.001 * self.clients).max(1.0);
        }
        self.credits = self.credits.min(PER_CLIENT * self.clients).max(self.cpus);
    }
}

impl Policy for Breakwater {
    fn decide(&mut self, _: Time, _: User, moment: Moment) -> Decision {
        self.in_flight = f64::from(moment.handshakes + moment.requests);
        admit_if(self.in_flight < self.credits)
    }

    fn responded(&mut self, now: Time, response: &Response) {
        // It never reached the service.
        if response.is_early {
            return;
        }
        let smooth = |mean: &mut f64, value: f64| {
            *mean += (value - *mean) * if *mean == 0.0 { 1.0 } else { 0.125 };
        };
        smooth(&mut self.round_trip_s, response.took_s);
        if !response.is_dropped {
            smooth(&mut self.service_s, response.took_s - response.queued_s);
        }
        if now.as_secs_f64() - self.updated_s >= self.round_trip_s {
            self.updated_s = now.as_secs_f64();
            self.delay_s = response.queued_s;
            self.update();
        }
    }

    fn observe(&mut self, _: Time, reading: &Reading) {
        self.cpus = reading.capacity_cpus();
        self.clients = f64::from(reading.sessions_active);
    }

    fn why(&self, _: Time) -> String {
        format!(
            "{:.0} of {:.0} credits are in use; requests are delayed by {:.1} ms, {:.1} are allowed",
            self.in_flight,
            self.credits,
            self.delay_s * 1e3,
            self.service_s * TARGET * 1e3
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_by_hand() {
        let mut server = Breakwater::new();
        server.clients = 100.0;
        // Responses of 1 ms service, each a second after the last: target 6 ms.
        let mut now_s = 0.0;
        let mut after = |delay_s: f64| {
            now_s += 1.0;
            let took_s = 0.001 + delay_s;
            let response = Response { took_s, queued_s: delay_s, ..Response::default() };
            server.responded(Time::from_secs_f64(now_s), &response);
            server.credits
        };
        assert_eq!(after(0.0), 2.0);
        assert_eq!((0..98).map(|_| after(0.005)).last(), Some(100.0));
        // Delay 12 ms: times 1 − 0.02 × 1, and 600 ms: half at most.
        assert!((after(0.012) - 98.0).abs() < 1e-6);
        assert!((after(0.6) - 49.0).abs() < 1e-6);
        // 2 % above the target one is removed all the same.
        assert!((after(0.00612) - 48.0).abs() < 1e-6);
        assert_eq!((0..20).map(|_| after(1.0)).last(), Some(1.0), "one per core");
        server.clients = 0.05;
        server.credits = 9.0;
        server.update();
        assert!((server.credits - 3.2).abs() < 1e-9, "64 per client");
    }

    #[test]
    fn the_pool_moves_once_per_round_trip() {
        let mut server = Breakwater::new();
        server.clients = 2000.0;
        let response = Response { took_s: 0.010, ..Response::default() };
        let at = |ms| Time::from_millis(ms);
        let mut after = |ms| {
            server.responded(at(ms), &response);
            server.credits
        };
        // A thousandth of the clients each time.
        assert_eq!([10, 15, 19, 20, 29, 31].map(&mut after), [3.0, 3.0, 3.0, 5.0, 5.0, 7.0]);
    }
}
