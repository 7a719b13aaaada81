//! Which differences a comparison would show, and what it takes to tell a given one.

use serde::Serialize;

use super::run::SavedRun;
use super::{Row, SIGNIFICANCE, Unit};

/// Probability with which a difference is found that is large enough.
pub const POWER: f64 = 0.8;

/// Which differences of a figure these runs would show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Power {
    /// The smallest difference found with a probability of 80 %, in the unit of the figure.
    pub shows: f64,
    /// The same as a share of the figure in A; `None` for a figure that is a share itself, or 0.
    pub shows_share: Option<f64>,
    /// Length of each of two runs that tell the difference asked for, in seconds; `None` where
    /// runs were repeated.
    pub needs_s: Option<f64>,
    /// Number of runs in each set that tell it; `None` for one run each.
    pub needs_runs: Option<u64>,
}

/// Of a figure among `all` that are tested: Holm's rule holds the first against that part of the
/// significance. The error of a figure falls with the root of the length, or of the number of
/// runs.
pub(super) fn detectable(
    row: &Row,
    a: &[SavedRun],
    b: &[SavedRun],
    all: usize,
    tell: f64,
) -> Option<Power> {
    let difference = row.difference.filter(|_| !row.drifts)?;
    let shows = difference.detectable(SIGNIFICANCE / all.max(1) as f64, POWER);
    let before = row.a.filter(|value| *value > 0.0 && row.unit != Unit::Share);
    let shows_share = before.map(|value| shows / value);
    let times = shows_share.map(|share| (share / tell).powi(2));
    let one_each = a.len() == 1 && b.len() == 1;
    let length = a.iter().chain(b).map(|run| run.summary.measured_s).fold(0.0, f64::max);
    // The harmonic mean of the numbers: as many in each set have the same error.
    let runs = 2.0 / (1.0 / a.len() as f64 + 1.0 / b.len() as f64);
    // What did not vary at all says nothing of how it would.
    (shows.is_finite() && shows > 0.0).then(|| Power {
        shows,
        shows_share,
        needs_s: times.filter(|_| one_each).map(|times| times * length),
        needs_runs: times.filter(|_| !one_each).map(|times| (times * runs).ceil().max(2.0) as u64),
    })
}

/// A time in words, rounded up: `4 min`.
pub(super) fn in_words(seconds: f64) -> String {
    match seconds.ceil() {
        s if s <= 120.0 => format!("{s} s"),
        s if s <= 7200.0 => format!("{} min", (s / 60.0).ceil()),
        s if s <= 86_400.0 => format!("{} h", (s / 3600.0).ceil()),
        _ => "more than a day".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::{read, saved};
    use super::super::{Selection, compare};
    use super::*;

    #[test]
    fn a_run_four_times_as_long_shows_half_the_difference() {
        // Seconds of 40 ± 4 sessions in turn: an error of 4/√n, about √2 times that for two.
        let run =
            |seed, seconds: usize| read(&saved(seed, &[(36, 20), (44, 20)].repeat(seconds / 2)));
        let power = |seconds| {
            let selection: Selection = "completed_per_s".parse().unwrap();
            let comparison = compare(&run(1, seconds), &run(2, seconds), 0.0, &selection, 0.01);
            comparison.rows[0].power.unwrap()
        };
        let (short, long) = (power(8), power(32));
        // t(14): 2.145 + 0.868; error 4·√(8/7)/√8·√2 = 2.138.
        assert!((short.shows - 3.013 * 2.138).abs() < 0.02, "{short:?}");
        assert!((short.shows / long.shows - 2.0).abs() < 0.25, "{short:?} {long:?}");
        let share = short.shows_share.unwrap();
        assert!((share - short.shows / 40.0).abs() < 1e-9);
        assert!((short.needs_s.unwrap() - 8.0 * (share / 0.01).powi(2)).abs() < 1e-6);
        assert_eq!(short.needs_runs, None);
    }

    #[test]
    fn repeated_runs_are_told_their_number() {
        let runs = |seed: u64, all: &[u64]| -> Vec<SavedRun> {
            let one = |(&n, seed)| read(&saved(seed, &[(n, 20); 10]));
            all.iter().zip(seed..).flat_map(one).collect()
        };
        let selection: Selection = "completed_per_s".parse().unwrap();
        let comparison =
            compare(&runs(1, &[39, 40, 41]), &runs(9, &[39, 40, 41]), 0.0, &selection, 0.05);
        // t(4): 2.776 + 0.941, times √(2/3): 3.035 of 40, 7.6 %. (7.6/5)²·3 = 6.9 runs.
        let power = comparison.rows[0].power.unwrap();
        assert!((power.shows - 3.035).abs() < 0.01, "{power:?}");
        assert_eq!((power.needs_s, power.needs_runs), (None, Some(7)));
    }

    #[test]
    fn a_length_is_rounded_up_in_a_unit_that_is_read() {
        let words = [4.2, 120.0, 121.0, 7201.0, 90_000.0].map(in_words);
        assert_eq!(words, ["5 s", "120 s", "3 min", "3 h", "more than a day"]);
    }
}
