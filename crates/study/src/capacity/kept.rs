//! How much of what the site carries it completes behind the gate under overload.
//!
//! The speed of a machine drifts, and the carried rate was measured minutes before the comparison.
//! So each window is compared with the baseline of its own round, and the interval is one over
//! rounds: a single round has none, and decides nothing.

use super::beyond::{MULTIPLES, Window};
use crate::site::step::Step;
use tidegate_experiment::Verdict;
use tidegate_stats::{Interval, mean};

/// Share of what the site carries that is to be completed.
pub(super) const KEPT: f64 = 0.85;

/// The share of what the site carries that it completes behind the gate, at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kept {
    /// Load as a multiple of the carried rate, above 1.
    pub(super) multiple: f64,
    /// Rounds in which the load generator was saturated neither in the window nor in the baseline.
    pub(super) rounds: usize,
    /// Mean share over these rounds; `None` without one.
    pub(super) mean: Option<f64>,
    /// Its 95 % interval by Student's t over the rounds; `None` with fewer than two.
    pub(super) interval: Option<Interval>,
}

impl Kept {
    fn of(multiple: f64, shares: &[f64]) -> Self {
        // No share is below 0.
        let interval = Interval::of_mean(shares).map(Interval::not_negative);
        Self { multiple, rounds: shares.len(), mean: mean(shares.iter().copied()), interval }
    }

    fn verdict(&self) -> Verdict {
        self.interval.map_or(Verdict::Undecided, |it| Verdict::at_least(KEPT, it.ends()))
    }
}

/// The shares at every load above the carried rate.
///
/// What the site carries in a round is the carried rate, in sessions per second, times the share of
/// the arrivals of the round's baseline that completed. The share and not the rate, because the
/// number of arrivals is one of a Poisson process, and its chance says nothing of the site.
pub(super) fn kept(windows: &[Window], carried_per_s: f64) -> Vec<Kept> {
    let sound = |window: &&Window| window.step.is_sound();
    let completed = |step: &Step| step.completed_per_s / step.offered_per_s;
    let of_round = |round: u32| {
        let mut baselines = windows.iter().filter(|it| it.round == round && it.multiple.is_none());
        let baseline = baselines.find(sound)?;
        Some(carried_per_s * completed(&baseline.step))
    };
    let shares = |multiple: f64| -> Vec<f64> {
        let through = windows.iter().filter(|it| it.gate && it.multiple == Some(multiple));
        through
            .filter(sound)
            .filter_map(|it| Some(it.step.completed_per_s / of_round(it.round)?))
            .filter(|share| share.is_finite())
            .collect()
    };
    let above = MULTIPLES.into_iter().filter(|multiple| *multiple > 1.0);
    above.map(|multiple| Kept::of(multiple, &shares(multiple))).collect()
}

/// Whether the site keeps its throughput at all these loads: it does if the whole interval of each
/// is at least [`KEPT`], and does not if that of one is below.
pub(super) fn verdict(loads: &[Kept]) -> Verdict {
    match loads {
        [] => Verdict::Undecided,
        loads => Verdict::of_all(loads.iter().map(Kept::verdict)),
    }
}

/// Why a load has no interval; `None` if each has one.
pub(super) fn undecided_because(loads: &[Kept], quick: bool) -> Option<&'static str> {
    match loads.iter().map(|it| it.rounds).min() {
        None | Some(0) => Some("the load generator was saturated in every round"),
        Some(1) if quick => Some("one round has no interval; a study without --quick has three"),
        Some(1) => Some("the load generator was saturated in all rounds but one"),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::step::tests::step;

    /// A round at a machine of this speed: its baseline of 90 per second, and the completed
    /// sessions of the windows behind the gate.
    fn round(round: u32, speed: f64, completed: [f64; 2]) -> Vec<Window> {
        let window = |multiple, gate, step| Window { round, multiple, gate, step };
        let mut windows = vec![window(None, false, step(90.0, 90.0 * speed, 10.0))];
        for (multiple, completed) in [2.0, 4.0].into_iter().zip(completed) {
            let step = step(100.0 * multiple, speed * completed, 10.0);
            windows.push(window(Some(multiple), true, step));
        }
        windows
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-4
    }

    #[test]
    fn the_interval_is_one_over_rounds_by_students_t() {
        let windows: Vec<Window> = [[90.0, 96.0], [92.0, 96.0], [94.0, 96.0]]
            .into_iter()
            .enumerate()
            .flat_map(|(at, completed)| round(at as u32, 1.0, completed))
            .collect();
        let loads = kept(&windows, 100.0);
        let [twice, four] = loads[..] else { panic!("{loads:?}") };
        // Mean 0.92, deviation 0.02, t of 2 degrees of freedom 4.3027: ± 4.3027 · 0.02 / √3.
        let interval = twice.interval.unwrap();
        assert_eq!((twice.multiple, twice.rounds), (2.0, 3));
        assert!(close(interval.value, 0.92) && close(interval.low, 0.87032), "{interval:?}");
        assert!(close(interval.high, 0.96968), "{interval:?}");
        assert!(close(four.interval.unwrap().low, 0.96), "{four:?}");
        assert_eq!(verdict(&loads), Verdict::Holds);
        assert_eq!(undecided_because(&loads, false), None);
    }

    #[test]
    fn a_machine_that_becomes_slower_during_the_study_is_no_loss_by_the_gate() {
        let mut windows = round(0, 1.0, [95.0, 95.0]);
        windows.extend(round(1, 0.7, [95.0, 95.0]));
        windows.extend(round(2, 0.6, [95.0, 95.0]));
        let loads = kept(&windows, 100.0);
        assert!(loads.iter().all(|it| close(it.mean.unwrap(), 0.95)), "{loads:?}");
        assert_eq!(verdict(&loads), Verdict::Holds);
    }

    #[test]
    fn one_round_decides_nothing_however_good_or_bad_it_was() {
        for completed in [[100.0, 100.0], [1.0, 1.0]] {
            let loads = kept(&round(0, 1.0, completed), 100.0);
            assert_eq!(verdict(&loads), Verdict::Undecided);
            assert!(undecided_because(&loads, true).unwrap().contains("without --quick"));
            assert!(undecided_because(&loads, false).unwrap().contains("all rounds but one"));
        }
        assert_eq!(verdict(&kept(&[], 100.0)), Verdict::Undecided);
    }

    #[test]
    fn a_load_whose_whole_interval_is_below_the_limit_decides_against_the_gate() {
        let mut windows = round(0, 1.0, [95.0, 60.0]);
        windows.extend(round(1, 1.0, [95.0, 61.0]));
        assert_eq!(verdict(&kept(&windows, 100.0)), Verdict::DoesNotHold);
        // Rounds that differ much contain the limit.
        let mut windows = round(0, 1.0, [95.0, 60.0]);
        windows.extend(round(1, 1.0, [95.0, 99.0]));
        assert_eq!(verdict(&kept(&windows, 100.0)), Verdict::Undecided);
    }

    #[test]
    fn the_chance_of_a_baselines_arrivals_does_not_count() {
        let mut windows = round(0, 1.0, [95.0, 95.0]);
        // A tenth fewer arrived than were asked for, and all of them completed.
        windows[0].step = step(81.0, 81.0, 10.0);
        assert!(close(kept(&windows, 100.0)[0].mean.unwrap(), 0.95));
    }

    #[test]
    fn rounds_in_which_the_load_generator_was_saturated_are_left_out() {
        let late = || vec!["late".to_owned()];
        let mut windows = round(0, 1.0, [95.0, 95.0]);
        windows.extend(round(1, 1.0, [95.0, 95.0]));
        windows.extend(round(2, 1.0, [95.0, 95.0]));
        windows[0].step.driver_saturated_because = late();
        windows[4].step.driver_saturated_because = late();
        let rounds: Vec<usize> = kept(&windows, 100.0).iter().map(|it| it.rounds).collect();
        assert_eq!(rounds, [1, 2]);
        windows.iter_mut().for_each(|it| it.step.driver_saturated_because = late());
        let loads = kept(&windows, 100.0);
        assert_eq!((loads[0].mean, verdict(&loads)), (None, Verdict::Undecided));
        assert!(undecided_because(&loads, false).unwrap().contains("in every round"));
    }
}
