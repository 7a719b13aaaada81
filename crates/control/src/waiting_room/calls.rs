//! How fast the threshold moves: as many are called as the controller admits, and those who will not
//! come in addition.

use super::{Rank, State, Waiting};
use crate::average::Average;
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

/// Whose next request is due within this time comes soon: somewhat more than the shortest time
/// between two pages.
const SOON_MS: u64 = 3_000;
/// Whose request is overdue by more is late, or has gone.
pub(super) const PUNCTUAL_MS: u64 = 1_000;
/// Customers who ask or should soon, in seconds of admissions.
const ASKS_AHEAD_S: f64 = 3.0;
/// The rate of admissions is measured over this.
const RECENT: Duration = Duration::from_secs(10);

/// How fast the threshold moves: as many per second as the controller admits where enough ask, and
/// more where few do.
#[derive(Debug)]
pub(super) struct Pace {
    /// Admissions per second while enough asked. Fewer while few ask say nothing of the controller,
    /// and where calls followed them, ever fewer would ask.
    per_s: f64,
    /// How many times as many are called, 1 or more: most of those who wait may leave.
    surplus: f64,
    /// How long few have asked.
    few_s: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { per_s: 0.0, surplus: 1.0, few_s: 0.0 }
    }
}

impl Pace {
    /// Suffices where one in fifty of those who are called asks before they leave.
    const MOST: f64 = 64.0;
    /// Few are those whom the controller admits in this time, in seconds.
    const FEW_S: f64 = 0.2;
    /// Whoever was called needs so long to come.
    const TO_COME_S: f64 = SOON_MS as f64 / 1e3;
    /// A slower pace is followed with this time constant: the last seconds may hold such in which
    /// few asked.
    const SLOWS_S: f64 = 5.0;
    const RISE_PER_S: f64 = 0.6;
    const FALL_PER_S: f64 = 0.1;

    /// Somebody asked whom the controller did not admit: there were enough.
    pub(super) fn somebody_asked_in_vain(&mut self) {
        self.surplus = (0.9 * self.surplus).max(1.0);
        self.few_s = 0.0;
    }

    /// Grows while few ask, and falls while more do. `per_s` are admissions, of late. Where requests
    /// do not come at all, as in a pause of the network, nothing grows.
    fn follow(&mut self, asking: f64, per_s: f64, requests_come: bool, elapsed_s: f64) {
        let few = asking <= Self::FEW_S * self.per_s;
        if !few {
            self.per_s += (per_s - self.per_s) * (elapsed_s / Self::SLOWS_S).min(1.0);
        }
        self.per_s = self.per_s.max(per_s);
        self.few_s = if few { self.few_s + elapsed_s } else { 0.0 };
        let by = match few {
            false => -Self::FALL_PER_S,
            true if self.few_s > Self::TO_COME_S && requests_come => Self::RISE_PER_S,
            true => 0.0,
        };
        self.surplus = (self.surplus * (1.0 + by * elapsed_s)).clamp(1.0, Self::MOST);
    }
}

/// The share of requests of called customers that come in time, of the last hundred or so.
#[derive(Debug)]
pub(super) struct Punctual(Average);

impl Default for Punctual {
    fn default() -> Self {
        Self(Average::new(1.0, 20.0, 100.0))
    }
}

impl Punctual {
    /// At least a fifth: where nobody comes, calls need not make up for them all at once.
    fn share(&self) -> f64 {
        self.0.value().max(0.2)
    }

    pub(super) fn note(&mut self, in_time: bool) {
        self.0.add(f64::from(u8::from(in_time)), 1.0);
    }
}

impl State {
    /// Moves the threshold, `asking` of those called before being at the controller.
    pub(super) fn call(&mut self, asking: f64, elapsed_s: f64, now_ms: u64) {
        let per_s = self.admissions.rate(now_ms, RECENT);
        let requests_come = now_ms <= self.visited_ms + SOON_MS;
        self.pace.follow(asking, per_s, requests_come, elapsed_s);
        let Pace { per_s: pace, surplus, .. } = self.pace;
        // The controller should always find somebody who asks, and few more than it admits: those
        // who ask at the same time enter in the order of their requests, and who is not admitted
        // asks again. Some of those who were called are late, or have gone.
        let wanted = (pace * ASKS_AHEAD_S + 3.0) * surplus;
        let coming = self.coming(now_ms) as f64;
        let missing = ((wanted - asking) / self.punctual.share() - coming).max(0.0);
        // Three of four may have gone: calls at a lower rate would find ever fewer.
        let more = elapsed_s * (4.0 * pace + 1.0) * surplus;
        self.calls_due = (self.calls_due + more).min(missing);
        self.move_threshold(now_ms);
    }

    /// How many of those who were called should ask soon.
    fn coming(&self, now_ms: u64) -> usize {
        let soon = now_ms.saturating_sub(PUNCTUAL_MS)..=now_ms + SOON_MS;
        let comes = |rank: &Rank, waiting: &Waiting| {
            soon.contains(&waiting.next_ms) && !self.asking.contains(&rank.1)
        };
        self.line.range(..=self.called).filter(|(rank, waiting)| comes(rank, waiting)).count()
    }

    /// Moves the threshold by the calls that are due. Whose request is overdue has probably gone, and
    /// takes an eighth of a call: not none, or a pause of the network would call everybody.
    fn move_threshold(&mut self, now_ms: u64) {
        for (rank, waiting) in self.line.range_mut((Excluded(self.called), Unbounded)) {
            let expected = waiting.next_ms + PUNCTUAL_MS >= now_ms;
            let call = if expected { 1.0 } else { 0.125 };
            if self.calls_due < call {
                break;
            }
            self.calls_due -= call;
            self.called = *rank;
            waiting.expected = expected;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_are_called_while_few_ask_and_as_many_as_before_once_more_do() {
        let mut pace = Pace::default();
        let mut follow = |asking, times| {
            (0..times).for_each(|_| pace.follow(asking, 10.0, true, 0.1));
            pace.surplus
        };
        assert_eq!(follow(1.0, 9), 1.0, "whoever was called is on the way");
        assert_eq!(follow(1.0, 200), Pace::MOST);
        assert!(follow(6.0, 10) < Pace::MOST);
        assert_eq!(follow(6.0, 1000), 1.0);
    }

    #[test]
    fn no_more_are_called_while_no_request_comes_at_all() {
        let mut pace = Pace::default();
        (0..100).for_each(|_| pace.follow(0.0, 10.0, false, 0.1));
        assert_eq!(pace.surplus, 1.0);
    }

    #[test]
    fn the_pace_is_that_of_admissions_while_enough_ask() {
        let mut pace = Pace::default();
        pace.follow(3.0, 10.0, true, 0.1);
        (0..600).for_each(|_| pace.follow(0.0, 0.0, true, 0.1));
        assert_eq!(pace.per_s, 10.0, "nobody asked, and nobody could be admitted");
        (0..600).for_each(|_| pace.follow(9.0, 4.0, true, 0.1));
        assert!((pace.per_s - 4.0).abs() < 0.1, "the service got slower: {}", pace.per_s);
    }
}
