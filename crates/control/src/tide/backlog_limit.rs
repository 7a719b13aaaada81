//! The backlog limit: new sessions wait while more work is in flight than the
//! processors need to stay busy.

use std::time::Duration;

use crate::moment::Moment;
use crate::tide::tuning::Tuning;

/// Compares the backlog of a moment with its limit.
///
/// Work is in CPU seconds of the limiting resource, or in requests where that is out
/// of sight.
///
/// Source: the reserve beyond one piece of work per processor grows with the square root
/// of the processors (Halfin and Whitt 1981, "Heavy-traffic limits for queues with many
/// exponential servers", Operations Research 29(3)).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BacklogLimit {
    handshake: f64,
    request: f64,
    calm_requests: f64,
    limit: f64,
    cpus: f64,
    utilization: f64,
}

/// What work needs of processors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Number of processors.
    pub(crate) cpus: f64,
    /// Share of them that was used in about the last second.
    pub(crate) utilization: f64,
    /// CPU seconds of a handshake.
    pub(crate) handshake: f64,
    /// CPU seconds of a request.
    pub(crate) request: f64,
    /// Requests in flight that are normal and do not count as backlog.
    pub(crate) calm_requests: f64,
}

/// The backlog with which so many processors stay busy, in CPU seconds.
pub(super) fn limit_s(cpus: f64, handshake: f64, request: f64, tuning: &Tuning) -> f64 {
    let root = cpus.sqrt();
    let by_handshakes = (cpus + tuning.reserve_handshakes * root) * handshake;
    let by_requests = (cpus + tuning.reserve_requests * root) * request;
    by_handshakes.max(by_requests).max(cpus * tuning.least_limit_s)
}

impl BacklogLimit {
    /// From now on, nobody knows whether processors have time to spare.
    pub(crate) fn assume_full_use(&mut self) {
        self.utilization = 1.0;
    }

    /// From now on, the limit is in CPU seconds.
    pub(crate) fn by_cpu(&mut self, work: Work, tuning: &Tuning) {
        let Work { cpus, utilization, handshake, request, calm_requests } = work;
        *self = Self {
            handshake,
            request,
            calm_requests,
            limit: limit_s(cpus, handshake, request, tuning),
            cpus,
            utilization,
        };
    }

    /// From now on, the limit is in requests, of which so many in flight are normal.
    pub(crate) fn by_requests(&mut self, calm_requests: f64, tuning: &Tuning) {
        let limit = calm_requests.max(tuning.unseen_requests);
        *self = Self { request: 1.0, calm_requests, limit, ..Self::default() };
    }

    /// Whether a new session may be admitted at a moment with so many tokens left, of at
    /// most `burst`; else the backlog that is in the way.
    pub(crate) fn admits(
        &self,
        moment: Moment,
        (tokens, burst): (f64, f64),
        tuning: &Tuning,
    ) -> Result<(), Backlog> {
        let Moment { handshakes, requests, allowed_backlog, .. } = moment;
        // Each handshake is followed by a request.
        let number = f64::from(handshakes);
        let handshakes_s = match moment.handshake_cpu {
            Some(cpu) if self.handshake > 0.0 => cpu.as_secs_f64(),
            _ => number * self.handshake,
        };
        let backlog = handshakes_s
            + number * self.request
            + (f64::from(requests) - self.calm_requests).max(0.0) * self.request;
        if backlog <= self.limit {
            return Ok(());
        }
        let excess = (backlog - self.limit) / self.limit;
        let needed = 1.0 + (burst - 1.0).max(0.0) * excess.min(tuning.spare_tokens);
        if self.utilization < tuning.spare_utilization
            && tokens >= needed
            && (self.utilization < tuning.waiting_utilization
                || backlog <= self.limit + self.allowed_cpu_s(allowed_backlog))
        {
            return Ok(());
        }
        Err(Backlog { handshakes, requests, backlog, limit: self.limit, cpus: self.cpus })
    }

    /// CPU seconds above the limit that the wait of one core's queue allows.
    ///
    /// That core does all of this work, and the queues of several cores wait at the same
    /// time: each is allowed its share of what one processor does meanwhile.
    fn allowed_cpu_s(&self, allowed_backlog: Duration) -> f64 {
        allowed_backlog.as_secs_f64() * self.cpus.min(1.0 / self.cpus)
    }
}

/// A backlog above its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Backlog {
    handshakes: u32,
    requests: u32,
    backlog: f64,
    limit: f64,
    cpus: f64,
}

impl Backlog {
    /// When another decision is worthwhile.
    pub(crate) fn retry_after(&self) -> Duration {
        let busy_s = if self.cpus > 0.0 { self.backlog / self.cpus } else { 0.005 };
        Duration::from_secs_f64(busy_s.clamp(0.001, 1.0))
    }

    pub(crate) fn why(&self) -> String {
        let Self { handshakes, requests, backlog, limit, cpus } = self;
        if *cpus > 0.0 {
            format!(
                "the backlog is {:.2} ms of CPU ({handshakes} handshakes and {requests} requests \
                 in flight), and new sessions wait until it is at most {:.2}",
                backlog * 1e3,
                limit * 1e3
            )
        } else {
            format!(
                "{handshakes} handshakes and {requests} requests are in flight, {backlog:.1} more \
                 than without a queue, and new sessions wait until it is at most {limit:.1}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One processor, handshake 4 ms, request 2 ms: the limit is 6 ms.
    const WORK: Work =
        Work { cpus: 1.0, utilization: 0.6, handshake: 0.004, request: 0.002, calm_requests: 1.0 };
    const TUNING: fn() -> Tuning = Tuning::default;

    fn limit(work: Work) -> BacklogLimit {
        let mut limit = BacklogLimit::default();
        limit.by_cpu(work, &TUNING());
        limit
    }

    /// The decision with so much in flight and so many of 11 tokens left.
    fn admits(work: Work, handshakes: u32, requests: u32, tokens: f64) -> Result<(), Backlog> {
        limit(work).admits(Moment::in_flight(handshakes, requests), (tokens, 11.0), &TUNING())
    }

    #[test]
    fn below_the_limit_one_token_is_enough() {
        // Four requests, of which one is normal: 6 ms.
        assert_eq!(admits(WORK, 0, 4, 1.0), Ok(()));
    }

    #[test]
    fn above_the_limit_with_time_to_spare_part_of_the_burst_must_be_left() {
        // 6 + 4 ms = 10 ms: two thirds too many, two thirds of the 10 beside the one.
        let backlog = admits(WORK, 1, 3, 7.6).unwrap_err();
        assert_eq!(backlog.retry_after(), Duration::from_millis(10));
        assert_eq!(
            backlog.why(),
            "the backlog is 10.00 ms of CPU (1 handshakes and 3 requests in flight), and new \
             sessions wait until it is at most 6.00"
        );
        assert_eq!(admits(WORK, 1, 3, 7.7), Ok(()));
        assert_eq!(admits(WORK, 5, 5, 10.0), Ok(()));
    }

    #[test]
    fn the_wait_of_one_cores_queue_allows_its_share_of_one_processor() {
        let allowed = |cpus| {
            let limit = BacklogLimit { cpus, ..BacklogLimit::default() };
            limit.allowed_cpu_s(Duration::from_millis(40))
        };
        assert_eq!([0.5, 1.0, 2.0, 4.0].map(allowed), [0.02, 0.04, 0.02, 0.01]);
    }

    #[test]
    fn the_reserve_per_processor_shrinks_with_their_number() {
        // 4 ms for each, and 2 times the square root.
        for (cpus, limit_ms) in [(1.0, 6.0), (4.0, 20.0), (16.0, 72.0)] {
            let limit = limit(Work { cpus, ..WORK }).limit;
            assert!((limit * 1e3 - limit_ms).abs() < 1e-9, "{cpus}: {limit}");
        }
    }

    #[test]
    fn cheap_work_may_fill_the_time_until_the_next_decision() {
        // 50 µs each, on two processors: 135 by handshakes, 171 by requests, 500 for each.
        let cheap = Work { handshake: 5e-5, request: 5e-5, cpus: 2.0, ..WORK };
        assert!((limit(cheap).limit - 0.001).abs() < 1e-12);
    }

    #[test]
    fn with_time_to_spare_the_allowed_backlog_bounds_admission_above_the_limit() {
        // The limit is 6 ms, and 10 are in flight: 4 ms above it.
        let admits = |utilization, allowed_ms| {
            let allowed_backlog = Duration::from_millis(allowed_ms);
            let moment = Moment { allowed_backlog, ..Moment::in_flight(0, 6) };
            limit(Work { utilization, ..WORK }).admits(moment, (11.0, 11.0), &TUNING()).is_ok()
        };
        assert_eq!([0, 3, 4, 5].map(|ms| admits(0.6, ms)), [false, false, true, true]);
        assert!(admits(0.4, 0), "what is in flight waits for something else");
    }

    #[test]
    fn a_backlog_out_of_sight_is_not_waited_for_where_the_plan_has_room() {
        let mut limit = limit(WORK);
        limit.by_requests(2.0, &TUNING());
        // Seven more than normal, and the limit is four.
        let moment = Moment { allowed_backlog: Duration::ZERO, ..Moment::in_flight(0, 9) };
        assert_eq!(limit.admits(moment, (11.0, 11.0), &TUNING()), Ok(()));
    }

    #[test]
    fn fully_used_processors_admit_nobody_above_the_limit() {
        let busy = Work { utilization: 0.95, ..WORK };
        assert!(admits(busy, 1, 2, 11.0).is_err());
        assert_eq!(admits(busy, 0, 4, 1.0), Ok(()));
    }

    #[test]
    fn a_processor_without_handshakes_may_have_a_backlog_of_two_requests() {
        let work = Work { handshake: 0.0, utilization: 0.95, ..WORK };
        assert_eq!(admits(work, 0, 3, 1.0), Ok(()));
        assert!(admits(work, 0, 4, 11.0).is_err());
    }

    #[test]
    fn without_readings_only_the_limit_counts() {
        let mut limit = limit(WORK);
        let admits = |limit: &BacklogLimit| {
            limit.admits(Moment::in_flight(1, 2), (11.0, 11.0), &TUNING()).is_ok()
        };
        assert!(admits(&limit));
        limit.assume_full_use();
        assert!(!admits(&limit));
    }
}
