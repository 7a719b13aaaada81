//! How long a customer will probably wait, from how fast the line moved lately.

use std::time::Duration;

/// Seconds of which admissions are counted.
const SECONDS: usize = 60;
/// With fewer admissions there is no estimate.
const FEWEST: u64 = 5;
/// Nine of ten values of a normal distribution are within so many standard deviations.
const NINE_OF_TEN: f64 = 1.645;

/// A wait with the range in which nine of ten should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The lower end.
    pub low: Duration,
    /// The most likely wait.
    pub wait: Duration,
    /// The upper end.
    pub high: Duration,
}

/// What happened in each of the last seconds, in number: admissions, or departures.
#[derive(Debug)]
pub struct LastMinute {
    counts: [u64; SECONDS],
    /// The second of the newest count.
    second: u64,
    /// The first second that was counted.
    first: Option<u64>,
}

impl Default for LastMinute {
    fn default() -> Self {
        Self { counts: [0; SECONDS], second: 0, first: None }
    }
}

impl LastMinute {
    /// One more.
    pub fn note(&mut self, now_ms: u64) {
        self.add(1, now_ms);
    }

    /// Adds a number to the count of this second.
    pub fn add(&mut self, number: u64, now_ms: u64) {
        let second = now_ms / 1000;
        self.advance(second);
        self.first.get_or_insert(second);
        self.counts[second as usize % SECONDS] += number;
    }

    fn advance(&mut self, second: u64) {
        for passed in (self.second + 1..=second).rev().take(SECONDS) {
            self.counts[passed as usize % SECONDS] = 0;
        }
        self.second = self.second.max(second);
    }

    /// How many per second over the last whole seconds of this time.
    pub fn rate(&mut self, now_ms: u64, over: Duration) -> f64 {
        self.over(now_ms, over.as_secs()).per_s()
    }

    /// Those of all seconds that are counted.
    pub fn window(&mut self, now_ms: u64) -> Window {
        self.over(now_ms, SECONDS as u64 - 1)
    }

    /// Those of all seconds that are counted and begin after a time.
    pub fn since(&mut self, since_ms: u64, now_ms: u64) -> Window {
        let whole = (now_ms / 1000).saturating_sub(since_ms / 1000 + 1);
        match whole {
            0 => Window { count: 0, seconds: 1 },
            _ => self.over(now_ms, whole.min(SECONDS as u64 - 1)),
        }
    }

    /// How many in all seconds that are counted.
    pub fn number(&mut self, now_ms: u64) -> f64 {
        self.window(now_ms).count as f64
    }

    fn over(&mut self, now_ms: u64, seconds: u64) -> Window {
        let second = now_ms / 1000;
        self.advance(second);
        // Another core may have counted at a time that is later by a moment.
        let first = self.first.map(|first| first.min(second));
        let Some(first) = first else { return Window { count: 0, seconds: 1 } };
        // The second under way is not whole, unless there is no other.
        let from = second.saturating_sub(seconds).max(first);
        let counted = if from == second { from..second + 1 } else { from..second };
        let seconds = counted.end - counted.start;
        let count = counted.map(|at| self.counts[at as usize % SECONDS]).sum();
        Window { count, seconds }
    }
}

/// How many there were within a time.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    count: u64,
    seconds: u64,
}

impl Window {
    /// Per second.
    pub fn per_s(&self) -> f64 {
        self.count as f64 / self.seconds.max(1) as f64
    }

    /// The wait at this place, from 1, by these admissions, where each of those before it gives up
    /// with a probability of `leave_per_s` per second.
    ///
    /// A place p moves by dp/dt = −r − l p, with r admissions per second and the share l that
    /// leaves: it is 0 after ln(1 + l p / r) / l, which is p / r where nobody leaves. Place and
    /// admissions are counts of random events, with the relative variances 1/place and
    /// 1/admissions (Poisson), which add up.
    pub fn estimate(&self, place: u64, leave_per_s: f64) -> Option<Estimate> {
        if self.count < FEWEST {
            return None;
        }
        let none_leaves_s = place as f64 / self.per_s();
        let leave = none_leaves_s * leave_per_s;
        let wait_s =
            if leave > 0.0 { none_leaves_s * leave.ln_1p() / leave } else { none_leaves_s };
        let deviation = NINE_OF_TEN * (1.0 / place.max(1) as f64 + 1.0 / self.count as f64).sqrt();
        let seconds = |s: f64| Duration::try_from_secs_f64(s).unwrap_or_default();
        Some(Estimate {
            low: seconds(wait_s * (1.0 - deviation).max(0.0)),
            wait: seconds(wait_s),
            high: seconds(wait_s * (1.0 + deviation)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_place_over_rate_with_the_deviation_of_both() {
        let mut admissions = LastMinute::default();
        for second in 100..150 {
            (0..2).for_each(|_| admissions.note(second * 1000));
        }
        let window = admissions.window(150_000);
        assert_eq!((window.count, window.seconds), (100, 50));
        let estimate = window.estimate(100, 0.0).unwrap();
        assert_eq!(estimate.wait, Duration::from_secs(50));
        // 1.645 · √(1/100 + 1/100) = 0.23264.
        assert!((estimate.low.as_secs_f64() - 38.368).abs() < 0.01, "{estimate:?}");
        assert!((estimate.high.as_secs_f64() - 61.632).abs() < 0.01, "{estimate:?}");
    }

    #[test]
    fn a_count_of_a_core_whose_clock_was_read_later_by_a_moment_is_no_negative_time() {
        let mut admissions = LastMinute::default();
        admissions.note(101_000);
        let window = admissions.window(100_999);
        assert_eq!((window.count, window.seconds), (0, 1));
    }

    #[test]
    fn who_gives_up_before_a_customer_makes_their_wait_shorter() {
        let mut admissions = LastMinute::default();
        for second in 100..150 {
            (0..2).for_each(|_| admissions.note(second * 1000));
        }
        // One in a hundred leaves each second: 100 · ln(1 + 0.01 · 100 / 2) = 40.547 s.
        let estimate = admissions.window(150_000).estimate(100, 0.01).unwrap();
        assert!((estimate.wait.as_secs_f64() - 40.547).abs() < 0.001, "{estimate:?}");
    }

    #[test]
    fn after_a_pause_only_the_last_seconds_count() {
        let mut admissions = LastMinute::default();
        (0..50).for_each(|_| admissions.note(10_000));
        (0..6).for_each(|_| admissions.note(500_000));
        let window = admissions.window(501_000);
        assert_eq!(window.count, 6);
        assert_eq!(admissions.rate(501_000, Duration::from_secs(10)), 0.6);
    }

    #[test]
    fn what_was_before_a_time_does_not_count() {
        let mut admissions = LastMinute::default();
        (0..50).for_each(|_| admissions.note(10_000));
        (11..20).for_each(|second| admissions.note(second * 1000));
        let counted = |it: Window| (it.count, it.seconds);
        assert_eq!(counted(admissions.since(10_300, 20_500)), (9, 9));
        assert_eq!(counted(admissions.since(9_900, 20_500)), (59, 10));
        assert_eq!(counted(admissions.since(20_100, 20_500)), (0, 1), "no second is whole yet");
    }

    #[test]
    fn few_admissions_give_no_estimate() {
        let mut admissions = LastMinute::default();
        assert_eq!(admissions.window(1_000).estimate(1, 0.0), None);
        (0..4).for_each(|_| admissions.note(1_000));
        assert_eq!(admissions.window(2_000).estimate(1, 0.0), None);
    }
}
