//! What an operation costs, from runs of it alone at rising load.
//!
//! Costs are not constant: past the knee a site spends more on each operation, in the paper twice
//! as much along one table. So a cost is taken from the linear part of the curve.
//!
//! Source: Microsoft 1999, "Using Transaction Cost Analysis for Site Capacity Planning": cost =
//! utilisation · CPUs · speed / operations per second at the best point of a run. Deviation: the
//! slope over the linear part, which leaves out what the site does without customers.

use statrs::distribution::{ContinuousCDF, StudentsT};

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// What one more operation uses, with its 95 % interval; a point with two runs.
    pub cost: Range,
    /// What is used without any.
    pub idle: f64,
    /// Operations per second up to which the curve is linear.
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

/// The longest linear part from the lightest load on; `None` with fewer than two loads.
pub fn linear_part(runs: &[Run]) -> Option<Linear> {
    let mut runs: Vec<Run> = runs.to_vec();
    runs.retain(|run| run.per_s > 0.0 && run.used.is_finite());
    runs.sort_by(|a, b| a.per_s.total_cmp(&b.per_s));
    let is_linear = |part: &[Run]| {
        let (idle, slope) = line(part)?;
        let off = |run: &Run| (run.used / (idle + slope * run.per_s) - 1.0).abs();
        part.iter().all(|run| off(run) <= OFF).then_some((idle, slope))
    };
    let mut best = None;
    for count in 2..=runs.len() {
        match is_linear(&runs[..count]) {
            Some(fit) => best = Some((count, fit)),
            None => break,
        }
    }
    let (count, (idle, slope)) = best?;
    let half = half_width(&runs[..count], idle, slope);
    Some(Linear {
        cost: Range { value: slope, low: (slope - half).max(0.0), high: slope + half },
        idle,
        up_to: runs[count - 1].per_s,
        ends: count < runs.len(),
    })
}

/// Intercept and slope by least squares; `None` where loads are the same.
fn line(runs: &[Run]) -> Option<(f64, f64)> {
    let count = runs.len() as f64;
    let mean = |of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|run| run.per_s), mean(|run| run.used));
    let spread: f64 = runs.iter().map(|run| (run.per_s - x).powi(2)).sum();
    let slope = runs.iter().map(|run| (run.per_s - x) * (run.used - y)).sum::<f64>() / spread;
    slope.is_finite().then_some((y - slope * x, slope))
}

/// Half of the slope's 95 % interval by Student's t, with two degrees of freedom fewer than runs.
fn half_width(runs: &[Run], idle: f64, slope: f64) -> f64 {
    let freedom = runs.len() as f64 - 2.0;
    let Ok(t) = StudentsT::new(0.0, 1.0, freedom) else { return 0.0 };
    let x = runs.iter().map(|run| run.per_s).sum::<f64>() / runs.len() as f64;
    let spread: f64 = runs.iter().map(|run| (run.per_s - x).powi(2)).sum();
    let left: f64 = runs.iter().map(|run| (run.used - idle - slope * run.per_s).powi(2)).sum();
    t.inverse_cdf(0.975) * (left / freedom / spread).sqrt()
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
        // Residuals 0.005, −0.01, 0.005 around 0.1 x: 0.00015 left over one degree of freedom, and
        // a spread of 2: an error of 0.00866 and t = 12.706.
        let found = linear_part(&runs(&[(1.0, 0.105), (2.0, 0.19), (3.0, 0.305)])).unwrap();
        assert!((found.cost.value - 0.1).abs() < 1e-9, "{found:?}");
        assert!((found.cost.high - 0.1 - 12.706 * 0.00866).abs() < 1e-3, "{found:?}");
        assert_eq!(found.cost.low, 0.0);
    }

    #[test]
    fn the_papers_baseline_is_linear_up_to_200_shoppers() {
        let table = [(2.659, 117.648), (5.391, 255.680), (8.105, 463.512), (8.299, 723.712)];
        let found = linear_part(&runs(&table)).unwrap();
        assert_eq!((found.up_to, found.ends), (5.391, true));
        // (255.680 − 117.648) / (5.391 − 2.659) megacycles for each request.
        assert!((found.cost.value - 50.524).abs() < 1e-3, "{found:?}");
        assert!((megacycles(0.14706, 2.0, 400.0) - 117.648).abs() < 1e-9);
    }

    #[test]
    fn one_load_says_nothing() {
        assert_eq!(linear_part(&runs(&[(1.0, 1.0)])), None);
        assert_eq!(linear_part(&runs(&[(1.0, 1.0), (1.0, 2.0)])), None);
        assert_eq!(linear_part(&[]), None);
    }
}
