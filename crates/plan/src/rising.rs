//! What an operation costs, from runs of it alone at rising load.
//!
//! Costs are not constant: past the knee a site spends more on each operation, in the paper twice
//! as much along one table. So a cost is taken from the linear part of the curve.
//!
//! Source: Microsoft 1999, "Using Transaction Cost Analysis for Site Capacity Planning": cost =
//! utilisation · CPUs · speed / operations per second at the best point of a run. Deviation: the
//! slope over the linear part, which leaves out what the site does without customers.

use serde::Serialize;
use tidegate_stats::Estimate;

use crate::range::Range;

/// A run at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Operations per second.
    pub per_s: f64,
    /// What they use of the resource per second: CPU seconds, megacycles or bytes.
    pub used: f64,
}

/// The linear part of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Linear {
    /// What one more operation uses, with its 95 % interval; a point where the line has as many
    /// unknowns as runs.
    pub cost: Range,
    /// What is used without any, at least 0.
    pub idle: f64,
    /// Operations per second from which on the curve is linear.
    pub from: f64,
    /// Operations per second up to which it is.
    pub up_to: f64,
    /// Whether it is no longer linear in the next run: then `up_to` is the knee.
    pub ends: bool,
}

/// How far a run may be from the line, as a share of what the line says.
const OFF: f64 = 0.1;

/// Used capacity of processors in megacycles per second.
pub fn megacycles(utilisation: f64, cpus: f64, mhz: f64) -> f64 {
    utilisation * cpus * mhz
}

/// The longest linear part from the lightest load on, or from the second lightest where that is
/// longer: the first run of a series may be of a cold site. `None` without two loads on a line that
/// rises.
pub fn linear_part(runs: &[Run]) -> Option<Linear> {
    let mut runs: Vec<Run> = runs.to_vec();
    runs.retain(|run| run.per_s > 0.0 && run.used.is_finite());
    runs.sort_by(|a, b| a.per_s.total_cmp(&b.per_s));
    let longest = |start: usize| {
        let part = |end: usize| Some((&runs[start..end], Line::through(&runs[start..end])?));
        (start + 2..=runs.len()).map_while(part).last()
    };
    let length = |found: &Option<(&[Run], Line)>| found.as_ref().map_or(0, |(part, _)| part.len());
    let (first, second) = (longest(0), longest(1));
    let (part, line) = if length(&second) > length(&first) { second } else { first }?;
    let (low, high) = line.interval(part);
    let (from, last) = (part[0].per_s, part[part.len() - 1].per_s);
    Some(Linear {
        cost: Range { value: line.slope, low: low.max(0.0), high },
        idle: line.idle,
        from,
        up_to: last,
        ends: runs.iter().any(|run| run.per_s > last),
    })
}

/// A line through runs.
#[derive(Clone, Copy, Debug)]
struct Line {
    idle: f64,
    slope: f64,
    /// Degrees of freedom: runs without the unknowns of the line.
    freedom: usize,
}

impl Line {
    /// The line of least squares that does not begin below 0; `None` where it does not rise, or a
    /// run is too far from it.
    fn through(runs: &[Run]) -> Option<Self> {
        let count = runs.len() as f64;
        let mean = |of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|run| run.per_s), mean(|run| run.used));
        let slope = |x: f64, y: f64| {
            let products = runs.iter().map(|run| (run.per_s - x) * (run.used - y)).sum::<f64>();
            products / runs.iter().map(|run| (run.per_s - x).powi(2)).sum::<f64>()
        };
        let free = slope(x, y);
        let line = match y - free * x {
            idle if idle >= 0.0 => Self { idle, slope: free, freedom: runs.len() - 2 },
            _ => Self { idle: 0.0, slope: slope(0.0, 0.0), freedom: runs.len() - 1 },
        };
        let is_near = |run: &Run| (run.used / line.at(run.per_s) - 1.0).abs() <= OFF;
        (line.slope > 0.0 && line.slope.is_finite() && runs.iter().all(is_near)).then_some(line)
    }

    fn at(self, per_s: f64) -> f64 {
        self.idle + self.slope * per_s
    }

    /// The slope's 95 % interval by Student's t.
    fn interval(self, runs: &[Run]) -> (f64, f64) {
        let freedom = self.freedom as f64;
        if freedom < 1.0 {
            return (self.slope, self.slope);
        }
        let x = match self.freedom + 2 == runs.len() {
            true => runs.iter().map(|run| run.per_s).sum::<f64>() / runs.len() as f64,
            false => 0.0,
        };
        let spread: f64 = runs.iter().map(|run| (run.per_s - x).powi(2)).sum();
        let left: f64 = runs.iter().map(|run| (run.used - self.at(run.per_s)).powi(2)).sum();
        let error = (left / freedom / spread).sqrt();
        Estimate { value: self.slope, error, freedom }.interval(0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(of: &[(f64, f64)]) -> Vec<Run> {
        of.iter().map(|&(per_s, used)| Run { per_s, used }).collect()
    }

    #[test]
    fn a_line_has_its_slope_its_idle_use_and_no_knee() {
        let found = linear_part(&runs(&[(30.0, 0.65), (10.0, 0.25), (20.0, 0.45)])).unwrap();
        assert!((found.cost.value - 0.02).abs() < 1e-12 && (found.idle - 0.05).abs() < 1e-12);
        assert_eq!((found.up_to, found.ends), (30.0, false));
    }

    #[test]
    fn the_interval_of_a_slope_by_hand() {
        // Residuals 0.005, −0.01, 0.005 around 0.01 + 0.1 x: 0.00015 left over one degree of freedom, and
        // a spread of 2: an error of 0.00866 and t = 12.706.
        let found = linear_part(&runs(&[(1.0, 0.115), (2.0, 0.2), (3.0, 0.315)])).unwrap();
        assert!((found.cost.value - 0.1).abs() < 1e-9, "{found:?}");
        assert!((found.cost.high - 0.1 - 12.706 * 0.00866).abs() < 1e-3, "{found:?}");
        assert_eq!(found.cost.low, 0.0);
    }

    #[test]
    fn the_papers_baseline_is_linear_up_to_200_shoppers() {
        let table = [(2.659, 117.648), (5.391, 255.680), (8.105, 463.512), (8.299, 723.712)];
        let found = linear_part(&runs(&table)).unwrap();
        assert_eq!((found.from, found.up_to, found.ends), (2.659, 5.391, true));
        // Through 0, since a line through both begins below: (2.659 · 117.648 + 5.391 · 255.680) /
        // (2.659² + 5.391²) megacycles for each request.
        assert!((found.cost.value - 46.8046).abs() < 1e-3 && found.idle == 0.0, "{found:?}");
        assert!((megacycles(0.14706, 2.0, 400.0) - 117.648).abs() < 1e-9);
    }

    #[test]
    fn a_first_run_that_costs_more_than_the_next_is_left_out() {
        let found = linear_part(&runs(&[(1.0, 9.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)])).unwrap();
        assert_eq!((found.from, found.cost.value, found.ends), (2.0, 1.0, false));
    }

    #[test]
    fn a_cost_is_never_negative() {
        assert_eq!(linear_part(&runs(&[(12.1, 787.6), (12.3, 785.5), (12.5, 673.2)])), None);
        let found = linear_part(&runs(&[(1.0, 0.1), (2.0, 0.21)])).unwrap();
        assert!(found.idle == 0.0 && found.cost.low >= 0.0 && found.cost.value > 0.0, "{found:?}");
    }

    #[test]
    fn one_load_says_nothing() {
        assert_eq!(linear_part(&runs(&[(1.0, 1.0)])), None);
        assert_eq!(linear_part(&runs(&[(1.0, 1.0), (1.0, 2.0)])), None);
        assert_eq!(linear_part(&[]), None);
    }
}
