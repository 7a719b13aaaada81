//! CoDel on the admission queue: sessions are admitted as fast as the server accepts
//! them. While the wait stays above a target, sessions are refused at a rising rate.
//! A rival for comparison, simulated and on the real gate.
//!
//! Source: Nichols and Jacobson 2012, "Controlling Queue Delay", ACM Queue
//! 10(5); RFC 8289, section 5: target 5 ms, interval 100 ms, the next drop after
//! `interval ∕ √count`; a dropping state entered again within 16 intervals continues
//! from the drop count of the last one.
//! Deviation: a link sends when it is free; for a server "free" has to be defined, and the
//! definition decides the result. Here it accepts a session while less is in flight than
//! [`PER_CPU`] per processor in view or [`PER_THREAD`] per thread of the service,
//! whichever is more. So this rule needs the number of threads, which a gate does not
//! know. A queue of one session is dropped from like any other (RFC 8289 spares a queue of
//! one packet). Drops happen when the gate processes its queue.
//! Swept: 2, 2.5, 3, 4 per processor; with threads the greater or the sum, 0.75 to 2
//! per thread; with and without continuing from the last count, which changes little.
//! By processors alone it carries 6 to 10 % of the best in `unseen-slow`, where
//! requests wait for other resources; two per processor have the shortest response
//! times, four the most goodput where later requests weigh most.

use std::time::Duration;

use crate::Time;
use crate::moment::Moment;
use crate::reading::Reading;

const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);
/// Intervals after which a dropping state that has ended is forgotten.
const FORGOTTEN: u32 = 16;
const PER_CPU: f64 = 4.0;
const PER_THREAD: f64 = 1.2;
/// The next poll may decide otherwise: no wait is known.
const POLL: Duration = Duration::from_millis(1);

/// The policy's state.
#[derive(Clone, Debug)]
pub(crate) struct CoDel {
    cpus: f64,
    threads: f64,
    in_flight: u32,
    above_since: Option<Time>,
    is_dropping: bool,
    /// Drops of this dropping state or the last one, the number that it started from, and
    /// when the next was or would have been due.
    count: u32,
    began_with: u32,
    next: Time,
}

impl CoDel {
    /// For a service with this number of threads on so many processors.
    pub(crate) fn new(threads: u32, cpus: f64) -> Self {
        Self {
            cpus,
            threads: f64::from(threads),
            in_flight: 0,
            above_since: None,
            is_dropping: false,
            count: 0,
            began_with: 0,
            next: Time::ZERO,
        }
    }

    /// Requests and handshakes in flight at most.
    pub(crate) fn most(&self) -> f64 {
        (self.cpus * PER_CPU).max(self.threads * PER_THREAD)
    }

    /// When the next drop is due after one at that time.
    fn after(&self, drop: Time) -> Time {
        drop + INTERVAL.div_f64(f64::from(self.count).sqrt())
    }

    /// Admits one new session if less than the most is in flight.
    ///
    /// # Errors
    /// The time after which another decision is worthwhile.
    pub(crate) fn take(&mut self, moment: Moment) -> Result<(), Duration> {
        self.in_flight = moment.handshakes + moment.requests;
        if f64::from(self.in_flight) < self.most() { Ok(()) } else { Err(POLL) }
    }

    /// Whether the oldest queued session, which has waited so long, is to be refused now.
    pub(crate) fn drops_oldest(&mut self, now: Time, waited: Duration) -> bool {
        if waited < TARGET {
            (self.above_since, self.is_dropping) = (None, false);
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        if self.is_dropping {
            if now < self.next {
                return false;
            }
            self.count += 1;
            self.next = self.after(self.next);
            return true;
        }
        if now.saturating_sub(since) < INTERVAL {
            return false;
        }
        let of_last_time = self.count - self.began_with;
        let is_recent = now.saturating_sub(self.next) < INTERVAL * FORGOTTEN;
        self.count = if of_last_time > 1 && is_recent { of_last_time } else { 1 };
        self.began_with = self.count;
        self.next = self.after(now);
        self.is_dropping = true;
        true
    }

    pub(crate) fn observe(&mut self, reading: &Reading) {
        self.cpus = reading.capacity_cpus();
    }

    /// One sentence with numbers: why it decides as it does.
    pub(crate) fn why(&self) -> String {
        let (in_flight, most) = (self.in_flight, self.most());
        if self.is_dropping {
            let count = self.count;
            format!("{in_flight} of {most:.0} are in flight; the queue persists, drop {count}")
        } else {
            format!("{in_flight} of {most:.0} are in flight; the queue is short")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITED: Duration = Duration::from_millis(6);

    fn drops(codel: &mut CoDel, from_ms: u64, until_ms: u64) -> Vec<u64> {
        let drops = |ms: &u64| codel.drops_oldest(Time::from_millis(*ms), WAITED);
        (from_ms..until_ms).filter(drops).collect()
    }

    #[test]
    fn drops_come_faster_the_longer_the_queue_persists() {
        let mut codel = CoDel::new(1, 1.0);
        // After 100 ms, then 100, 100∕√2 = 70.7, 100∕√3 = 57.7, 50 later.
        assert_eq!(drops(&mut codel, 0, 400), [100, 200, 271, 329, 379]);
        assert!(!codel.drops_oldest(Time::from_millis(400), Duration::from_millis(4)));
        assert!(!codel.drops_oldest(Time::from_millis(401), WAITED), "a new interval begins");
    }

    #[test]
    fn a_queue_that_persists_again_soon_continues_from_the_last_drop_count() {
        let mut codel = CoDel::new(1, 1.0);
        drops(&mut codel, 0, 400);
        codel.drops_oldest(Time::from_millis(400), Duration::ZERO);
        // Five drops, the first started the state: it continues with four, 100∕√4 = 50
        // and 100∕√5 = 44.7 ms later.
        assert_eq!(drops(&mut codel, 401, 600), [501, 551, 596]);
        codel.drops_oldest(Time::from_millis(600), Duration::ZERO);
        assert_eq!(drops(&mut codel, 9000, 9250), [9100, 9200], "long forgotten");
    }

    #[test]
    fn sessions_are_admitted_up_to_the_processors_or_the_threads() {
        let mut codel = CoDel::new(60, 1.0);
        let open = |codel: &mut CoDel, requests| codel.take(Moment::in_flight(1, requests)).is_ok();
        // 1.2 × 60 = 72.
        assert!(open(&mut codel, 70) && !open(&mut codel, 71));
        let mut codel = CoDel::new(1, 1.0);
        assert!(open(&mut codel, 2) && !open(&mut codel, 3));
    }
}
