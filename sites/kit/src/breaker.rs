//! A circuit breaker: after several failures in a row calls of a service are refused at once for
//! a while, then one is tried. So callers do not wait for a service that hangs, and one that is
//! overloaded gets time to recover. Pure: time is an argument.
//!
//! Source: M. T. Nygard, "Release It!", 2nd edition, 2018, section 5.2, "Circuit Breaker".

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::backoff::Backoff;

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// It opens after so many failures in a row, 1 or more.
    pub failures: u32,
    /// How long it stays open, after the first opening and those that follow it without a
    /// success.
    pub pauses: Backoff,
}

impl Default for Limits {
    /// Open after 5 failures, for about 1 s, 2 s and so on up to 15 s.
    fn default() -> Self {
        let pauses = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(15) };
        Self { failures: 5, pauses }
    }
}

/// The breaker of a service, shared by those who call it.
#[derive(Debug)]
pub struct Breaker {
    limits: Limits,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: State,
    /// Counts changes of the state: what a call says that began before the last one is old.
    era: u64,
    /// Openings since the last success.
    openings: u32,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Calls are made; so many have failed since the last success.
    Closed { failures: u32 },
    /// No call is made before this time, and then one.
    Open { until: Instant },
    /// One call is being made.
    Trying { since: Instant },
}

/// The right to make one call. Its holder says how it ended; dropped, it ended in no way.
#[must_use = "say how the call ended"]
#[derive(Debug)]
pub struct Permit<'b> {
    breaker: &'b Breaker,
    era: u64,
}

impl Breaker {
    /// A closed breaker.
    pub fn new(limits: Limits) -> Self {
        let state = State::Closed { failures: 0 };
        Self { limits, inner: Mutex::new(Inner { state, era: 0, openings: 0 }) }
    }

    /// Asks for a call.
    ///
    /// # Errors
    /// The breaker is open: how long it will refuse calls yet. It is zero while the one call is
    /// made that closes the breaker or opens it again.
    pub fn admit(&self, now: Instant) -> Result<Permit<'_>, Duration> {
        let mut inner = self.lock();
        match inner.state {
            State::Closed { .. } => {}
            State::Open { until } if now < until => return Err(until - now),
            State::Open { .. } => inner.change(State::Trying { since: now }),
            State::Trying { .. } => return Err(Duration::ZERO),
        }
        Ok(Permit { breaker: self, era: inner.era })
    }

    /// Whether calls are refused, or one is tried after they were.
    pub fn is_open(&self) -> bool {
        !matches!(self.lock().state, State::Closed { .. })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic under this lock")
    }
}

impl Inner {
    fn change(&mut self, state: State) {
        self.state = state;
        self.era += 1;
    }
}

impl Permit<'_> {
    /// The service has answered: the breaker closes, or stays closed.
    pub fn succeeded(self) {
        let mut inner = self.breaker.lock();
        if inner.era != self.era {
            return;
        }
        inner.openings = 0;
        match &mut inner.state {
            // Others that are under way still count.
            State::Closed { failures } => *failures = 0,
            _ => inner.change(State::Closed { failures: 0 }),
        }
    }

    /// There was no answer, or one that says that the service has failed.
    pub fn failed(self, now: Instant) {
        let limits = self.breaker.limits;
        let mut inner = self.breaker.lock();
        if inner.era != self.era {
            return;
        }
        if let State::Closed { failures } = &mut inner.state {
            *failures += 1;
            if *failures < limits.failures {
                return;
            }
        }
        inner.openings = inner.openings.saturating_add(1);
        let until = now + limits.pauses.pause(inner.openings);
        inner.change(State::Open { until });
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut inner = self.breaker.lock();
        // The one call was given up: the next one is tried in its place.
        if inner.era == self.era
            && let State::Trying { since } = inner.state
        {
            inner.change(State::Open { until: since });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits {
        failures: 3,
        pauses: Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(8) },
    };

    fn fail(breaker: &Breaker, now: Instant) {
        breaker.admit(now).unwrap().failed(now);
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_a_success_begins_the_count_anew() {
        let (breaker, now) = (Breaker::new(LIMITS), Instant::now());
        for _ in 0..5 {
            fail(&breaker, now);
            fail(&breaker, now);
            breaker.admit(now).unwrap().succeeded();
        }
        assert!(!breaker.is_open());
        (0..3).for_each(|_| fail(&breaker, now));
        let wait = breaker.admit(now).unwrap_err();
        assert!((1.0..=2.0).contains(&wait.as_secs_f64()), "{wait:?}");
    }

    #[test]
    fn one_call_is_tried_and_decides() {
        let (breaker, begin) = (Breaker::new(LIMITS), Instant::now());
        (0..3).for_each(|_| fail(&breaker, begin));
        let later = begin + Duration::from_secs(2);
        let tried = breaker.admit(later).unwrap();
        assert_eq!(breaker.admit(later).unwrap_err(), Duration::ZERO);
        // It fails: open again, and for longer.
        tried.failed(later);
        let wait = breaker.admit(later).unwrap_err();
        assert!((2.0..=4.0).contains(&wait.as_secs_f64()), "{wait:?}");
        let at_last = later + Duration::from_secs(4);
        breaker.admit(at_last).unwrap().succeeded();
        assert!(!breaker.is_open());
        // The pauses are the first ones again.
        (0..3).for_each(|_| fail(&breaker, at_last));
        assert!(breaker.admit(at_last).unwrap_err() <= Duration::from_secs(2));
    }

    #[test]
    fn a_try_that_is_given_up_leaves_its_place_to_the_next() {
        let (breaker, now) = (Breaker::new(LIMITS), Instant::now());
        (0..3).for_each(|_| fail(&breaker, now));
        let later = now + Duration::from_secs(2);
        drop(breaker.admit(later).unwrap());
        assert!(breaker.admit(later).is_ok());
    }

    #[test]
    fn what_calls_say_that_began_before_it_opened_is_old() {
        let (breaker, now) = (Breaker::new(LIMITS), Instant::now());
        let slow = breaker.admit(now).unwrap();
        let slower = breaker.admit(now).unwrap();
        (0..3).for_each(|_| fail(&breaker, now));
        slow.succeeded();
        assert!(breaker.is_open(), "one that began earlier does not close it");
        let until = breaker.admit(now).unwrap_err();
        slower.failed(now + Duration::from_secs(1));
        assert!(breaker.admit(now).unwrap_err() <= until, "and does not open it for longer");
    }

    /// What happens to a breaker: time passes (ms), a call begins, or the call of this number
    /// ends: well, badly, or in no way.
    #[derive(Clone, Copy, Debug)]
    enum Happens {
        Passes(u64),
        Begins,
        Ends(usize, Option<bool>),
    }

    fn happens() -> impl Strategy<Value = Happens> {
        prop_oneof![
            (0..3_000_u64).prop_map(Happens::Passes),
            Just(Happens::Begins),
            (any::<prop::sample::Index>(), proptest::option::of(any::<bool>()))
                .prop_map(|(which, end)| Happens::Ends(which.index(1 << 16), end)),
        ]
    }

    proptest! {
        #[test]
        fn while_it_is_open_at_most_one_call_is_made_and_it_always_recovers(
            story in prop::collection::vec(happens(), 0..200),
        ) {
            let breaker = Breaker::new(LIMITS);
            let mut now = Instant::now();
            let mut calls: Vec<Permit<'_>> = Vec::new();
            let mut tries = 0;
            for event in story {
                match event {
                    Happens::Passes(ms) => now += Duration::from_millis(ms),
                    Happens::Begins => {
                        let open = breaker.is_open();
                        if let Ok(call) = breaker.admit(now) {
                            tries = if open { tries + 1 } else { 0 };
                            let trying = matches!(breaker.lock().state, State::Trying { .. });
                            prop_assert!(!trying || open, "a closed breaker tries nothing");
                            calls.push(call);
                        }
                    }
                    Happens::Ends(..) if calls.is_empty() => {}
                    Happens::Ends(which, end) => {
                        let call = calls.swap_remove(which % calls.len());
                        match end {
                            Some(true) => call.succeeded(),
                            Some(false) => call.failed(now),
                            None => drop(call),
                        }
                    }
                }
                let era = breaker.lock().era;
                let of_now = calls.iter().filter(|call| call.era == era).count();
                prop_assert!(!breaker.is_open() || of_now <= 1, "{of_now} calls while open");
            }
            drop(calls);
            // Whatever has happened, after the longest pause a call that succeeds closes it.
            breaker.admit(now + LIMITS.pauses.longest).unwrap().succeeded();
            prop_assert!(!breaker.is_open());
        }
    }
}
