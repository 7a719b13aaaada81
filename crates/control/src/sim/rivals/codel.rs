//! CoDel on the line of those who are held: they go in as fast as the server
//! takes them, and when the wait stays above a target, more and more of them
//! are turned away.
//!
//! Source: Nichols and Jacobson 2012, "Controlling Queue Delay", ACM Queue
//! 10(5); RFC 8289: target 5 ms, interval 100 ms, the next drop after
//! `interval ∕ √count`.
//! Deviation: a server has no line rate. It "takes" a session whenever less is
//! in flight than three times its processors; the drop is asked for at the
//! gate's poll, every millisecond.

use std::time::Duration;

use super::admit_if;
use crate::sim::judge::{Judge, User};
use crate::{Decision, Reading, Time};

const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);
const IN_FLIGHT_PER_CPU: f64 = 3.0;

/// The policy's state.
#[derive(Debug)]
pub(in crate::sim) struct CoDel {
    cpus: f64,
    in_flight: u32,
    above_since: Option<Time>,
    dropping: Option<(u32, Time)>,
}

impl CoDel {
    pub(in crate::sim) fn new() -> Self {
        Self { cpus: 1.0, in_flight: 0, above_since: None, dropping: None }
    }
}

impl Judge for CoDel {
    fn new_session(&mut self, _: Time, _: User) -> Decision {
        admit_if(f64::from(self.in_flight) < self.cpus * IN_FLIGHT_PER_CPU)
    }

    fn in_flight(&mut self, handshakes: u32, requests: u32) {
        self.in_flight = handshakes + requests;
    }

    fn gives_up(&mut self, now: Time, waited: Duration) -> bool {
        if waited < TARGET {
            (self.above_since, self.dropping) = (None, None);
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        match &mut self.dropping {
            Some((count, next)) if now >= *next => {
                *count += 1;
                *next += INTERVAL.div_f64(f64::from(*count).sqrt());
                true
            }
            Some(_) => false,
            None if now.saturating_sub(since) >= INTERVAL => {
                self.dropping = Some((1, now + INTERVAL));
                true
            }
            None => false,
        }
    }

    fn observe(&mut self, _: Time, reading: &Reading) {
        self.cpus = reading.capacity_cpus();
    }

    fn why(&self, _: Time) -> String {
        let (in_flight, most) = (self.in_flight, self.cpus * IN_FLIGHT_PER_CPU);
        match self.dropping {
            None => format!("{in_flight} of {most:.0} are in flight, and the line is short"),
            Some((count, _)) => {
                format!("{in_flight} of {most:.0} are in flight; the line stands, drop {count}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_come_faster_the_longer_the_line_stands() {
        let mut codel = CoDel::new();
        let waited = Duration::from_millis(6);
        let drops: Vec<u64> =
            (0..400).filter(|ms| codel.gives_up(Time::from_millis(*ms), waited)).collect();
        // After 100 ms, then 100, 100∕√2 = 70.7, 100∕√3 = 57.7, 50 later.
        assert_eq!(drops, [100, 200, 271, 329, 379]);
        assert!(!codel.gives_up(Time::from_millis(400), Duration::from_millis(4)));
        assert!(!codel.gives_up(Time::from_millis(401), waited), "a new interval begins");
    }
}
