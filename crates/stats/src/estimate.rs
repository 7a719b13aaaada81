//! A figure with its uncertainty, and the difference of two.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A figure with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Its standard error, in the same unit; 0 or more.
    pub error: f64,
    /// Degrees of freedom of the standard error; above 0.
    pub freedom: f64,
}

impl Estimate {
    /// The mean of independent measurements, with the error `s/√n` and `n − 1`
    /// degrees of freedom. `None` for fewer than two values, or if one is not finite.
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        let (value, deviation) = mean_and_deviation(values)?;
        let count = values.len() as f64;
        Some(Self { value, error: deviation / count.sqrt(), freedom: count - 1.0 })
    }

    /// The same of `count` values by their sum and the sum of their squares. `None` as
    /// [`Estimate::of_mean`].
    pub fn of_sums(count: u64, sum: f64, squares: f64) -> Option<Self> {
        if count < 2 || !sum.is_finite() || !squares.is_finite() {
            return None;
        }
        let count = count as f64;
        let value = sum / count;
        let variance = ((squares - sum * value) / (count - 1.0)).max(0.0);
        Some(Self { value, error: (variance / count).sqrt(), freedom: count - 1.0 })
    }

    /// The interval that covers the true figure with probability `confidence`
    /// (above 0, below 1), by Student's t.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let half = t_quantile(self.freedom, confidence) * self.error;
        (self.value - half, self.value + half)
    }

    /// The same figure in another unit: `factor` times it.
    pub fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, error: self.error * factor.abs(), ..self }
    }
}

/// The difference of two independent figures: the second minus the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The difference, its standard error and degrees of freedom.
    pub estimate: Estimate,
}

impl Difference {
    /// `b − a`, without assuming equal variances: the standard error is `√(ea² + eb²)`,
    /// its degrees of freedom `(ea² + eb²)² / (ea⁴/fa + eb⁴/fb)`.
    ///
    /// Source: Welch 1947, "The generalization of Student's problem when several
    /// different population variances are involved".
    pub fn welch(a: Estimate, b: Estimate) -> Self {
        let (va, vb) = (a.error * a.error, b.error * b.error);
        let freedom = if va + vb > 0.0 {
            (va + vb) * (va + vb) / (va * va / a.freedom + vb * vb / b.freedom)
        } else {
            a.freedom.min(b.freedom)
        };
        let estimate = Estimate { value: b.value - a.value, error: (va + vb).sqrt(), freedom };
        Self { estimate }
    }

    /// One measurement minus the mean of `several`, assuming the same variance: the
    /// standard error is `s·√(1 + 1/n)` with `n − 1` degrees of freedom.
    /// `None` for fewer than two values, or if one is not finite.
    ///
    /// Source: Student's t of two samples with a common variance, one of them of
    /// size 1; Sokal and Rohlf, "Biometry", comparing a single observation with
    /// the mean of a sample.
    pub fn one_less_several(one: f64, several: &[f64]) -> Option<Self> {
        let (mean, deviation) = mean_and_deviation(several)?;
        let count = several.len() as f64;
        let error = deviation * (1.0 + 1.0 / count).sqrt();
        let estimate = Estimate { value: one - mean, error, freedom: count - 1.0 };
        one.is_finite().then_some(Self { estimate })
    }

    /// The smallest true difference, as an absolute value, that a test at `significance` (two-sided)
    /// finds with probability `power`: `(t(1 − significance/2) + t(power)) × error`.
    ///
    /// Source: Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences"; the usual
    /// approximation of the non-central t by shifting the central one.
    pub fn detectable(&self, significance: f64, power: f64) -> f64 {
        let Estimate { error, freedom, .. } = self.estimate;
        if error == 0.0 {
            return 0.0;
        }
        let found =
            t_quantile(freedom, 1.0 - significance) + t_quantile(freedom, 2.0 * power - 1.0);
        found * error
    }

    /// The difference with the opposite sign.
    pub fn reversed(self) -> Self {
        Self { estimate: self.estimate.times(-1.0) }
    }

    /// Two-sided p-value: probability of a difference at least this large in absolute
    /// value if the true difference is 0.
    pub fn p(&self) -> f64 {
        (2.0 * t_tail(self.t().abs(), self.estimate.freedom)).min(1.0)
    }

    /// One-sided p-value: probability of a difference at least this large if the true
    /// difference is 0 or negative.
    pub fn p_above(&self) -> f64 {
        t_tail(self.t(), self.estimate.freedom)
    }

    /// The difference divided by its standard error; infinite if the error is 0 and the
    /// difference is not.
    fn t(&self) -> f64 {
        let Estimate { value, error, .. } = self.estimate;
        if value == 0.0 { 0.0 } else { value / error }
    }
}

/// Probability that Student's t with `freedom` exceeds `t`.
fn t_tail(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return if t > 0.0 { 0.0 } else { 1.0 };
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| student.sf(t))
}

/// The `t` that the absolute value of Student's t with `freedom` does not exceed with
/// probability `confidence`; infinite without degrees of freedom.
pub(crate) fn t_quantile(freedom: f64, confidence: f64) -> f64 {
    let below = 0.5 + confidence.clamp(0.0, 1.0) / 2.0;
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |student| student.inverse_cdf(below))
}

/// Mean and sample standard deviation (divisor `n − 1`).
fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((mean, (squares / (count - 1.0)).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-3 * expected.abs().max(1e-9), "{actual} {expected}");
    }

    #[test]
    fn sums_give_the_mean_of_their_values() {
        let (values, sums) = (Estimate::of_mean(&[1.0, 2.0, 6.0]), Estimate::of_sums(3, 9.0, 41.0));
        let (values, sums) = (values.unwrap(), sums.unwrap());
        close(sums.value, 3.0);
        close(sums.error, values.error);
        assert_eq!((sums.freedom, Estimate::of_sums(1, 1.0, 1.0)), (2.0, None));
        // Rounding makes no variance negative.
        assert_eq!(Estimate::of_sums(3, 0.3, 0.03 - 1e-9).unwrap().error, 0.0);
    }

    #[test]
    fn a_mean_and_its_interval_worked_out_by_hand() {
        // Mean 12, squares 4 + 0 + 4, s = 2, error 2/√3; t(2, 97.5 %) = 4.3027.
        let mean = Estimate::of_mean(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!((mean.value, mean.freedom), (12.0, 2.0));
        close(mean.error, 1.1547);
        close(mean.interval(0.95).1, 12.0 + 4.9683);
        assert_eq!(Estimate::of_mean(&[10.0]), None);
        assert_eq!(Estimate::of_mean(&[10.0, f64::NAN]), None);
    }

    #[test]
    fn quantiles_of_t_are_those_of_the_printed_tables() {
        for (freedom, t) in [(1.0, 12.706), (4.0, 2.776), (10.0, 2.228), (30.0, 2.042)] {
            close(t_quantile(freedom, 0.95), t);
        }
        close(t_quantile(1e6, 0.95), 1.96);
    }

    #[test]
    fn welch_worked_out_by_hand() {
        // A: mean 2, s² = 1, n = 3; B: mean 8, s² = 16, n = 3. Error²: 17/3;
        // freedom (17/3)² / ((1/3)²/2 + (16/3)²/2) = 578/257.
        let (a, b) = ([1.0, 2.0, 3.0], [4.0, 8.0, 12.0]);
        let difference =
            Difference::welch(Estimate::of_mean(&a).unwrap(), Estimate::of_mean(&b).unwrap());
        close(difference.estimate.value, 6.0);
        close(difference.estimate.error, 2.3805);
        close(difference.estimate.freedom, 2.2490);
        // t = 2.5205; between the tables' 4.303 (2.5 %) and 1.886 (10 %) of 2.
        assert!((0.1..0.2).contains(&difference.p()), "{}", difference.p());
        close(difference.p_above(), difference.p() / 2.0);
        close(difference.reversed().p_above(), 1.0 - difference.p() / 2.0);
    }

    #[test]
    fn p_of_one_degree_of_freedom_is_that_of_the_arc_tangent() {
        // Student's t with 1 is Cauchy's: P(|t| > 1) = 1/2.
        let at = |value| Difference { estimate: Estimate { value, error: 1.0, freedom: 1.0 } };
        close(at(1.0).p(), 0.5);
        close(at(12.706).p(), 0.05);
    }

    #[test]
    fn the_difference_that_a_test_would_find_worked_out_by_hand() {
        // Of many degrees of freedom 1.96 + 0.8416 errors; of 4: 2.776 + 0.941.
        let of = |error, freedom| Difference { estimate: Estimate { value: 0.0, error, freedom } };
        close(of(2.0, 1e6).detectable(0.05, 0.8), 5.6032);
        close(of(1.0, 4.0).detectable(0.05, 0.8), 3.717);
        assert_eq!(of(0.0, 4.0).detectable(0.05, 0.8), 0.0);
    }

    #[test]
    fn one_run_against_several_worked_out_by_hand() {
        // Mean 12, s = 2: error 2·√(4/3).
        let difference = Difference::one_less_several(17.0, &[10.0, 12.0, 14.0]).unwrap();
        assert_eq!((difference.estimate.value, difference.estimate.freedom), (5.0, 2.0));
        close(difference.estimate.error, 2.3094);
    }

    #[test]
    fn without_variance_figures_are_equal_or_certainly_different() {
        let still = |value| Estimate { value, error: 0.0, freedom: 3.0 };
        assert_eq!(Difference::welch(still(1.0), still(1.0)).p(), 1.0);
        assert_eq!(Difference::welch(still(1.0), still(2.0)).p(), 0.0);
        assert_eq!(Difference::welch(still(2.0), still(1.0)).p_above(), 1.0);
    }
}
