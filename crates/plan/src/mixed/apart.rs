//! Which operations runs tell apart, and which come together.

use tidegate_stats::least_squares::{inverse, solve};

use super::{INFLATION, MixedRun};

/// An operation whose rate varies less than this about its mean comes at the same rate always.
const CONSTANT: f64 = 0.01;
/// Share that an operation needs in what another one depends on.
const TAKES_PART: f64 = 0.1;

/// Rates of operations about their weighted means.
pub(super) struct Rates {
    pub(super) means: Vec<f64>,
    /// Root of the weighted mean of squares about the mean.
    deviations: Vec<f64>,
    /// Correlations, row by row.
    correlations: Vec<f64>,
}

impl Rates {
    pub(super) fn of(n: usize, runs: &[MixedRun]) -> Self {
        let weight: f64 = runs.iter().map(|run| run.weight).sum();
        let mean = |of: &dyn Fn(&MixedRun) -> f64| {
            runs.iter().map(|run| run.weight * of(run)).sum::<f64>() / weight
        };
        let means: Vec<f64> = (0..n).map(|at| mean(&|run| run.per_s[at])).collect();
        let covariance = |i: usize, j: usize| {
            mean(&|run: &MixedRun| (run.per_s[i] - means[i]) * (run.per_s[j] - means[j]))
        };
        let deviations: Vec<f64> = (0..n).map(|at| covariance(at, at).sqrt()).collect();
        let correlation = |i: usize, j: usize| {
            // Nothing correlates with a rate that does not vary.
            let scale = deviations[i] * deviations[j];
            if scale > 0.0 { covariance(i, j) / scale } else { 0.0 }
        };
        let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let correlations = pairs.map(|(i, j)| if i == j { 1.0 } else { correlation(i, j) });
        Self { correlations: correlations.collect(), means, deviations }
    }

    /// Whether an operation comes at the same rate in all runs; also one that never comes.
    fn is_constant(&self, at: usize) -> bool {
        self.deviations[at] <= CONSTANT * self.means[at]
    }
}

/// Which operations can be told apart.
pub(super) struct Apart {
    /// Those whose rates say something of their own, in rising order.
    pub(super) kept: Vec<usize>,
    /// Variance inflation of each of them.
    pub(super) inflation: Vec<f64>,
    pub(super) groups: Vec<Bundle>,
}

/// Operations of a group, in rising order.
pub(super) struct Bundle {
    pub(super) members: Vec<usize>,
    /// Not told from the idle use either.
    pub(super) with_idle: bool,
}

impl Apart {
    pub(super) fn of(rates: &Rates) -> Self {
        let n = rates.means.len();
        let (constant, varying): (Vec<usize>, Vec<usize>) =
            (0..n).partition(|at| rates.is_constant(*at));
        // Cholesky's decomposition with the largest pivot first: what is left on the diagonal is
        // the share of an operation's variance that those before it do not explain.
        let mut left = rates.correlations.clone();
        let (mut kept, mut others) = (Vec::new(), varying);
        while let Some(place) = largest(&others, |at| left[at * n + at])
            && left[others[place] * n + others[place]] >= 1.0 / INFLATION
        {
            let pivot = others.remove(place);
            for &i in &others {
                let factor = left[i * n + pivot] / left[pivot * n + pivot];
                for &j in &others {
                    left[i * n + j] -= factor * left[pivot * n + j];
                }
            }
            kept.push(pivot);
        }
        kept.sort_unstable();
        let among: Vec<bool> = (0..n).map(|at| kept.contains(&at)).collect();
        // Group of each operation: the smallest of its members.
        let mut group: Vec<usize> = (0..n).collect();
        let mut with_idle = vec![false; n];
        for dependent in others {
            let right: Vec<f64> = (0..n).map(|at| rates.correlations[at * n + dependent]).collect();
            // The kept ones have an inverse: their pivots are above the bound.
            let shares = solve(&rates.correlations, &right, &among).unwrap_or(vec![0.0; n]);
            let rate = |at: usize| {
                shares[at] * rates.deviations[dependent] / rates.deviations[at] * rates.means[at]
            };
            let constant =
                rates.means[dependent] - (0..n).filter(|at| among[*at]).map(rate).sum::<f64>();
            let differs = constant.abs() > TAKES_PART * rates.means[dependent]
                || shares.iter().any(|share| *share <= -TAKES_PART);
            let parts = (0..n).filter(|at| *at == dependent || shares[*at].abs() >= TAKES_PART);
            let joined: Vec<usize> = parts.map(|at| group[at]).collect();
            let first = joined.iter().copied().min().unwrap_or(dependent);
            with_idle[first] = differs || joined.iter().any(|at| with_idle[*at]);
            group.iter_mut().filter(|it| joined.contains(it)).for_each(|it| *it = first);
        }
        let members = |of: usize| (0..n).filter(|at| group[*at] == of).collect::<Vec<_>>();
        let mut groups: Vec<Bundle> = (0..n)
            .map(|first| Bundle { members: members(first), with_idle: with_idle[first] })
            .filter(|bundle| bundle.members.len() > 1)
            .collect();
        let always: Vec<usize> = constant.into_iter().filter(|at| rates.means[*at] > 0.0).collect();
        if !always.is_empty() {
            groups.push(Bundle { members: always, with_idle: true });
        }
        let own: Vec<f64> = kept
            .iter()
            .flat_map(|i| kept.iter().map(move |j| rates.correlations[i * n + j]))
            .collect();
        let inverse = inverse(&own, kept.len());
        let inflation = (0..kept.len())
            .map(|at| inverse.as_ref().map_or(f64::INFINITY, |it| it[at * kept.len() + at]));
        Self { inflation: inflation.collect(), kept, groups }
    }

    /// Whether costs of a kept operation may come out negative: as a difference of two.
    pub(super) fn is_difference(&self, at: usize) -> bool {
        self.groups.iter().any(|it| it.with_idle && it.members.contains(&at))
    }
}

/// The place of the largest.
fn largest(of: &[usize], size: impl Fn(usize) -> f64) -> Option<usize> {
    // The first of those that are as large.
    (0..of.len()).rev().max_by(|a, b| size(of[*a]).total_cmp(&size(of[*b])))
}
