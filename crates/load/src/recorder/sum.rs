//! Counts and response times of an interval. Every event belongs to several: a quarter of a
//! second, a second, a stretch. Consecutive events of the same intervals are counted once,
//! and the counts are added to all of them.

use std::time::Duration;

use tidegate_stats::{CensoredHistogram, Observation};

use super::event::Event;
use super::figures::count;
use crate::counted::Counted;
use crate::totals::Totals;

/// What is kept of a stretch.
#[derive(Clone, Debug, Default)]
pub(super) struct IntervalSum {
    pub(super) totals: Totals,
    /// Response times from the intended start.
    pub(super) response: CensoredHistogram,
}

impl IntervalSum {
    pub(super) fn add(&mut self, few: &PendingCounts) {
        few.add_to(&mut self.totals, &mut self.response);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        self.response.merge(&other.response);
    }

    /// Forgets everything; keeps the space.
    pub(super) fn clear(&mut self) {
        self.totals = Totals::default();
        self.response.clear();
    }
}

/// What a few events add to all sums that they belong to.
#[derive(Debug, Default)]
pub(super) struct PendingCounts {
    totals: Totals,
    responses: Vec<Observation>,
}

impl PendingCounts {
    pub(super) fn count(&mut self, event: &Event) {
        count(&mut self.totals, event);
        self.responses.extend(event.page_response());
    }

    pub(super) fn add_to(&self, totals: &mut Totals, response: &mut CensoredHistogram) {
        totals.merge(&self.totals);
        self.responses.iter().for_each(|took| response.record(*took));
    }

    /// Forgets them; keeps the space.
    pub(super) fn clear(&mut self) {
        self.totals = Totals::default();
        self.responses.clear();
    }
}

/// Instants that no cut of time lies between.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The first.
    pub(super) begins: Duration,
    /// Behind the last.
    ends: Duration,
}

impl Span {
    /// Those around an instant.
    pub(super) fn around(at: Duration, cuts: impl IntoIterator<Item = Duration>) -> Self {
        let mut span = Self { begins: Duration::ZERO, ends: Duration::MAX };
        for cut in cuts {
            if cut <= at {
                span.begins = span.begins.max(cut);
            } else {
                span.ends = span.ends.min(cut);
            }
        }
        span
    }

    pub(super) fn has(&self, at: Duration) -> bool {
        (self.begins..self.ends).contains(&at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_reaches_from_the_last_cut_before_to_the_first_after() {
        let [a, b, c] = [10, 20, 20].map(Duration::from_millis);
        let span = |ms| {
            let span = Span::around(Duration::from_millis(ms), [c, a, b]);
            (span.begins, span.ends)
        };
        assert_eq!(span(0), (Duration::ZERO, a));
        assert_eq!((span(10), span(19)), ((a, b), (a, b)));
        assert_eq!(span(20), (b, Duration::MAX));
    }
}
