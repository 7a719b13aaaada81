//! When to let a new session in, to the millisecond: in the lulls.

use std::time::Duration;

/// Handshakes that may be owed in a lull beyond one for each processor, times the
/// square root of the processors: the more there are, the less do they need in
/// reserve each, so that none runs idle (Halfin and Whitt, "Heavy-traffic limits for
/// queues with many exponential servers", Operations Research 29(3), 1981). With
/// more, the queue is longer; with fewer, programs find less to do whenever they
/// wake up, and a request costs more.
const HANDSHAKES: f64 = 0.5;
/// The same in requests, where a handshake weighs less or falls on other
/// processors: with fewer, this one would run idle while a newcomer shakes
/// hands elsewhere.
const REQUESTS: f64 = 1.0;
/// The same in requests, where processors are out of sight, at least.
const UNSEEN_REQUESTS: f64 = 4.0;
/// Use in the last second below which processors have time to spare: what is in
/// flight then waits for something else, and owes them less than it seems to.
const SPARE: f64 = 0.93;
/// Use from which on a lull is waited for, time to spare or not. With less, what is in
/// flight waits for something else, and a lull may never come.
const WORTH_WAITING: f64 = 0.5;
/// With time to spare, share of the burst that must be in hand at a busy
/// moment. With a full bucket there is no overload, and nobody waits for a lull.
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
    bearable_s: Option<f64>,
    handshake: f64,
    request: f64,
    calm_requests: f64,
    allowed: f64,
    cpus: f64,
    in_use: f64,
}

/// What work needs of processors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// How many there are, and the share of them that was used lately.
    pub(crate) cpus: f64,
    pub(crate) in_use: f64,
    /// CPU seconds of a handshake, and of a request.
    pub(crate) handshake: f64,
    pub(crate) request: f64,
    /// Requests in flight that are normal and owe nothing.
    pub(crate) calm_requests: f64,
}

impl Lull {
    /// Tells what is in flight now.
    pub(crate) fn in_flight(&mut self, handshakes: u32, requests: u32) {
        self.told = Some((handshakes, requests));
    }

    /// Tells how much may be owed beyond what a lull allows, where processors have time
    /// to spare, as the time that they take for it.
    pub(crate) fn bears(&mut self, bearable: Duration) {
        self.bearable_s = Some(bearable.as_secs_f64());
    }

    /// From now on: nobody knows whether processors have time to spare.
    pub(crate) fn assume_full_use(&mut self) {
        self.in_use = 1.0;
    }

    /// Whether it is ever told.
    pub(crate) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// From now on: work on processors.
    pub(crate) fn by_cpu(&mut self, work: Work) {
        let Work { cpus, in_use, handshake, request, calm_requests } = work;
        (self.cpus, self.in_use, self.calm_requests) = (cpus, in_use, calm_requests);
        (self.handshake, self.request) = (handshake + request, request);
        let root = cpus.sqrt();
        let by_handshakes = (cpus + HANDSHAKES * root) * handshake;
        let by_requests = (cpus + REQUESTS * root) * request;
        self.allowed = by_handshakes.max(by_requests);
    }

    /// From now on: requests, of which so many in flight are normal.
    pub(crate) fn by_requests(&mut self, calm_requests: f64) {
        (self.cpus, self.in_use, self.calm_requests) = (0.0, 0.0, calm_requests);
        (self.handshake, self.request) = (1.0, 1.0);
        self.allowed = calm_requests.max(UNSEEN_REQUESTS);
    }

    /// Whether a new session may in with so many tokens in hand, of at most
    /// `burst`; else what is in the way.
    pub(crate) fn admits(&self, tokens: f64, burst: f64) -> Result<(), Busy> {
        let Some((handshakes, requests)) = self.told else { return Ok(()) };
        let owed = f64::from(handshakes) * self.handshake
            + (f64::from(requests) - self.calm_requests).max(0.0) * self.request;
        if owed <= self.allowed {
            return Ok(());
        }
        let excess = (owed - self.allowed) / self.allowed;
        let needed = 1.0 + (burst - 1.0).max(0.0) * excess.min(RESERVE);
        if self.in_use < SPARE && excess < FLOOD && tokens >= needed && self.is_bearable(owed) {
            return Ok(());
        }
        Err(Busy { handshakes, requests, owed, allowed: self.allowed, cpus: self.cpus })
    }

    /// Whether so much may be owed at a busy moment with time to spare. Out of sight
    /// nobody knows how much that is.
    fn is_bearable(&self, owed: f64) -> bool {
        let bearable = |time_s| owed <= self.allowed + self.cpus * time_s;
        self.in_use < WORTH_WAITING || self.bearable_s.is_none_or(bearable)
    }
}

/// What keeps new sessions out at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Busy {
    handshakes: u32,
    requests: u32,
    owed: f64,
    allowed: f64,
    cpus: f64,
}

impl Busy {
    /// When to ask again.
    pub(crate) fn ask_after(&self) -> Duration {
        let busy_s = if self.cpus > 0.0 { self.owed / self.cpus } else { 0.005 };
        Duration::from_secs_f64(busy_s.clamp(0.001, 1.0))
    }

    pub(crate) fn why(&self) -> String {
        let Self { handshakes, requests, owed, allowed, cpus } = self;
        if *cpus > 0.0 {
            format!(
                "{handshakes} handshakes and {requests} requests in flight owe {:.2} ms CPU, and \
                 newcomers wait for a moment with {:.2} or less",
                owed * 1e3,
                allowed * 1e3
            )
        } else {
            format!(
                "{handshakes} handshakes and {requests} requests are in flight, {owed:.1} more than \
                 in a calm, and newcomers wait for a moment with {allowed:.1} or less"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One processor, handshake 4 ms, request 2 ms: 6 ms may be owed.
    const WORK: Work =
        Work { cpus: 1.0, in_use: 0.5, handshake: 0.004, request: 0.002, calm_requests: 1.0 };

    fn lull(work: Work, handshakes: u32, requests: u32) -> Lull {
        let mut lull = Lull::default();
        lull.by_cpu(work);
        lull.in_flight(handshakes, requests);
        lull
    }

    #[test]
    fn in_a_lull_one_token_is_enough() {
        // Four requests, of which one is normal: 6 ms.
        assert_eq!(lull(WORK, 0, 4).admits(1.0, 11.0), Ok(()));
    }

    #[test]
    fn a_busy_moment_with_time_to_spare_asks_for_a_reserve() {
        // 6 ms + 4 ms = 10 ms: two thirds too many, two thirds of the 10 beside the one.
        let busy = lull(WORK, 1, 3).admits(7.6, 11.0).unwrap_err();
        assert_eq!(busy.ask_after(), Duration::from_millis(10));
        assert_eq!(
            busy.why(),
            "1 handshakes and 3 requests in flight owe 10.00 ms CPU, and newcomers wait for a \
             moment with 6.00 or less"
        );
        assert_eq!(lull(WORK, 1, 3).admits(7.7, 11.0), Ok(()));
        assert_eq!(lull(WORK, 5, 5).admits(10.0, 11.0), Ok(()));
    }

    #[test]
    fn the_more_processors_the_less_each_needs_in_reserve() {
        // 4 ms for each, and 2 times the square root.
        for (cpus, allowed_ms) in [(1.0, 6.0), (4.0, 20.0), (16.0, 72.0)] {
            let allowed = lull(Work { cpus, ..WORK }, 0, 0).allowed;
            assert!((allowed * 1e3 - allowed_ms).abs() < 1e-9, "{cpus}: {allowed}");
        }
    }

    #[test]
    fn with_time_to_spare_too_a_lull_is_waited_for_as_long_as_that_can_be_borne() {
        // 6 ms may be owed, and 10 are: 4 ms too many for the processor.
        let admits = |in_use, bearable_ms| {
            let mut lull = lull(Work { in_use, ..WORK }, 0, 6);
            lull.bears(Duration::from_millis(bearable_ms));
            lull.admits(11.0, 11.0).is_ok()
        };
        assert_eq!([0, 3, 4, 5].map(|ms| admits(0.6, ms)), [false, false, true, true]);
        assert!(admits(0.4, 0), "what is in flight waits for something else");
    }

    #[test]
    fn what_is_owed_out_of_sight_is_not_waited_for_where_the_plan_has_room() {
        let mut lull = lull(WORK, 0, 9);
        lull.bears(Duration::ZERO);
        lull.by_requests(2.0);
        // Seven more than normal, four are allowed.
        assert_eq!(lull.admits(11.0, 11.0), Ok(()));
    }

    #[test]
    fn a_busy_moment_of_a_busy_time_lets_nobody_in() {
        let busy = Work { in_use: 0.95, ..WORK };
        assert!(lull(busy, 1, 2).admits(11.0, 11.0).is_err());
        assert_eq!(lull(busy, 0, 4).admits(1.0, 11.0), Ok(()));
    }

    #[test]
    fn a_processor_without_handshakes_may_owe_two_requests() {
        let work = Work { handshake: 0.0, in_use: 0.95, ..WORK };
        assert_eq!(lull(work, 0, 3).admits(1.0, 11.0), Ok(()));
        assert!(lull(work, 0, 4).admits(1.0, 11.0).is_err());
    }

    #[test]
    fn without_readings_only_lulls_count() {
        let mut lull = lull(WORK, 1, 2);
        assert_eq!(lull.admits(11.0, 11.0), Ok(()));
        lull.assume_full_use();
        assert!(lull.admits(11.0, 11.0).is_err());
    }

    #[test]
    fn in_a_flood_nothing_in_hand_helps() {
        assert!(lull(WORK, 11, 1).admits(11.0, 11.0).is_err());
    }

    #[test]
    fn who_is_never_told_never_objects() {
        let mut lull = Lull::default();
        lull.by_cpu(WORK);
        assert_eq!(lull.admits(0.0, 5.0), Ok(()));
    }
}
