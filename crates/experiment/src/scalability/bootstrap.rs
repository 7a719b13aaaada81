//! Bounds of coefficients by resampling of residuals.
//!
//! The loads of a study are chosen, not drawn, and there are few of them: residuals are drawn
//! anew and the loads stay. Drawing whole points would leave out a given load in a third of
//! the draws, often the only one beyond the peak.
//!
//! Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", 9.5, and 13.3 for the
//! percentile interval. Residuals are centred and multiplied by `√(n / (n − p))`, since `p`
//! fitted coefficients make them smaller than the errors.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::Bootstrap;
use super::model::Curve;
use super::solve::{Free, Weighed, least_squares};
use tidegate_stats::quantile;

/// Most draws: a minute of computing.
const MOST: u32 = 100_000;

/// The curves of the draws.
#[derive(Debug)]
pub(super) struct Refitted(Vec<Curve>);

impl Refitted {
    /// Draws that gave a curve.
    pub(super) fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// The 2.5 and 97.5 % quantiles of a coefficient; without draws infinitely far apart.
    pub(super) fn bounds(&self, of: fn(&Curve) -> f64) -> (f64, f64) {
        let mut values: Vec<f64> = self.0.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let at = |q| quantile(&values, q);
        (at(0.025).unwrap_or(f64::NEG_INFINITY), at(0.975).unwrap_or(f64::INFINITY))
    }
}

/// Fits the law to `draws` sets of points: the curve's throughput at the same loads, with the
/// residuals of others. A draw without a curve is left out.
pub(super) fn refit(
    points: &[Weighed],
    free: Free,
    curve: Curve,
    bootstrap: Bootstrap,
) -> Refitted {
    let fitted: Vec<f64> =
        points.iter().map(|point| curve.throughput(point.n).unwrap_or_default()).collect();
    let residual = |(point, fit): (&Weighed, &f64)| point.weight * (point.x - fit);
    let residuals: Vec<f64> = points.iter().zip(&fitted).map(residual).collect();
    let (count, coefficients) = (points.len() as f64, free.count() as f64);
    let mean = residuals.iter().sum::<f64>() / count;
    let widen = (count / (count - coefficients).max(1.0)).sqrt();
    let residuals: Vec<f64> = residuals.iter().map(|r| (r - mean) * widen).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(bootstrap.seed);
    let mut draw = || {
        let mut anew = |(point, fit): (&Weighed, &f64)| {
            let residual = residuals[random.random_range(0..residuals.len())];
            Weighed { x: fit + residual / point.weight, ..*point }
        };
        let drawn: Vec<Weighed> = points.iter().zip(&fitted).map(&mut anew).collect();
        least_squares(&drawn, free, curve)
    };
    Refitted((0..bootstrap.draws.min(MOST)).filter_map(|_| draw()).collect())
}
