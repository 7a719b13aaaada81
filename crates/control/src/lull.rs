//! When to let a new session in, to the millisecond: in the lulls.

use std::time::Duration;

/// Requests per processor that may be owed, beside one handshake, before a new
/// session counts as coming at a busy moment: with fewer, processors would
/// run idle now and then.
const REQUESTS: f64 = 2.0;
/// The same in requests, where processors are out of sight, at least.
const UNSEEN_REQUESTS: f64 = 4.0;
/// Share of the burst that must be in hand at a busy moment. With a full
/// bucket there is no overload, and nobody waits for a lull.
const RESERVE: f64 = 0.9;
/// Times the allowed at which nobody new comes in, whatever is in hand: as at
/// the very start of a crowd, when the bucket is full and costs are guesses.
const FLOOD: f64 = 10.0;

/// Compares what is in flight with what may be.
///
/// Work is in CPU seconds of the tightest resource, or in requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lull {
    told: Option<(u32, u32)>,
    handshake: f64,
    request: f64,
    calm_requests: f64,
    allowed: f64,
    cpus: f64,
}

impl Lull {
    /// Tells what is in flight now.
    pub(crate) fn in_flight(&mut self, handshakes: u32, requests: u32) {
        self.told = Some((handshakes, requests));
    }

    /// Whether it is ever told.
    pub(crate) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// From now on: work on processors, of which a handshake and a request need
    /// so much; `calm_requests` in flight are normal and owe nothing.
    pub(crate) fn by_cpu(&mut self, cpus: f64, handshake: f64, request: f64, calm_requests: f64) {
        (self.cpus, self.handshake, self.request) = (cpus, handshake + request, request);
        (self.calm_requests, self.allowed) =
            (calm_requests, cpus * (handshake + REQUESTS * request));
    }

    /// From now on: requests, of which so many in flight are normal.
    pub(crate) fn by_requests(&mut self, calm_requests: f64) {
        (self.cpus, self.handshake, self.request) = (0.0, 1.0, 1.0);
        (self.calm_requests, self.allowed) = (calm_requests, calm_requests.max(UNSEEN_REQUESTS));
    }

    /// Whether a new session may in with so many tokens in hand, of at most
    /// `burst`; else when to ask again.
    pub(crate) fn admits(&self, tokens: f64, burst: f64) -> Result<(), Duration> {
        let Some((handshakes, requests)) = self.told else { return Ok(()) };
        let owed = f64::from(handshakes) * self.handshake
            + (f64::from(requests) - self.calm_requests).max(0.0) * self.request;
        if owed <= self.allowed {
            return Ok(());
        }
        let excess = (owed - self.allowed) / self.allowed;
        let needed = 1.0 + (burst - 1.0).max(0.0) * excess.min(RESERVE);
        if excess < FLOOD && tokens >= needed {
            return Ok(());
        }
        let busy_s = if self.cpus > 0.0 { owed / self.cpus } else { 0.005 };
        Err(Duration::from_secs_f64(busy_s.clamp(0.001, 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One processor, handshake 6 ms, request 2 ms: 10 ms may be owed.
    fn lull(handshakes: u32, requests: u32) -> Lull {
        let mut lull = Lull::default();
        lull.by_cpu(1.0, 0.006, 0.002, 1.0);
        lull.in_flight(handshakes, requests);
        lull
    }

    #[test]
    fn in_a_lull_one_token_is_enough() {
        // Six requests, of which one is normal: 10 ms.
        assert_eq!(lull(0, 6).admits(1.0, 11.0), Ok(()));
    }

    #[test]
    fn a_busy_moment_asks_for_a_reserve() {
        // 8 ms + 4 × 2 ms = 16 ms: 60 % too many, 60 % of the 10 beside the one.
        assert_eq!(lull(1, 5).admits(6.9, 11.0), Err(Duration::from_millis(16)));
        assert_eq!(lull(1, 5).admits(7.0, 11.0), Ok(()));
        assert_eq!(lull(5, 5).admits(10.0, 11.0), Ok(()));
    }

    #[test]
    fn in_a_flood_nothing_in_hand_helps() {
        assert!(lull(14, 1).admits(11.0, 11.0).is_err());
    }

    #[test]
    fn who_is_never_told_never_objects() {
        let mut lull = Lull::default();
        lull.by_cpu(1.0, 0.006, 0.002, 1.0);
        assert_eq!(lull.admits(0.0, 5.0), Ok(()));
    }
}
