//! A customer in a gate's waiting room: they refresh as often as its page says, until they are let
//! in or have had enough.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};

use super::user_agent::{PageResponse, UserAgent};
use crate::client::http::head::WaitingPage;
use crate::outcome::{Failure, Outcome, Refusal, Stage};
use crate::recorder::event::{EventKind, LetIn};
use crate::rng::Rng;

/// A page in the room is asked for again after so long, if the gate did not answer or does not say.
const AGAIN: WaitingPage = WaitingPage { refresh_s: 5, estimate_s: None };
/// Customers with whom the order of another one is compared: the last that were let in.
const COMPARED: usize = 1_000;

/// The visit of a waiting room.
pub(super) struct Waiting {
    since: Instant,
    /// The last answer, and the longest time between two so far.
    answered: Instant,
    longest_gap: Duration,
    /// When which wait was promised first.
    estimate: Option<(Instant, Duration)>,
    /// After which pages the customer is late.
    rng: Rng,
}

impl Waiting {
    fn begins(now: Instant, seed: u64) -> Self {
        let rng = Rng::seed_from_u64(seed);
        Self { since: now, answered: now, longest_gap: Duration::ZERO, estimate: None, rng }
    }

    /// The gate answers, or resets the connection.
    fn is_answered(&mut self, now: Instant, page: WaitingPage) {
        (self.longest_gap, self.answered) = (self.longest_gap(now), now);
        let wait = page.estimate_s.map(|seconds| Duration::from_secs(seconds.into()));
        self.estimate = self.estimate.or(wait.map(|wait| (now, wait)));
    }

    /// The longest time between two answers, of which one is now.
    fn longest_gap(&self, now: Instant) -> Duration {
        self.longest_gap.max(now.saturating_duration_since(self.answered))
    }

    /// Whether the first estimate was right, for who is let in now: within a third, or within a
    /// page, since nobody can enter between two.
    fn as_estimated(&self, now: Instant) -> Option<bool> {
        let (at, wait) = self.estimate?;
        let error = now.saturating_duration_since(at).abs_diff(wait);
        Some(error <= (wait / 3).max(self.longest_gap(now)))
    }
}

/// When the last customers of a thread came and were let in, the newest in front.
#[derive(Default)]
pub(crate) struct LastLetIn(RefCell<VecDeque<(Instant, Instant)>>);

impl LastLetIn {
    /// Another one is let in. The pairs with those before, and how many of them came later and
    /// were let in before this one by more than `allowed`.
    fn add(&self, came: Instant, now: Instant, allowed: Duration) -> (u32, u32) {
        let mut last = self.0.borrow_mut();
        let too_early = |(other, at): &&(Instant, Instant)| {
            *other > came && now.saturating_duration_since(*at) > allowed
        };
        let disordered = last.iter().filter(too_early).count() as u32;
        let pairs = last.len() as u32;
        last.push_front((came, now));
        last.truncate(COMPARED);
        (pairs, disordered)
    }
}

impl UserAgent {
    /// Waits if the answer is a waiting room's, or if somebody in it gets none: then the
    /// request is to be sent again. `None`: the request is over, as the result says.
    ///
    /// # Errors
    /// The customer has waited as long as they do.
    pub(super) async fn waits(
        &mut self,
        waiting: &mut Option<Waiting>,
        result: &Result<PageResponse, Outcome>,
    ) -> Option<Result<(), Outcome>> {
        let page =
            match result {
                Ok(response) => response.answer.waits()?,
                Err(
                    Outcome::Refused(Refusal::Reset) | Outcome::Failed(Failure::ReturningRefused),
                ) if waiting.is_some() => AGAIN,
                Err(_) => return None,
            };
        let now = Instant::now();
        let seed = self.context.seed_of(self.session);
        let waiting = waiting.get_or_insert_with(|| Waiting::begins(now, seed));
        waiting.is_answered(now, page);
        if result.is_ok() {
            self.context.record(EventKind::WaitingPage { inside: self.inside });
        }
        // A page that refreshes without a pause would be a loop.
        let mut at = now + Duration::from_secs(page.refresh_s.max(1).into());
        let rules = &self.class().session;
        if at.saturating_duration_since(waiting.since) > rules.waits {
            return Some(Err(Outcome::Abandoned(Stage::Waiting)));
        }
        if waiting.rng.random::<f64>() < rules.waits_late {
            at += rules.waits_late_by;
        }
        self.rest_until(at).await;
        Some(Ok(()))
    }

    /// Notes that a customer was let in.
    pub(super) fn let_in(&self, waiting: &Waiting) {
        let now = Instant::now();
        let last = &self.context.last_let_in;
        let (pairs, disordered) = last.add(waiting.since, now, waiting.longest_gap(now) * 2);
        let after = now.saturating_duration_since(waiting.since);
        let as_estimated = waiting.as_estimated(now);
        self.context.record(EventKind::LetIn(LetIn { after, as_estimated, pairs, disordered }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_out_of_order_beyond_two_pages_of_the_one_who_came_first() {
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        let last = LastLetIn::default();
        let add = |came, let_in| last.add(at(came), at(let_in), Duration::from_secs(4));
        assert_eq!(add(0, 10), (0, 0));
        // They came later, were let in later, and had to.
        assert_eq!(add(2, 20), (1, 0));
        // They came before the one who was let in 4 s before them, then 5 s.
        assert_eq!(add(1, 24), (2, 0));
        assert_eq!(add(1, 25), (3, 1));
    }

    #[test]
    fn the_first_estimate_holds_within_a_third_or_a_page() {
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        // A page every two seconds: without an estimate, with one of 30 s, then of 9 s.
        let as_estimated = |let_in: u64| {
            let mut waiting = Waiting::begins(at(0), 1);
            for second in (0..let_in).step_by(2) {
                let estimate_s = [None, Some(30), Some(9)][(second as usize / 2).min(2)];
                waiting.is_answered(at(second), WaitingPage { refresh_s: 2, estimate_s });
            }
            waiting.as_estimated(at(let_in))
        };
        assert_eq!(as_estimated(2), None);
        // 20 to 40 s from the first estimate on.
        let kept = [21, 22, 42, 43].map(as_estimated);
        assert_eq!(kept, [Some(false), Some(true), Some(true), Some(false)]);
        // Of 3 s, within the longest time between two pages: 4 s.
        let mut waiting = Waiting::begins(at(0), 1);
        waiting.is_answered(at(0), WaitingPage { refresh_s: 2, estimate_s: Some(3) });
        waiting.is_answered(at(4), AGAIN);
        let kept = [7, 8].map(|second| waiting.as_estimated(at(second)));
        assert_eq!(kept, [Some(true), Some(false)]);
    }
}
