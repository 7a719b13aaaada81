//! Runs beside those in the clear of the same round and the same other levels.

use std::collections::BTreeMap;

use tidegate_stats::{Interval, mean};

use super::Run;
use crate::experiment::{Levels, OverheadRule};

/// A run beside that in the clear of the same round and the same other levels.
pub(super) struct Pair<'r> {
    pub(super) run: &'r Run,
    clear: &'r Run,
}

impl Pair<'_> {
    /// CPU milliseconds of the transaction in the clear, which is its work, and as it is.
    pub(super) fn cpu(&self) -> Option<(f64, f64)> {
        let of = |run: &Run| run.figure("cpu_ms_per_request").filter(|it| *it > 0.0);
        Some((of(self.clear)?, of(self.run)?))
    }

    /// Mean response times in the clear and as it is.
    pub(super) fn response(&self) -> Option<(f64, f64)> {
        let of = |run: &Run| run.figure("response_mean_ms").filter(|it| *it > 0.0);
        Some((of(self.clear)?, of(self.run)?))
    }

    pub(super) fn added(&self, metric: &str) -> Option<f64> {
        Some(self.run.figure(metric)? - self.clear.figure(metric)?)
    }
}

/// All pairs of the rule, in the order of the runs.
pub(super) fn pairs<'r>(rule: &OverheadRule, runs: &'r [Run]) -> Vec<Pair<'r>> {
    let others = |run: &Run| {
        let mut levels = run.levels.clone();
        levels.remove(&rule.factor);
        (run.round, levels)
    };
    let is_clear = |run: &&Run| run.levels.get(&rule.factor) == Some(&rule.clear);
    let clear: BTreeMap<(u32, Levels), &Run> =
        runs.iter().filter(is_clear).map(|run| (others(run), run)).collect();
    let selected = runs.iter().filter(|run| !is_clear(run) && rule.runs.contains(&run.levels));
    let pair = |run| Some(Pair { run, clear: clear.get(&others(run)).copied()? });
    selected.filter_map(pair).collect()
}

/// A point of the figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// CPU milliseconds of the transaction in the clear, the mean over the rounds.
    pub(super) work_ms: f64,
    /// The share that the kind of connection adds to it, the mean over the rounds.
    pub(super) share: f64,
    /// The 95 % interval of this share; none of one round.
    pub(super) ends: Option<(f64, f64)>,
}

/// The points of one kind for the figure, by their work; a share that is not above 0 has no place on
/// a logarithmic axis.
pub(super) fn points(pairs: &[Pair<'_>]) -> Vec<Point> {
    let mut by_levels: BTreeMap<&Levels, Vec<(f64, f64)>> = BTreeMap::new();
    for pair in pairs {
        by_levels.entry(&pair.run.levels).or_default().extend(pair.cpu());
    }
    let point = |cpus: Vec<(f64, f64)>| {
        let work_ms = mean(cpus.iter().map(|(clear, _)| *clear))?;
        let shares: Vec<f64> = cpus.iter().map(|(clear, all)| all / clear - 1.0).collect();
        let share = mean(shares.iter().copied())?;
        let ends = Interval::of_mean(&shares).map(Interval::ends);
        (share > 0.0).then_some(Point { work_ms, share, ends })
    };
    let mut points: Vec<_> = by_levels.into_values().filter_map(point).collect();
    points.sort_by(|a, b| a.work_ms.total_cmp(&b.work_ms));
    points
}
