//! Bounds how often events are logged: strangers cause some of them, and an outage causes one
//! with each request.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Between two lines of a kind.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two lines of one cause.
const REPEAT: Duration = Duration::from_secs(10);
/// Most causes that are told apart.
const CAUSES: usize = 32;

/// One line per second at most; those between are counted.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl Throttle {
    /// Nothing was logged yet.
    pub const fn new() -> Self {
        Self(Mutex::new(State { last: None, left_out: 0 }))
    }

    /// Whether an event at this time is logged, and how many before it were not.
    pub fn allows(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().expect("no panic under this lock");
        if state.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}

/// One line per cause in ten seconds, and 32 of different causes in them: a new cause is told
/// at once however often another one repeats.
#[derive(Debug, Default)]
pub struct Causes(Mutex<Vec<Cause>>);

#[derive(Debug)]
struct Cause {
    text: String,
    last: Instant,
    left_out: u64,
}

impl Causes {
    /// Nothing was logged yet.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Whether this cause is logged at this time, and how often it was not before.
    pub fn allows(&self, cause: &str, now: Instant) -> Option<u64> {
        self.allows_every(REPEAT, cause, now)
    }

    /// The same with another time between two lines of one cause.
    pub fn allows_every(&self, pause: Duration, cause: &str, now: Instant) -> Option<u64> {
        let recent = |last| now.saturating_duration_since(last) < pause;
        let mut causes = self.0.lock().expect("no panic under this lock");
        if let Some(known) = causes.iter_mut().find(|known| known.text == cause) {
            if recent(known.last) {
                known.left_out += 1;
                return None;
            }
            known.last = now;
            return Some(std::mem::take(&mut known.left_out));
        }
        let new = Cause { text: cause.to_owned(), last: now, left_out: 0 };
        if causes.len() < CAUSES {
            causes.push(new);
            return Some(0);
        }
        let oldest = causes.iter_mut().min_by_key(|cause| cause.last).expect("there are some");
        if recent(oldest.last) {
            return None;
        }
        *oldest = new;
        Some(0)
    }
}

/// Logs an event once in ten seconds for each cause, with how often it was left out before:
/// `log_once!(warn by &cause, cause, "tiers do not answer")`. Each place counts by itself.
#[macro_export]
macro_rules! log_once {
    ($level:ident by $cause:expr, $($event:tt)+) => {{
        static LOGGED: $crate::throttle::Causes = $crate::throttle::Causes::new();
        if let Some(left_out) = LOGGED.allows($cause, ::std::time::Instant::now()) {
            tracing::$level!(left_out, $($event)+);
        }
    }};
}

/// Logs an event of this place once in a second, with how often it was left out before.
#[macro_export]
macro_rules! log_seldom {
    ($level:ident, $($event:tt)+) => {{
        static LOGGED: $crate::throttle::Throttle = $crate::throttle::Throttle::new();
        if let Some(left_out) = LOGGED.allows(::std::time::Instant::now()) {
            tracing::$level!(left_out, $($event)+);
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_per_second_is_logged_with_the_number_of_those_before() {
        let throttle = Throttle::default();
        let begin = Instant::now();
        let at = |ms| throttle.allows(begin + Duration::from_millis(ms));
        assert_eq!(
            [at(0), at(1), at(999), at(1000), at(2500)],
            [Some(0), None, None, Some(2), Some(0)]
        );
    }

    #[test]
    fn a_cause_is_logged_once_in_ten_seconds_and_another_one_at_once() {
        let causes = Causes::default();
        let begin = Instant::now();
        let at = |cause: &str, ms| causes.allows(cause, begin + Duration::from_millis(ms));
        assert_eq!(
            [at("a", 0), at("a", 1), at("b", 2), at("a", 9999)],
            [Some(0), None, Some(0), None]
        );
        assert_eq!([at("a", 10_000), at("b", 10_001)], [Some(2), None]);
    }

    #[test]
    fn the_time_between_two_lines_of_a_cause_can_be_another() {
        let causes = Causes::default();
        let (begin, minute) = (Instant::now(), Duration::from_secs(60));
        let at = |s| causes.allows_every(minute, "junk", begin + Duration::from_secs(s));
        assert_eq!([at(0), at(11), at(59), at(60)], [Some(0), None, None, Some(2)]);
    }

    #[test]
    fn however_many_causes_there_are_lines_are_bounded() {
        let causes = Causes::default();
        let begin = Instant::now();
        let logged = (0..1000)
            .filter(|n: &u64| {
                causes.allows(&n.to_string(), begin + Duration::from_millis(*n)).is_some()
            })
            .count();
        assert_eq!(logged, CAUSES);
        assert_eq!(causes.allows("later", begin + 2 * REPEAT), Some(0));
    }
}
