//! Which servers of an upstream get requests, and how many: judged by failed requests, by checks,
//! and by how long a server has been back. Pure: time is an argument.

use crate::config::Upstream;
use std::time::Duration;

/// The share of a server that gets as many requests as others.
pub const FULL_SHARE: u32 = 1000;
/// Most doublings of the time that a server is taken out for.
const DOUBLINGS: u32 = 5;
/// The share of a server that has just returned, in thousandths: enough to be seen to work.
const FIRST_SHARE: u32 = 50;

/// The rules by which servers are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Failed requests in a row after which a server is taken out; 0: none.
    pub eject_after: u64,
    /// How long it is taken out at first.
    pub eject_time: Duration,
    /// Failed checks in a row after which it is down.
    pub fall: u32,
    /// Good checks in a row after which it is up.
    pub rise: u32,
    /// How long its share grows.
    pub slow_start: Duration,
}

impl Rules {
    /// Those of an upstream.
    pub fn of(upstream: &Upstream) -> Self {
        Self {
            eject_after: upstream.eject_after.into(),
            eject_time: upstream.eject_time,
            fall: upstream.check_fall,
            rise: upstream.check_rise,
            slow_start: upstream.slow_start,
        }
    }
}

/// What was seen of a server since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Requests that it answered.
    pub good: u64,
    /// Requests that it failed.
    pub failed: u64,
    /// Checks that were good in a row up to now; negative: that failed. 0 where there was none.
    pub checks: i32,
}

/// What changed of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// It is taken out for this long, after so many failed requests in a row.
    Ejected(Duration, u64),
    /// It would be, but no other server is left.
    Spared(u64),
    /// It is down, after so many failed checks in a row.
    Down(u32),
    /// It gets requests again.
    Returned,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// In use since this time, if it was not always.
    Up(Option<Duration>),
    /// Taken out until this time.
    Ejected(Duration),
    /// Until its checks are good.
    Down,
}

/// The standing of one server.
#[derive(Clone, Debug)]
pub struct Standing {
    state: State,
    /// Failed requests in a row.
    failed: u64,
    /// How often it was taken out of late.
    ejections: u32,
    /// It was spared, and that was told.
    spared: bool,
}

impl Default for Standing {
    fn default() -> Self {
        Self { state: State::Up(None), failed: 0, ejections: 0, spared: false }
    }
}

impl Standing {
    /// Looks at what was seen until `now`. `last` tells whether no other server gets requests.
    pub fn observe(
        &mut self,
        now: Duration,
        seen: Seen,
        last: bool,
        rules: &Rules,
    ) -> Option<Change> {
        let fallen = seen.checks.min(0).unsigned_abs();
        self.failed = if seen.good > 0 { 0 } else { self.failed + seen.failed };
        match self.state {
            State::Up(_) if fallen >= rules.fall => {
                self.state = State::Down;
                Some(Change::Down(fallen))
            }
            State::Up(since) => {
                let out_for = rules.eject_time * (1 << self.ejections.min(DOUBLINGS));
                let held = since.is_some_and(|since| now >= since + out_for);
                if seen.good > 0 && held {
                    self.ejections = 0;
                }
                self.spared &= seen.good == 0;
                if rules.eject_after == 0 || self.failed < rules.eject_after {
                    return None;
                }
                let failed = self.failed;
                if last {
                    return (!std::mem::replace(&mut self.spared, true))
                        .then_some(Change::Spared(failed));
                }
                self.failed = 0;
                self.ejections += 1;
                self.state = State::Ejected(now + out_for);
                Some(Change::Ejected(out_for, failed))
            }
            // The last check, if there was one, was good.
            State::Ejected(until) if now >= until && seen.checks >= 0 => Some(self.returns(now)),
            // Nobody checks it any more.
            State::Down if seen.checks == 0 => Some(self.returns(now)),
            State::Down if seen.checks >= i32::try_from(rules.rise).unwrap_or(i32::MAX) => {
                Some(self.returns(now))
            }
            State::Ejected(_) | State::Down => None,
        }
    }

    fn returns(&mut self, now: Duration) -> Change {
        (self.state, self.failed, self.spared) = (State::Up(Some(now)), 0, false);
        Change::Returned
    }

    /// Whether it gets requests.
    pub fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }

    /// Its share of the requests, in thousandths.
    pub fn share(&self, now: Duration, rules: &Rules) -> u32 {
        match self.state {
            State::Up(Some(since)) if now < since + rules.slow_start => {
                let part = (now.saturating_sub(since)).div_duration_f64(rules.slow_start);
                ((part * f64::from(FULL_SHARE)) as u32).clamp(FIRST_SHARE, FULL_SHARE)
            }
            State::Up(_) => FULL_SHARE,
            State::Ejected(_) | State::Down => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const RULES: Rules = Rules {
        eject_after: 3,
        eject_time: Duration::from_secs(10),
        fall: 3,
        rise: 2,
        slow_start: Duration::from_secs(10),
    };

    fn failed(failed: u64) -> Seen {
        Seen { failed, ..Seen::default() }
    }

    fn good(good: u64) -> Seen {
        Seen { good, ..Seen::default() }
    }

    fn checks(checks: i32) -> Seen {
        Seen { checks, ..Seen::default() }
    }

    #[test]
    fn failures_in_a_row_take_a_server_out_and_a_good_answer_between_them_does_not() {
        let mut standing = Standing::default();
        let mut at = |second: u32, seen| standing.observe(SECOND * second, seen, false, &RULES);
        assert_eq!(at(0, failed(2)), None);
        assert_eq!(at(1, Seen { good: 1, failed: 9, checks: 0 }), None);
        assert_eq!(at(2, failed(2)), None);
        assert_eq!(at(3, failed(1)), Some(Change::Ejected(SECOND * 10, 3)));
        assert!(!standing.is_up());
        assert_eq!(standing.share(SECOND * 3, &RULES), 0);
    }

    #[test]
    fn each_time_it_is_out_twice_as_long_until_it_has_held() {
        let (mut standing, mut now, mut out) = (Standing::default(), SECOND, Vec::new());
        for _ in 0..7 {
            let change = standing.observe(now, failed(3), false, &RULES);
            let Some(Change::Ejected(time, _)) = change else { panic!("{change:?}") };
            out.push(time.as_secs());
            assert_eq!(standing.observe(now + time - SECOND, failed(0), false, &RULES), None);
            now += time;
            let change = standing.observe(now, failed(0), false, &RULES);
            assert_eq!(change, Some(Change::Returned));
        }
        assert_eq!(out, [10, 20, 40, 80, 160, 320, 320]);
        now += SECOND * 320;
        assert_eq!(standing.observe(now, good(1), false, &RULES), None);
        let change = standing.observe(now, failed(3), false, &RULES);
        assert_eq!(change, Some(Change::Ejected(SECOND * 10, 3)));
    }

    #[test]
    fn a_server_that_was_taken_out_returns_only_when_its_check_is_good() {
        let mut standing = Standing::default();
        let mut at = |second: u32, seen| standing.observe(SECOND * second, seen, false, &RULES);
        at(0, failed(3));
        assert_eq!(at(10, checks(-9)), None);
        assert_eq!(at(11, checks(1)), Some(Change::Returned));
    }

    #[test]
    fn the_last_server_is_never_taken_out_and_that_is_told_once() {
        let mut standing = Standing::default();
        let mut at = |seen| standing.observe(SECOND, seen, true, &RULES);
        assert_eq!(at(failed(3)), Some(Change::Spared(3)));
        assert_eq!(at(failed(3)), None);
        assert_eq!(at(good(1)), None);
        assert_eq!(at(failed(3)), Some(Change::Spared(3)));
        assert!(standing.is_up());
    }

    #[test]
    fn checks_decide_after_their_thresholds() {
        let mut standing = Standing::default();
        let mut at = |seen| standing.observe(SECOND, seen, false, &RULES);
        assert_eq!(at(checks(-2)), None);
        assert_eq!(at(checks(-3)), Some(Change::Down(3)));
        assert_eq!(at(checks(1)), None);
        assert_eq!(at(checks(2)), Some(Change::Returned));
        assert_eq!(at(checks(-3)), Some(Change::Down(3)));
        assert_eq!(at(checks(0)), Some(Change::Returned), "nobody checks it any more");
    }

    #[test]
    fn without_a_threshold_no_failure_takes_a_server_out() {
        let rules = Rules { eject_after: 0, ..RULES };
        let mut standing = Standing::default();
        assert_eq!(standing.observe(SECOND, failed(1000), false, &rules), None);
    }

    #[test]
    fn a_server_that_returns_gets_its_share_step_by_step() {
        let mut standing = Standing::default();
        assert_eq!(standing.share(SECOND, &RULES), FULL_SHARE, "one that was always there");
        standing.observe(Duration::ZERO, checks(-3), false, &RULES);
        standing.observe(SECOND * 10, checks(2), false, &RULES);
        let at = |second: u32| standing.share(SECOND * second, &RULES);
        assert_eq!([10, 11, 15, 19, 20].map(at), [50, 100, 500, 900, 1000]);
    }
}
