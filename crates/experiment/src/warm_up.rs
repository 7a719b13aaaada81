//! When a service that compiles its code while it runs is warm: once what a response takes no
//! longer falls. That is its time where one client waits for each, and CPU time near the capacity.
//! Pure: the seconds are arguments.

use serde::Serialize;

use crate::metrics::{Figures, WARM_UP_S, WAS_WARM};

/// Stretches in a row that agree.
const AGREEING: usize = 3;
/// Longest time until then, in stated warm-ups.
const MOST: f64 = 3.0;

/// The seconds of a warm-up so far.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WarmUp {
    /// Length of a stretch, in seconds.
    stretch_s: usize,
    /// Largest ratio of the means of stretches that agree.
    within: f64,
    /// The longest that it takes, in seconds.
    most_s: usize,
    /// For each second the responses, and the milliseconds that all of them took.
    seconds: Vec<(f64, f64)>,
}

impl WarmUp {
    /// Of a service whose warm-up is stated to take so long: as long as all stretches that agree.
    /// Their means differ by this ratio at most.
    pub(crate) fn new(stated_s: f64, within: f64) -> Self {
        let stretch_s = ((stated_s / AGREEING as f64).round() as usize).max(1);
        let most_s = ((MOST * stated_s).ceil() as usize).max(AGREEING * stretch_s);
        Self { stretch_s, within, most_s, seconds: Vec::new() }
    }

    /// The longest that it takes, in seconds.
    pub(crate) fn most_s(&self) -> f64 {
        self.most_s as f64
    }

    /// The seconds so far.
    pub(crate) fn elapsed_s(&self) -> usize {
        self.seconds.len()
    }

    /// How long it took, and whether the service is warm: 1 or 0.
    pub(crate) fn figures(&self) -> Figures {
        let was_warm = if self.is_warm() { 1.0 } else { 0.0 };
        [(WARM_UP_S.into(), self.elapsed_s() as f64), (WAS_WARM.into(), was_warm)].into()
    }

    /// Adds a second: its number of responses, and what one took on average.
    pub(crate) fn push(&mut self, responses: u64, mean_ms: f64) {
        let responses = responses as f64;
        self.seconds.push((responses, responses * mean_ms));
    }

    /// Responses of the last stretches, of those that have to agree.
    pub(crate) fn last_responses(&self) -> u64 {
        let last = self.seconds.iter().rev().take(AGREEING * self.stretch_s);
        last.map(|second| second.0).sum::<f64>() as u64
    }

    /// Whether the means of the last stretches agree.
    pub(crate) fn is_warm(&self) -> bool {
        let Some(from) = self.seconds.len().checked_sub(AGREEING * self.stretch_s) else {
            return false;
        };
        let mean = |stretch: &[(f64, f64)]| {
            let sum = |of: fn(&(f64, f64)) -> f64| stretch.iter().map(of).sum::<f64>();
            sum(|second| second.1) / sum(|second| second.0)
        };
        let means: Vec<f64> = self.seconds[from..].chunks(self.stretch_s).map(mean).collect();
        let most = means.iter().copied().fold(0.0, f64::max);
        // A stretch without a response has no mean, and agrees with none.
        means.iter().all(|mean| *mean * self.within >= most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second after which a warm-up ends, and whether the service is warm then.
    fn ends(stated_s: f64, mean_ms: impl Fn(usize) -> (u64, f64)) -> (usize, bool) {
        let mut warm_up = WarmUp::new(stated_s, 1.1);
        for second in 1.. {
            let (responses, mean_ms) = mean_ms(second);
            warm_up.push(responses, mean_ms);
            if warm_up.is_warm() || second as f64 >= warm_up.most_s() {
                return (second, warm_up.is_warm());
            }
        }
        unreachable!("it has a bound")
    }

    #[test]
    fn a_service_is_warm_once_three_stretches_agree() {
        assert_eq!(ends(6.0, |_| (10, 5.0)), (6, true), "a warm one takes the stated time");
        // Stretches of 2 s: the third that is slower than the others by less than a tenth.
        assert_eq!(ends(6.0, |second| (10, if second <= 4 { 50.0 } else { 5.0 })), (10, true));
        assert_eq!(ends(6.0, |second| (10, 200.0 / second as f64)), (18, false));
        assert_eq!(ends(6.0, |second| (10, 5.0 + 0.04 * second as f64)), (6, true));
    }

    #[test]
    fn a_warm_up_that_was_cut_off_says_so_in_its_figures() {
        let figures = |falls: bool| {
            let mut warm_up = WarmUp::new(3.0, 1.1);
            for second in 1..=9 {
                warm_up.push(10, if falls { 200.0 / f64::from(second) } else { 5.0 });
            }
            warm_up.figures()
        };
        for (falls, was_warm) in [(false, 1.0), (true, 0.0)] {
            let expected = [(WARM_UP_S.to_owned(), 9.0), (WAS_WARM.to_owned(), was_warm)];
            assert_eq!(figures(falls), expected.into());
        }
    }

    #[test]
    fn stretches_are_weighed_by_their_responses_and_none_agrees_without_one() {
        // 99 of 5 ms and one of 100 ms in each stretch of 2 s: 5.95 ms.
        let rare = |second: usize| if second.is_multiple_of(2) { (1, 100.0) } else { (99, 5.0) };
        assert_eq!(ends(6.0, rare), (6, true));
        assert_eq!(ends(6.0, |_| (0, 0.0)), (18, false));
        assert_eq!(ends(0.1, |_| (1, 1.0)), (3, true), "stretches of a second at least");
    }
}
