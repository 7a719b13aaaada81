//! The measured window in a few dozen equal stretches, for confidence intervals. The memory
//! does not depend on the length of the run.

use std::time::Duration;

use tidegate_stats::Encoded;

use super::sum::{IntervalSum, PendingCounts};
use crate::result::series::Subwindow;

/// Most stretches of a window.
const MOST: u32 = 32;
/// Shortest stretch. A run of a few seconds needs some dozens of them as well: from eight on its
/// figures have a standard error, and more show whether neighbours are correlated.
const SHORTEST: Duration = Duration::from_millis(100);

/// Takes events of the measured window in any order.
pub(super) struct Subwindows {
    begins: Duration,
    length: Duration,
    kept: Vec<IntervalSum>,
    /// The end of the window is not known: stretches are joined in pairs when it needs more.
    grows: bool,
}

impl Subwindows {
    /// For a window that begins at `begins` and lasts `window` (above 0).
    pub(super) fn new(begins: Duration, window: Duration) -> Self {
        let length = (window / MOST).max(SHORTEST);
        let count = window.as_nanos().div_ceil(length.as_nanos()) as usize;
        Self { begins, length, kept: vec![IntervalSum::default(); count], grows: false }
    }

    /// For a window that lasts until a number of sessions is over.
    pub(super) fn growing(begins: Duration) -> Self {
        let kept = vec![IntervalSum::default(); MOST as usize];
        Self { begins, length: SHORTEST, kept, grows: true }
    }

    /// Adds events of the window of an instant's stretch.
    pub(super) fn add(&mut self, at: Duration, few: &PendingCounts) {
        while self.grows && self.index(at) >= self.kept.len() {
            self.join();
        }
        let index = self.index(at);
        self.kept[index].add(few);
    }

    /// Makes a stretch of two neighbours each.
    fn join(&mut self) {
        for index in 0..self.kept.len() {
            let mut joined = self.kept.get(2 * index).cloned().unwrap_or_default();
            self.kept.get(2 * index + 1).into_iter().for_each(|second| joined.merge(second));
            self.kept[index] = joined;
        }
        self.length *= 2;
    }

    /// The beginning and the end of an instant's stretch.
    pub(super) fn cuts(&self, at: Duration) -> [Duration; 2] {
        let index = self.index(at) as u32;
        [index, index + 1].map(|index| self.begins + self.length * index)
    }

    fn index(&self, at: Duration) -> usize {
        let since = at.saturating_sub(self.begins);
        let index = (since.as_nanos() / self.length.as_nanos()) as usize;
        // The window's last instant is its last stretch's.
        if self.grows { index } else { index.min(self.kept.len() - 1) }
    }

    /// The stretches of a run that was measured for so long; the last may be
    /// shorter than the others.
    pub(super) fn finish(&self, measured: Duration) -> Vec<Subwindow> {
        let begins = (0u32..).map(|index| self.length * index);
        let number = begins.clone().take_while(|begins| *begins < measured).count();
        let number = number.min(self.kept.len());
        let (within, after) = self.kept.split_at(number);
        let mut within = within.to_vec();
        if let Some(last) = within.last_mut() {
            // What the end of the run closes, at its last instant.
            after.iter().for_each(|sum| last.merge(sum));
        }
        within
            .iter()
            .zip(begins)
            .map(|(kept, begins)| {
                let totals = &kept.totals;
                let Encoded { exact: response, open, lost: unanswered } = kept.response.encode();
                Subwindow {
                    length_s: (measured - begins).min(self.length).as_secs_f64(),
                    offered: totals.offered,
                    completed: totals.completed,
                    refused: totals.refused,
                    abandoned: totals.abandoned,
                    failed: totals.failed,
                    admitted_ended: totals.admitted_ended(),
                    requests_ok: totals.requests_ok,
                    requests_failed: totals.requests_failed,
                    full_handshakes: totals.full_ok,
                    resumed_handshakes: totals.resumed_ok,
                    response,
                    unanswered,
                    open,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Event, EventKind, SessionGroup};
    use super::*;

    fn add(stretches: &mut Subwindows, ms: u64) {
        let (at, kind) =
            (Duration::from_millis(ms), EventKind::Offered { group: SessionGroup::default() });
        let mut one = PendingCounts::default();
        one.count(&Event { at, kind });
        stretches.add(at, &one);
    }

    fn counts(stretches: &[Subwindow]) -> Vec<(f64, u64)> {
        stretches.iter().map(|stretch| (stretch.length_s, stretch.offered)).collect()
    }

    #[test]
    fn a_window_is_cut_in_thirty_two_and_a_very_short_one_by_the_tenth_of_a_second() {
        let lengths = |s| {
            let stretches = Subwindows::new(Duration::ZERO, Duration::from_secs(s));
            (stretches.kept.len(), stretches.length)
        };
        assert_eq!(lengths(1), (10, Duration::from_millis(100)));
        assert_eq!(lengths(5), (32, Duration::from_micros(156_250)));
        assert_eq!(lengths(64), (32, Duration::from_secs(2)));
        assert_eq!(lengths(86_400), (32, Duration::from_millis(2_700_000)));
    }

    #[test]
    fn stretches_of_a_window_without_a_known_end_are_joined_when_it_needs_more() {
        let mut stretches = Subwindows::growing(Duration::from_secs(1));
        // One in each tenth of four seconds, and one more that comes late.
        (0..40).for_each(|tenth| add(&mut stretches, 100 * tenth + 1050));
        assert_eq!(stretches.length, Duration::from_millis(200));
        add(&mut stretches, 1070);
        let [begins, ends] = stretches.cuts(Duration::from_millis(5100));
        assert_eq!((begins.as_millis(), ends.as_millis()), (5000, 5200));
        let whole = counts(&stretches.finish(Duration::from_millis(3950)));
        assert_eq!(whole.len(), 20);
        assert_eq!((whole[0], whole[1], whole[19].1), ((0.2, 3), (0.2, 2), 2));
        let mut long = Subwindows::growing(Duration::ZERO);
        add(&mut long, 100);
        add(&mut long, 86_400_000);
        assert_eq!(long.length, Duration::from_millis(100 << 15));
        assert_eq!(counts(&long.finish(Duration::from_secs(86_401))).len(), 27);
    }

    #[test]
    fn every_event_of_the_window_is_in_one_stretch() {
        let mut stretches = Subwindows::new(Duration::from_secs(10), Duration::from_millis(250));
        for ms in [10_000, 10_099, 10_100, 10_240, 10_250] {
            add(&mut stretches, ms);
        }
        let whole = stretches.finish(Duration::from_millis(250));
        assert_eq!(counts(&whole), [(0.1, 2), (0.1, 1), (0.05, 2)]);
    }

    #[test]
    fn the_last_instant_of_a_window_without_a_known_end_is_in_its_last_stretch() {
        let mut stretches = Subwindows::growing(Duration::ZERO);
        [10, 110, 200].iter().for_each(|ms| add(&mut stretches, *ms));
        assert_eq!(counts(&stretches.finish(Duration::from_millis(200))), [(0.1, 1), (0.1, 2)]);
    }

    #[test]
    fn a_run_that_was_stopped_has_the_stretches_it_came_to() {
        let mut stretches = Subwindows::new(Duration::ZERO, Duration::from_secs(1));
        [10, 110].iter().for_each(|ms| add(&mut stretches, *ms));
        assert_eq!(counts(&stretches.finish(Duration::from_millis(125))), [(0.1, 1), (0.025, 1)]);
        assert!(stretches.finish(Duration::ZERO).is_empty());
    }
}
