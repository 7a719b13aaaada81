//! Least squares of the operations that runs tell apart.

use tidegate_stats::Estimate;
use tidegate_stats::least_squares::{inverse, non_negative, normal_equations, solve};

use super::apart::{Apart, Rates};
use super::{Member, Mixed, MixedCost, MixedRun, Together};
use crate::range::Range;

/// Costs of the kept operations, and of the idle site as the last.
pub(super) struct Fit {
    /// Without negative ones.
    bounded: Vec<f64>,
    /// Of either sign.
    free: Vec<f64>,
    /// Covariance of the latter, row by row.
    covariance: Vec<f64>,
    freedom: f64,
    /// Root of the weighted mean of the squares that are left.
    left: f64,
}

impl Fit {
    pub(super) fn of(apart: &Apart, runs: &[MixedRun]) -> Self {
        let n = apart.kept.len() + 1;
        let row = |run: &MixedRun| {
            let own = apart.kept.iter().map(|at| run.per_s[*at]);
            own.chain([1.0]).collect::<Vec<f64>>()
        };
        let rows: Vec<Vec<f64>> = runs.iter().map(row).collect();
        let weight: f64 = runs.iter().map(|run| run.weight).sum();
        let weights: Vec<f64> =
            runs.iter().map(|run| run.weight * runs.len() as f64 / weight).collect();
        let weighted = || rows.iter().zip(runs).zip(&weights);
        let (matrix, right) =
            normal_equations(n, weighted().map(|((row, run), it)| (row.as_slice(), run.used, *it)));
        let squares = |x: &[f64]| -> f64 {
            let off =
                |row: &[f64], used: f64| used - row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
            weighted().map(|((row, run), it)| it * off(row, run.used).powi(2)).sum()
        };
        let free = solve(&matrix, &right, &vec![true; n]).unwrap_or(vec![0.0; n]);
        let bounded = bounded(apart, &matrix, &right).unwrap_or_else(|| free.clone());
        let freedom = (runs.len() - n) as f64;
        let scale = squares(&free) / freedom;
        let inverse = inverse(&matrix, n).unwrap_or(vec![f64::INFINITY; n * n]);
        let covariance = inverse.iter().map(|it| it * scale).collect();
        let left = (squares(&bounded) / runs.len() as f64).sqrt();
        Self { bounded, free, covariance, freedom, left }
    }

    /// The 95 % interval of a sum of unknowns, at least 0.
    fn range(&self, factors: &[f64]) -> Range {
        let n = self.free.len();
        let sum = |of: &[f64]| of.iter().zip(factors).map(|(x, f)| x * f).sum::<f64>();
        let variance: f64 = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .map(|(i, j)| factors[i] * factors[j] * self.covariance[i * n + j])
            .sum();
        let (value, free) = (sum(&self.bounded).max(0.0), sum(&self.free));
        let error = variance.max(0.0).sqrt();
        let (low, high) = Estimate { value: 0.0, error, freedom: self.freedom }.interval(0.95);
        // Where bounds move the value, it and what is free of them are both possible.
        Range { value, low: (value.min(free) + low).max(0.0), high: value.max(free) + high }
    }

    pub(super) fn told(
        &self,
        names: &[String],
        rates: &Rates,
        apart: &Apart,
        runs: &[MixedRun],
    ) -> Mixed {
        let one = |place: usize| {
            let mut factors = vec![0.0; self.free.len()];
            factors[place] = 1.0;
            self.range(&factors)
        };
        let group = |at: usize| apart.groups.iter().position(|it| it.members.contains(&at));
        let operations = names.iter().enumerate().map(|(at, name)| {
            let (group, place) = (group(at), apart.kept.iter().position(|it| *it == at));
            let place = place.filter(|_| group.is_none());
            MixedCost {
                operation: name.clone(),
                cost: place.map(one),
                inflation: place.map(|place| apart.inflation[place]),
                group,
            }
        });
        let groups = apart.groups.iter().map(|bundle| {
            let count = |at: usize| rates.means[at] / rates.means[bundle.members[0]];
            let members = bundle.members.iter();
            let members =
                members.map(|at| Member { operation: names[*at].clone(), count: count(*at) });
            let own = |at: &usize| if bundle.members.contains(at) { count(*at) } else { 0.0 };
            let factors: Vec<f64> = apart.kept.iter().map(own).chain([0.0]).collect();
            Together {
                members: members.collect(),
                cost: (!bundle.with_idle).then(|| self.range(&factors)),
            }
        });
        let weight: f64 = runs.iter().map(|run| run.weight).sum();
        let mean = runs.iter().map(|run| run.weight * run.used).sum::<f64>() / weight;
        Mixed {
            operations: operations.collect(),
            groups: groups.collect(),
            idle: one(apart.kept.len()),
            runs: runs.len(),
            off: if mean > 0.0 { self.left / mean } else { 0.0 },
        }
    }
}

/// Costs of the kept operations and of the idle site that are not negative, except those that are
/// differences.
fn bounded(apart: &Apart, matrix: &[f64], right: &[f64]) -> Option<Vec<f64>> {
    let n = right.len();
    // An unknown of either sign is one of two that are not negative, less the other.
    let twins = (0..n - 1).filter(|place| apart.is_difference(apart.kept[*place]));
    let terms: Vec<(usize, f64)> =
        (0..n).map(|at| (at, 1.0)).chain(twins.map(|at| (at, -1.0))).collect();
    let cells =
        terms.iter().flat_map(|(i, a)| terms.iter().map(move |(j, b)| matrix[i * n + j] * a * b));
    let sides: Vec<f64> = terms.iter().map(|(at, sign)| right[*at] * sign).collect();
    let found = non_negative(&cells.collect::<Vec<_>>(), &sides)?;
    let mut x = vec![0.0; n];
    terms.iter().zip(found).for_each(|((at, sign), value)| x[*at] += sign * value);
    Some(x)
}
