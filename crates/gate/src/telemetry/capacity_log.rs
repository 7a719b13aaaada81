//! When the log says what the service carries: as soon as that is known, when it has changed,
//! and otherwise once an hour.

use std::time::Duration;
use tidegate_control::Sustainable;

/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(10);
/// The least time between two lines.
const LEAST: Duration = Duration::from_mins(1);
/// The longest time between two lines.
const LONGEST: Duration = Duration::from_hours(1);
/// A change of the estimate by less than this share is none.
const CHANGE: f64 = 0.2;

/// The line that was written last.
#[derive(Debug, Default)]
pub struct CapacityLog {
    look_at: Duration,
    last: Option<(Duration, f64)>,
}

impl CapacityLog {
    /// The line to write at this time since the start, if any. `known` is asked for at most
    /// every ten seconds.
    pub fn line(&mut self, now: Duration, known: impl FnOnce() -> Sustainable) -> Option<String> {
        if now < self.look_at {
            return None;
        }
        self.look_at = now + LOOK;
        let known = known();
        let per_s = known.sessions_per_s?;
        let is_due = self.last.is_none_or(|(at, value)| {
            let since = now.saturating_sub(at);
            let changed = (per_s.value - value).abs() > CHANGE * value;
            since >= LONGEST || (since >= LEAST && changed)
        });
        is_due.then(|| {
            self.last = Some((now, per_s.value));
            known.text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::Range;

    fn carries(value: f64) -> Sustainable {
        let range = Range { value, low: value, high: Some(value) };
        Sustainable {
            sessions_per_s: (value > 0.0).then_some(range),
            sessions_at_once: None,
            limit: None,
            measured_over_s: 60.0,
            text: format!("{value}"),
        }
    }

    /// The lines of so many seconds, with their times.
    fn lines(log: &mut CapacityLog, seconds: std::ops::Range<u64>, value: f64) -> Vec<u64> {
        let line = |at: &u64| log.line(Duration::from_secs(*at), || carries(value)).is_some();
        seconds.filter(line).collect()
    }

    #[test]
    fn it_is_told_when_it_is_known_when_it_changes_and_every_hour() {
        let mut log = CapacityLog::default();
        assert_eq!(lines(&mut log, 0..40, 0.0), [0; 0], "nothing is known");
        assert_eq!(lines(&mut log, 40..400, 100.0), [40]);
        assert_eq!(lines(&mut log, 400..500, 115.0), [0; 0], "a small change");
        assert_eq!(lines(&mut log, 500..600, 130.0), [500]);
        assert_eq!(lines(&mut log, 600..9000, 130.0), [4100, 7700]);
    }

    #[test]
    fn a_figure_that_jumps_is_told_once_a_minute_at_most() {
        let mut log = CapacityLog::default();
        let told = (0..600_u64)
            .filter(|at| {
                let value = if at / 10 % 2 == 0 { 100.0 } else { 200.0 };
                log.line(Duration::from_secs(*at), || carries(value)).is_some()
            })
            .count();
        assert!(told <= 10, "{told}");
    }
}
