//! A token bucket in virtual time.

use std::time::Duration;

use crate::Time;
use crate::number::sane;

/// Tokens that accrue at a rate up to a burst; below zero after more was taken than there
/// was. Never NaN.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    at: Time,
}

/// A rate of 10/s yields a token after 100 ms, though 10 × 0.1 may fall short
/// of 1 in binary.
const ROUNDING: f64 = 1e-9;

impl Bucket {
    /// A full bucket. `rate` is in tokens per second; what is negative or not
    /// finite counts as 0.
    pub(crate) fn new(rate: f64, burst: f64) -> Self {
        let (rate, burst) = (sane(rate), sane(burst));
        Self { rate, burst, tokens: burst, at: Time::ZERO }
    }

    /// From `now` on, tokens accrue at another rate, up to another burst;
    /// tokens in hand stay, up to the burst.
    pub(crate) fn set(&mut self, now: Time, rate: f64, burst: f64) {
        self.refill(now);
        (self.rate, self.burst) = (sane(rate), sane(burst));
        self.tokens = self.tokens.min(self.burst);
    }

    /// Takes one token, or says how long until there is one.
    pub(crate) fn take(&mut self, now: Time) -> Result<(), Duration> {
        self.take_many(now, 1.0)
    }

    /// Takes `tokens` if at least one is there, else says how long until one is. What is taken
    /// beyond those that are there is owed, and has to accrue before anything is taken again. So
    /// what costs much waits no longer than what costs little, and both keep to the rate.
    pub(crate) fn take_many(&mut self, now: Time, tokens: f64) -> Result<(), Duration> {
        self.refill(now);
        if self.tokens >= 1.0 - ROUNDING {
            self.tokens -= sane(tokens);
            if self.tokens.abs() < ROUNDING {
                self.tokens = 0.0;
            }
            return Ok(());
        }
        let wait_s = if self.burst < 1.0 { f64::MAX } else { (1.0 - self.tokens) / self.rate };
        Err(Duration::from_secs_f64(wait_s.clamp(0.001, 60.0)))
    }

    /// Tokens in hand.
    pub(crate) fn tokens(&self, now: Time) -> f64 {
        let accrued = now.saturating_sub(self.at).as_secs_f64() * self.rate;
        (self.tokens + accrued).min(self.burst)
    }

    /// Whole tokens in hand: so many may be taken at this moment.
    pub(crate) fn whole(&self, now: Time) -> u64 {
        (self.tokens(now) + ROUNDING) as u64
    }

    /// Tokens per second.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Tokens in hand at most.
    pub(crate) fn burst(&self) -> f64 {
        self.burst
    }

    fn refill(&mut self, now: Time) {
        self.tokens = self.tokens(now);
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn ten_a_second_is_one_every_hundred_milliseconds() {
        let mut bucket = Bucket::new(10.0, 1.0);
        assert_eq!(bucket.take(ms(0)), Ok(()));
        assert_eq!(bucket.take(ms(60)), Err(ms(40)));
        assert_eq!(bucket.take(ms(100)), Ok(()));
    }

    #[test]
    fn idle_time_saves_no_more_than_the_burst() {
        let mut bucket = Bucket::new(1000.0, 3.0);
        assert_eq!(bucket.tokens(Time::from_secs(9)), 3.0);
        assert_eq!((0..9).filter(|_| bucket.take(Time::from_secs(9)).is_ok()).count(), 3);
    }

    #[test]
    fn a_rate_that_is_no_number_gives_nothing() {
        let mut bucket = Bucket::new(1.0, 1.0);
        bucket.set(ms(0), f64::NAN, f64::INFINITY);
        assert_eq!(bucket.take(Time::from_secs(5)), Err(Duration::from_secs(60)));
    }

    #[test]
    fn what_costs_more_than_there_is_is_owed_and_delays_the_next() {
        let mut bucket = Bucket::new(10.0, 2.0);
        assert_eq!(bucket.take_many(ms(0), 5.0), Ok(()));
        // Three are owed and one is needed, by what takes half a token too: 400 ms.
        assert_eq!((bucket.whole(ms(0)), bucket.take(ms(0))), (0, Err(ms(400))));
        assert_eq!(bucket.take_many(ms(0), 0.5), Err(ms(400)));
        assert_eq!(bucket.take_many(ms(400), 0.5), Ok(()));
        assert_eq!(bucket.take(ms(400)), Err(ms(50)));
    }

    #[test]
    fn time_that_goes_back_changes_nothing() {
        let mut bucket = Bucket::new(10.0, 1.0);
        assert_eq!(bucket.take(ms(500)), Ok(()));
        assert!(bucket.take(ms(100)).is_err());
        assert_eq!(bucket.take(ms(600)), Ok(()));
    }
}
