//! Two sets of runs side by side: which figures differ by more than chance, and
//! by what test.
//!
//! Runs that were repeated are independent measurements, and their means are
//! compared. Of one run alone only its own stretches can tell how
//! sure it is ([`tidegate_stats::ratio_of_sums`]).

mod alike;
mod arrivals;
pub(crate) mod figures;
mod power;
pub(crate) mod repeat;
mod report;
mod run;
mod selection;
#[cfg(test)]
mod short_runs;
pub(crate) mod window;

use serde::Serialize;
use tidegate_stats::{Difference, Estimate, Inconclusive, holm};

pub use crate::result::threshold_result::FewAnswers;
pub use figures::Unit;
use figures::{Figure, Worse};
pub use power::Power;
use power::detectable;
pub use run::{SavedResult, SavedRun};
pub use selection::Selection;

/// Probability with which a comparison may call any of its figures different
/// though none is.
pub const SIGNIFICANCE: f64 = 0.05;

/// What two sets of runs showed.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Files of the first set.
    pub a: Vec<String>,
    /// Files of the second.
    pub b: Vec<String>,
    /// Name of the test.
    pub test: String,
    /// Share that a figure may get worse by.
    pub worse_by: f64,
    /// Difference, as a share, that `power` says how to tell.
    pub tell: f64,
    /// Why the runs may not be compared; empty if they may.
    pub unlike: Vec<String>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// The figures.
    pub rows: Vec<Row>,
    /// Whether the figures were named, and not the usual ones.
    #[serde(skip)]
    named: bool,
}

/// One figure of both.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its name, as in a summary.
    pub figure: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Of the first set: mean of its runs.
    pub a: Option<f64>,
    /// Of the second.
    pub b: Option<f64>,
    /// The difference, where it can be tested.
    pub tested: Option<Tested>,
    /// Why it cannot.
    pub undecided_because: Option<String>,
    /// Of a percentile that has too few answers behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub few: Option<FewAnswers>,
    /// Which difference these runs would show; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    /// What to make of it.
    pub verdict: Change,
    /// The difference with its error.
    #[serde(skip)]
    difference: Option<Difference>,
    /// A run drifts: only a difference that exceeds that by far counts.
    #[serde(skip)]
    drifts: bool,
}

/// A difference and its test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tested {
    /// `b − a`.
    pub value: f64,
    /// Lower end of its interval of 95 %, of this figure alone.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability of a difference as large, were there none; raised by Holm's
    /// rule for all figures together.
    pub p: f64,
    /// Probability of a change for the worse as far beyond what is allowed, were
    /// there none beyond it; likewise raised. `None` where nothing is allowed, or
    /// no way is worse.
    pub p_beyond_allowed: Option<f64>,
}

/// What to make of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Nothing that chance does not explain.
    NoDifference,
    /// Significantly better in the second set.
    Better,
    /// Significantly worse, by more than is allowed.
    Worse,
    /// Significantly worse, but not significantly by more than is allowed.
    WorseWithinAllowed,
    /// Significantly different, where neither way is worse.
    Different,
    /// No test is possible.
    Undecided,
}

/// Compares two sets of runs; neither may be empty. A figure is worse if it is
/// so by more than the share `worse_by` (0 or more) of what it was.
///
/// The tests: Welch's t on the runs' values, with two runs or more on both
/// sides; Student's t of one run against several; Welch's t on the batch means
/// of one run each. With `worse_by` the same test is put to `b` and
/// `a × (1 ± worse_by)`, one-sided at half the significance. Holm's rule takes
/// account of the number of figures. A percentile is not tested where fewer than ten answers are
/// to be expected beyond it in a run: it is then one of the last few values, or the longest one.
/// For each figure that can be tested, the smallest difference that these runs would show is
/// given, and what it takes to tell one of the share `tell` (above 0).
pub fn compare(
    a: &[SavedRun],
    b: &[SavedRun],
    worse_by: f64,
    selection: &Selection,
    tell: f64,
) -> Comparison {
    let figures = &selection.figures;
    let mut rows: Vec<Row> = figures.iter().map(|figure| row(figure, a, b, worse_by)).collect();
    let tested = || rows.iter().filter_map(|row| row.tested.as_ref());
    let p = holm(&tested().map(|tested| tested.p).collect::<Vec<_>>());
    let beyond = holm(&tested().filter_map(|tested| tested.p_beyond_allowed).collect::<Vec<_>>());
    let (mut p, mut beyond) = (p.into_iter(), beyond.into_iter());
    for (row, figure) in rows.iter_mut().zip(figures) {
        let Some(tested) = &mut row.tested else { continue };
        tested.p = p.next().expect("as many as were tested");
        if let Some(value) = &mut tested.p_beyond_allowed {
            *value = beyond.next().expect("as many as were tested");
        }
        row.verdict = verdict(figure, tested);
        if row.drifts && row.verdict == Change::NoDifference {
            (row.tested, row.verdict) = (None, Change::Undecided);
            row.undecided_because = Some(reason(Inconclusive::Correlated).to_owned());
        }
    }
    let all = rows.iter().filter(|row| row.difference.is_some()).count();
    rows.iter_mut().for_each(|row| row.power = detectable(row, a, b, all, tell));
    let names = |runs: &[SavedRun]| runs.iter().map(|run| run.name.clone()).collect();
    Comparison {
        a: names(a),
        b: names(b),
        test: test(a.len(), b.len()),
        worse_by,
        tell,
        unlike: alike::unlike(a, b),
        notes: alike::notes(a, b),
        rows,
        named: selection.named,
    }
}

impl Comparison {
    /// Whether any figure is significantly worse, by more than is allowed.
    pub fn is_worse(&self) -> bool {
        self.rows.iter().any(|row| row.verdict == Change::Worse)
    }

    /// Figures that were named and could not be tested.
    pub fn untested(&self) -> Vec<&'static str> {
        let rows = self.rows.iter().filter(|row| self.named && row.tested.is_none());
        rows.map(|row| row.figure).collect()
    }
}

fn test(a: usize, b: usize) -> String {
    match (a, b) {
        (1, 1) => "Welch's t on batch means within one run each".to_owned(),
        (1, n) | (n, 1) => format!("Student's t of one run against {n}, taken to spread alike"),
        (a, b) => format!("Welch's t on the values of {a} and {b} runs"),
    }
}

fn row(figure: &Figure, a: &[SavedRun], b: &[SavedRun], worse_by: f64) -> Row {
    let mean = |runs: &[SavedRun]| {
        let values = runs.iter().map(|run| figure.value(&run.window).ok());
        let values: Option<Vec<f64>> = values.collect();
        values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
    };
    let few = a.iter().chain(b).filter_map(|run| figure.too_few(&run.window));
    let few = few.min_by_key(|few| few.answers);
    let tested = match few {
        Some(FewAnswers { answers, needed }) => {
            Err(format!("too few answers: {answers}, and it needs {needed}"))
        }
        None => Sides::new(figure, a, b)
            .and_then(|sides| sides.tested(figure, worse_by))
            .map_err(|inconclusive| reason(inconclusive).to_owned()),
    };
    let (tested, difference, drifts, undecided_because) = match tested {
        Ok((tested, difference, drifts)) => (Some(tested), Some(difference), drifts, None),
        Err(why) => (None, None, false, Some(why)),
    };
    Row {
        figure: figure.name,
        unit: figure.unit,
        a: mean(a),
        b: mean(b),
        tested,
        undecided_because,
        few,
        power: None,
        verdict: Change::Undecided,
        difference,
        drifts,
    }
}

fn reason(inconclusive: Inconclusive) -> &'static str {
    match inconclusive {
        Inconclusive::NoData => "there is no data for it",
        Inconclusive::TooShort => {
            "a run of less than 0.8 s has no standard error: run longer, or repeat it"
        }
        Inconclusive::Unbounded => {
            "so many requests had no response that only a lower bound of it is known"
        }
        Inconclusive::Correlated => "it drifts within the run: use a longer run, or repeat it",
    }
}

fn verdict(figure: &Figure, tested: &Tested) -> Change {
    let rises = tested.value > 0.0;
    match figure.worse {
        _ if tested.p >= SIGNIFICANCE => Change::NoDifference,
        None => Change::Different,
        Some(worse) if (worse == Worse::Higher) != rises => Change::Better,
        // One-sided, so at half of it.
        Some(_) if tested.p_beyond_allowed.is_some_and(|p| p >= SIGNIFICANCE / 2.0) => {
            Change::WorseWithinAllowed
        }
        Some(_) => Change::Worse,
    }
}

/// One figure in both sets.
enum Sides {
    /// Its value in each run; several runs in one set or both.
    Runs(Vec<f64>, Vec<f64>),
    /// Of one run each, and whether one of them drifts.
    Within(Estimate, Estimate, bool),
}

impl Sides {
    fn new(figure: &Figure, a: &[SavedRun], b: &[SavedRun]) -> Result<Self, Inconclusive> {
        if let ([a], [b]) = (a, b) {
            let ((a, a_drifts), (b, b_drifts)) =
                (figure.estimate(&a.window)?, figure.estimate(&b.window)?);
            return Ok(Self::Within(a, b, a_drifts || b_drifts));
        }
        let values = |runs: &[SavedRun]| -> Result<Vec<f64>, Inconclusive> {
            runs.iter().map(|run| figure.value(&run.window)).collect()
        };
        Ok(Self::Runs(values(a)?, values(b)?))
    }

    /// `b − factor × a`.
    fn difference(&self, factor: f64) -> Option<Difference> {
        match self {
            Self::Within(a, b, _) => Some(Difference::welch(a.times(factor), *b)),
            Self::Runs(a, b) => {
                let a: Vec<f64> = a.iter().map(|value| value * factor).collect();
                match (a.as_slice(), b.as_slice()) {
                    ([a], several) => {
                        Difference::one_less_several(*a, several).map(Difference::reversed)
                    }
                    (several, [b]) => Difference::one_less_several(*b, several),
                    (a, b) => Some(Difference::welch(Estimate::of_mean(a)?, Estimate::of_mean(b)?)),
                }
            }
        }
    }

    /// The test, the difference that it is about, and whether a run drifts.
    fn tested(
        &self,
        figure: &Figure,
        worse_by: f64,
    ) -> Result<(Tested, Difference, bool), Inconclusive> {
        let difference = self.difference(1.0).ok_or(Inconclusive::NoData)?;
        let beyond = match figure.worse {
            Some(Worse::Higher) => self.difference(1.0 + worse_by),
            Some(Worse::Lower) => self.difference(1.0 - worse_by).map(Difference::reversed),
            None => None,
        };
        let (low, high) = difference.estimate.interval(1.0 - SIGNIFICANCE);
        // Shares differ by 1 at most; Student's t does not know that.
        let most = if figure.unit == Unit::Share { 1.0 } else { f64::INFINITY };
        let (low, high) = (low.max(-most), high.min(most));
        let tested = Tested {
            value: difference.estimate.value,
            low,
            high,
            p: difference.p(),
            p_beyond_allowed: beyond.filter(|_| worse_by > 0.0).map(|beyond| beyond.p_above()),
        };
        Ok((tested, difference, matches!(self, Self::Within(.., true))))
    }
}

#[cfg(test)]
mod tests {
    use super::run::tests::{read, saved};
    use super::*;

    /// The usual figures.
    fn compare(a: &[SavedRun], b: &[SavedRun], worse_by: f64) -> Comparison {
        super::compare(a, b, worse_by, &Selection::default(), 0.05)
    }

    /// Runs of ten seconds that complete so many sessions in each, one more and
    /// one less in turn.
    fn runs(seed: u64, completed: &[u64]) -> Vec<SavedRun> {
        let seconds = |mean: u64| [(mean - 1, 20), (mean + 1, 20)].repeat(5);
        let runs = completed.iter().zip(seed..);
        runs.flat_map(|(&mean, seed)| read(&saved(seed, &seconds(mean)))).collect()
    }

    fn verdicts(comparison: &Comparison) -> Vec<(&str, Change)> {
        let rows = comparison.rows.iter();
        let differing = rows.filter(|row| row.verdict != Change::NoDifference && row.few.is_none());
        differing.map(|row| (row.figure, row.verdict)).collect()
    }

    #[test]
    fn repeated_runs_are_compared_by_their_values() {
        // Means 40 and 44, s = 1 and 1: error √(2/3), t = 4.9 with 4 degrees.
        let comparison = compare(&runs(1, &[39, 40, 41]), &runs(9, &[43, 44, 45]), 0.0);
        assert_eq!(comparison.test, "Welch's t on the values of 3 and 3 runs");
        let row = &comparison.rows[0];
        assert_eq!((row.figure, row.a, row.b), ("completed_per_s", Some(40.0), Some(44.0)));
        let tested = row.tested.as_ref().unwrap();
        // t(4, 97.5 %) = 2.776.
        assert!((tested.high - (4.0 + 2.776 * (2.0f64 / 3.0).sqrt())).abs() < 1e-3);
        // Unadjusted p is 0.008 (tables: t(4) = 4.604 at 0.01); times the
        // eleven, nothing is left of it.
        assert!(tested.p > SIGNIFICANCE, "{tested:?}");
        assert_eq!(verdicts(&comparison), []);
    }

    #[test]
    fn a_clear_change_is_called_by_its_direction() {
        let (slow, fast) = (runs(1, &[30, 30, 31]), runs(9, &[44, 45, 45]));
        let better = compare(&slow, &fast, 0.0);
        let throughput = ["completed_per_s", "requests_per_s", "completed_ratio"];
        assert_eq!(verdicts(&better), throughput.map(|name| (name, Change::Better)));
        assert!(!better.is_worse());
        let worse = compare(&fast, &slow, 0.0);
        assert_eq!(verdicts(&worse), throughput.map(|name| (name, Change::Worse)));
        assert!(worse.is_worse());
    }

    #[test]
    fn a_change_for_the_worse_within_what_is_allowed_is_not_held_against_it() {
        let (before, after) = (runs(1, &[45, 45, 46]), runs(9, &[40, 40, 41]));
        // 45.33 to 40.33 is 11 % less.
        assert!(compare(&before, &after, 0.0).is_worse());
        assert!(compare(&before, &after, 0.01).is_worse());
        let allowed = compare(&before, &after, 0.2);
        assert_eq!(verdicts(&allowed)[0], ("completed_per_s", Change::WorseWithinAllowed));
        assert!(!allowed.is_worse());
    }

    #[test]
    fn one_run_each_is_compared_by_its_stretches() {
        // ±1 in turn: error² = 10 / (10·9) each, t = 10 / √(2/9) = 21.
        let comparison = compare(&runs(1, &[30]), &runs(9, &[40]), 0.0);
        assert_eq!(comparison.test, "Welch's t on batch means within one run each");
        assert_eq!(verdicts(&comparison)[0], ("completed_per_s", Change::Better));
        assert!(comparison.notes.iter().any(|note| note.starts_with("one run each")));
        let tested = comparison.rows[0].tested.as_ref().unwrap();
        // t(18, 97.5 %) = 2.101.
        assert!((tested.high - (10.0 + 2.101 * (2.0f64 / 9.0).sqrt())).abs() < 1e-3, "{tested:?}");
        let alike = compare(&runs(1, &[30]), &runs(9, &[30]), 0.0);
        assert_eq!(verdicts(&alike), []);
    }

    #[test]
    fn one_run_may_be_held_against_several() {
        let several = runs(1, &[30, 31, 30, 31]);
        let comparison = compare(&several, &runs(9, &[50]), 0.0);
        assert_eq!(comparison.test, "Student's t of one run against 4, taken to spread alike");
        assert_eq!(verdicts(&comparison)[0], ("completed_per_s", Change::Better));
        let reversed = compare(&runs(9, &[50]), &several, 0.0);
        assert_eq!(verdicts(&reversed)[0], ("completed_per_s", Change::Worse));
    }

    #[test]
    fn what_cannot_be_tested_is_undecided_with_its_reason() {
        let short = |seed| read(&saved(seed, &[(30, 5); 4]));
        let row = &compare(&short(1), &short(9), 0.0).rows[0];
        assert_eq!((row.verdict, row.a), (Change::Undecided, Some(30.0)));
        assert!(row.undecided_because.as_ref().unwrap().contains("less than 0.8 s"));
        let idle = |seed| read(&saved(seed, &[(0, 5); 9]));
        let comparison = compare(&idle(1), &idle(9), 0.0);
        let p99 = comparison.rows.iter().find(|row| row.figure == "response_p99_ms").unwrap();
        assert_eq!((p99.verdict, p99.a), (Change::Undecided, None));
    }
    #[test]
    fn a_percentile_with_too_few_answers_is_not_tested() {
        // Three runs of 310 answers against three of 45; a percentile of 45 is one of its longest.
        let few = |seed| {
            let runs = (seed..seed + 3).map(|seed| saved(seed, &[(5, 9); 9]));
            runs.flat_map(|run| read(&run)).collect::<Vec<_>>()
        };
        let comparison = compare(&runs(1, &[31, 31, 31]), &few(9), 0.0);
        let row = |name| comparison.rows.iter().find(|row| row.figure == name).unwrap();
        assert_eq!(row("response_p50_ms").verdict, Change::Better);
        for (name, needed) in [("response_p95_ms", 200), ("response_p99_ms", 1000)] {
            let row = row(name);
            assert_eq!((row.verdict, row.tested), (Change::Undecided, None));
            assert_eq!(row.few, Some(FewAnswers { answers: 45, needed }));
            let expected = format!("too few answers: 45, and it needs {needed}");
            assert_eq!(row.undecided_because.as_ref(), Some(&expected));
            assert!(row.a.is_some() && row.b.is_some(), "the values are still there");
        }
        // 310 are enough for the 95th percentile, and not for the 99th.
        let comparison = compare(&runs(1, &[31]), &runs(9, &[31]), 0.0);
        let few = |name| comparison.rows.iter().find(|row| row.figure == name).unwrap().few;
        assert_eq!(few("response_p95_ms"), None);
        assert_eq!(few("response_p99_ms"), Some(FewAnswers { answers: 310, needed: 1000 }));
    }

    #[test]
    fn holm_counts_only_the_figures_that_were_named() {
        // Unadjusted p of completed_per_s is 0.008: of two figures it stays below 5 %.
        let (a, b) = (runs(1, &[39, 40, 41]), runs(9, &[43, 44, 45]));
        let named: Selection = "completed_per_s,response_p95_ms".parse().unwrap();
        let comparison = super::compare(&a, &b, 0.0, &named, 0.05);
        assert_eq!(verdicts(&comparison), [("completed_per_s", Change::Better)]);
        assert_eq!(comparison.rows.len(), 2);
        assert!(comparison.untested().is_empty());
        let p99: Selection = "response_p99_9_ms,completed_per_s".parse().unwrap();
        assert_eq!(super::compare(&a, &b, 0.0, &p99, 0.05).untested(), ["response_p99_9_ms"]);
        // Of the usual figures some can never be tested.
        assert!(compare(&a, &b, 0.0).untested().is_empty());
    }

    #[test]
    fn the_interval_of_a_share_stays_within_a_whole() {
        let half = |seed, ended: [u64; 2]| {
            ended
                .iter()
                .zip(seed..)
                .flat_map(|(&completed, seed)| read(&saved(seed, &[(completed, 20); 10])))
                .collect::<Vec<_>>()
        };
        let comparison = compare(&half(1, [5, 45]), &half(9, [10, 40]), 0.0);
        let row = comparison.rows.iter().find(|row| row.figure == "completed_ratio").unwrap();
        let tested = row.tested.unwrap();
        assert_eq!((tested.low, tested.high), (-1.0, 1.0));
    }
}
