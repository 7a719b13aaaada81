//! A call of another service, repeated until its outcome is certain or its time is over.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::backoff::Backoff;

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Deadline of one attempt.
    pub attempt: Duration,
    /// Deadline of the call with all its attempts and pauses.
    pub call: Duration,
    /// Pauses between attempts.
    pub backoff: Backoff,
}

impl Default for Patience {
    /// 8 s for an attempt, 25 s in all: a customer waits for the call.
    fn default() -> Self {
        let backoff =
            Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(4) };
        Self { attempt: Duration::from_secs(8), call: Duration::from_secs(25), backoff }
    }
}

/// The attempts of one call, which begins now.
#[derive(Debug)]
pub struct Attempts {
    patience: Patience,
    until: Instant,
    failed: u32,
}

impl Attempts {
    /// A call that begins now.
    pub fn begin(patience: Patience) -> Self {
        Self { patience, until: Instant::now() + patience.call, failed: 0 }
    }

    /// How long the next attempt may take.
    pub fn deadline(&self) -> Duration {
        self.patience.attempt.min(self.until.saturating_duration_since(Instant::now()))
    }

    /// Pauses after an attempt that failed, at least as long as the service has asked to wait.
    /// Returns whether there is time for another attempt; if not, it does not pause.
    pub async fn again(&mut self, asked: Option<Duration>) -> bool {
        self.failed += 1;
        let pause = self.patience.backoff.pause(self.failed).max(asked.unwrap_or_default());
        if Instant::now() + pause >= self.until {
            return false;
        }
        sleep(pause).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// How long the attempts of a call last that all fail after this time or at their deadline,
    /// and how many they are.
    fn all_fail(patience: Patience, takes: Duration, asked: Option<Duration>) -> (Duration, u32) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let begun = Instant::now();
            let (mut attempts, mut number) = (Attempts::begin(patience), 0);
            loop {
                number += 1;
                sleep(takes.min(attempts.deadline())).await;
                if !attempts.again(asked).await {
                    return (begun.elapsed(), number);
                }
            }
        })
    }

    #[test]
    fn attempts_are_repeated_until_the_call_has_no_time_left() {
        let backoff = Backoff { first: seconds(1.0), longest: seconds(1.0) };
        let patience = Patience { attempt: seconds(2.0), call: seconds(10.0), backoff };
        // Three attempts of 2 s with pauses of 0.5 to 1 s; after the fourth at most 1 s is left.
        let (lasted, number) = all_fail(patience, seconds(60.0), None);
        assert!((3..=4).contains(&number), "{number}");
        assert!(lasted <= patience.call, "{lasted:?}");
        // The service asks to wait for longer than is left.
        assert_eq!(all_fail(patience, seconds(1.0), Some(seconds(9.5))), (seconds(1.0), 1));
    }

    proptest! {
        #[test]
        fn a_call_never_lasts_longer_than_it_may(
            attempt in 0.1..30.0, call in 0.1..60.0, takes in 0.0..60.0, first in 0.01..5.0,
            asked in proptest::option::of(0.0..20.0),
        ) {
            let backoff = Backoff { first: seconds(first), longest: seconds(8.0 * first) };
            let patience = Patience { attempt: seconds(attempt), call: seconds(call), backoff };
            let (lasted, number) = all_fail(patience, seconds(takes), asked.map(seconds));
            // The clock of the runtime has steps of 1 ms.
            prop_assert!(lasted <= patience.call + seconds(0.002), "{lasted:?}");
            prop_assert!(number >= 1);
        }
    }
}
