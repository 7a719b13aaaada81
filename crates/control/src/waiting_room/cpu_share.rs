//! The share of the processors that the room may use. A handshake begins, and a page is made, only
//! while some of it is left; what they cost is measured, and charged afterwards.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What is expected of a handshake until it is measured: a full one signs.
const FULL: Duration = Duration::from_millis(1);
/// The same of one from a ticket.
const RESUMED: Duration = Duration::from_micros(200);
/// The share of so much time may be used at once.
const BURST: Duration = Duration::from_secs(1);
/// The part of that which strangers leave to those who have a place: their pages come first.
const RESERVED: f64 = 0.25;

/// Longest time between two pages of a customer, whatever they cost: well below the time for which
/// a place is kept.
const LONGEST_REFRESH_S: f64 = 120.0;

/// Shortest time between two pages of each of those who wait, so that all pages take at most half
/// of a share of `per_s` CPU seconds per second, where one takes `each_s`.
pub fn least_refresh(waiting: u64, each_s: f64, per_s: f64) -> Duration {
    let least_s = waiting as f64 * each_s / (per_s * 0.5);
    Duration::from_secs_f64(least_s.min(LONGEST_REFRESH_S))
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Somebody without a place, by a full handshake or a proxy's request.
    Stranger,
    /// Somebody whose ticket, or cookie behind a proxy, says that they have one.
    Waiting,
}

/// A bucket of CPU seconds.
#[derive(Debug, Default)]
pub struct CpuShare(Mutex<Level>);

#[derive(Debug, Default)]
struct Level {
    /// CPU seconds that are left; below 0 they are owed.
    left_s: f64,
    at: Option<Duration>,
    charged_ns: u64,
    /// CPU seconds of handshakes that have begun and are not measured.
    begun_s: f64,
}

impl CpuShare {
    /// Whether a handshake of the room may begin now, of which [`CpuShare::ends`] must tell the
    /// end. `per_s` is the share in CPU seconds per second, `spent_ns` what all cores have
    /// spent on the room.
    pub fn begins(&self, asks: Asks, per_s: f64, spent_ns: u64, now: Duration) -> bool {
        let mut level = self.level();
        level.refill(per_s, spent_ns, now);
        let begins = level.is_left(asks, per_s);
        if begins {
            level.begun_s += price(asks);
        }
        begins
    }

    /// A handshake that began was measured.
    pub fn ends(&self, asks: Asks) {
        let mut level = self.level();
        level.begun_s = (level.begun_s - price(asks)).max(0.0);
    }

    /// Whether a page may be made. To whoever had a handshake of the room one was promised: they
    /// ask as those who wait.
    pub fn allows_page(&self, asks: Asks, per_s: f64, spent_ns: u64, now: Duration) -> bool {
        let mut level = self.level();
        level.refill(per_s, spent_ns, now);
        level.is_left(asks, per_s)
    }

    fn level(&self) -> MutexGuard<'_, Level> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Level {
    fn refill(&mut self, per_s: f64, spent_ns: u64, now: Duration) {
        let most = per_s * BURST.as_secs_f64();
        let gained = match self.at.replace(now) {
            Some(at) => now.saturating_sub(at).as_secs_f64() * per_s,
            None => most,
        };
        let spent = spent_ns.saturating_sub(std::mem::replace(&mut self.charged_ns, spent_ns));
        self.left_s = (self.left_s + gained).min(most) - spent as f64 / 1e9;
    }

    fn is_left(&self, asks: Asks, per_s: f64) -> bool {
        let reserved = match asks {
            Asks::Stranger => per_s * BURST.as_secs_f64() * RESERVED,
            Asks::Waiting => 0.0,
        };
        self.left_s - self.begun_s > reserved
    }
}

fn price(asks: Asks) -> f64 {
    match asks {
        Asks::Stranger => FULL.as_secs_f64(),
        Asks::Waiting => RESUMED.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_was_spent_is_charged_and_strangers_leave_a_part_to_those_who_wait() {
        let cpu = CpuShare::default();
        let begins = |asks, spent_ns, at| {
            let begins = cpu.begins(asks, 0.2, spent_ns, at);
            begins.then(|| cpu.ends(asks)).is_some()
        };
        assert!(begins(Asks::Stranger, 0, SECOND), "0.2 s are there");
        assert!(!begins(Asks::Stranger, 160_000_000, SECOND), "0.04 s are left");
        assert!(begins(Asks::Waiting, 160_000_000, SECOND));
        let page = |asks| cpu.allows_page(asks, 0.2, 160_000_000, SECOND);
        assert!(page(Asks::Waiting) && !page(Asks::Stranger));
        assert!(!begins(Asks::Waiting, 300_000_000, SECOND), "0.1 s are owed");
        assert!(!begins(Asks::Waiting, 300_000_000, SECOND * 3 / 2), "and paid after 0.5 s");
        assert!(begins(Asks::Waiting, 300_000_000, SECOND * 2));
    }

    #[test]
    fn a_crowd_of_handshakes_that_are_not_measured_yet_is_bounded() {
        let cpu = CpuShare::default();
        let begun = (0..10_000).filter(|_| cpu.begins(Asks::Stranger, 0.1, 0, SECOND)).count();
        assert!((70..=80).contains(&begun), "{begun} of 1 ms within three quarters of 0.1 s");
        (0..begun).for_each(|_| cpu.ends(Asks::Stranger));
        assert!(cpu.begins(Asks::Stranger, 0.1, 0, SECOND));
    }

    #[test]
    fn pages_take_half_of_the_share() {
        // 1000 pages of 1 ms take 1 s, which half of 0.2 gives in 10 s.
        assert_eq!(least_refresh(1_000, 0.001, 0.2), Duration::from_secs(10));
        assert_eq!(least_refresh(1_000_000, 0.001, 0.2), Duration::from_secs(120));
        assert_eq!(least_refresh(0, 0.0, 0.0), Duration::from_secs(120));
    }

    #[test]
    fn without_a_share_nothing_begins() {
        assert!(!CpuShare::default().begins(Asks::Waiting, 0.0, 0, SECOND));
    }
}
