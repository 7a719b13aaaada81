//! Bounds how often a kind of event is logged: strangers cause some of them.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Between two lines of the log.
const PAUSE: Duration = Duration::from_secs(1);

/// One line per second at most; those between are counted.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl Throttle {
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
}
