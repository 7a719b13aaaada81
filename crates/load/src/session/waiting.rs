//! A customer in a gate's waiting room: they refresh as often as its page says, until they are let
//! in or have had enough.

use std::time::{Duration, Instant};

use super::user_agent::{PageResponse, UserAgent};
use crate::outcome::{Failure, Outcome, Refusal, Stage};
use crate::recorder::event::EventKind;

/// A page in the room is asked for again after so long, if the gate did not answer or does not say.
const AGAIN: Duration = Duration::from_secs(5);

/// The visit of a waiting room.
pub(super) struct Waiting {
    since: Instant,
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
        let refresh =
            match result {
                Ok(response) => response.answer.waits()?,
                Err(
                    Outcome::Refused(Refusal::Reset) | Outcome::Failed(Failure::ReturningRefused),
                ) if waiting.is_some() => AGAIN,
                Err(_) => return None,
            };
        let now = Instant::now();
        let since = waiting.get_or_insert(Waiting { since: now }).since;
        if result.is_ok() {
            self.context.record(EventKind::WaitingPage);
        }
        // A page that refreshes without a pause would be a loop.
        let at = now + refresh.max(Duration::from_secs(1));
        if at.saturating_duration_since(since) > self.class().session.waits {
            return Some(Err(Outcome::Abandoned(Stage::Waiting)));
        }
        self.rest_until(at).await;
        Some(Ok(()))
    }

    /// Notes that a customer was let in, after so long.
    pub(super) fn let_in(&self, waiting: &Waiting) {
        self.context.record(EventKind::LetIn { after: waiting.since.elapsed() });
    }
}
