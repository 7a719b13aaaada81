//! Non-linear least squares of a law of scalability.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DMatrix, DVector, Dyn, Owned};

use super::model::Curve;

/// Which coefficients are fitted; the others keep their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Free {
    pub(super) single: bool,
    pub(super) coherency: bool,
}

impl Free {
    /// The number of coefficients that are fitted; contention always is.
    pub(super) fn count(self) -> usize {
        1 + usize::from(self.single) + usize::from(self.coherency)
    }
}

/// A measured point as the search sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighed {
    /// Load.
    pub(super) n: f64,
    /// Throughput.
    pub(super) x: f64,
    /// Factor of its residual, above 0.
    pub(super) weight: f64,
}

/// What the residual is where the law has no meaning: so large that no step there is taken.
const NO_MEANING: f64 = 1e9;

/// The curve of least squares, from a start; `None` if the search finds none.
pub(super) fn least_squares(points: &[Weighed], free: Free, start: Curve) -> Option<Curve> {
    let problem = Problem { points, free, curve: start };
    let solver = LevenbergMarquardt::new().with_patience(200);
    let (problem, report) = solver.minimize(problem);
    let Curve { single, contention, coherency } = problem.curve;
    let finite = [single, contention, coherency].iter().all(|value| value.is_finite());
    // A search that ends for want of precision has its minimum.
    let found = report.termination.was_successful()
        || matches!(
            report.termination,
            levenberg_marquardt::TerminationReason::NoImprovementPossible(_)
        );
    let meant = points.iter().all(|point| problem.curve.slowdown(point.n) > 0.0);
    (found && finite && meant && report.objective_function.is_finite()).then_some(problem.curve)
}

/// The curve of least squares of the linear form `N/X = a + b(N − 1) + cN(N − 1)`, each equation
/// multiplied by `X` and its weight, with `λ = 1/a`, `α = b/a`, `β = c/a`: where the search starts. Where λ is
/// given, `a` is its inverse. `None` if the points do not determine it.
///
/// Source: Gunther 2007, "Guerrilla Capacity Planning", 5.5: the deviation from linearity.
pub(super) fn linear_start(points: &[Weighed], free: Free, single: f64) -> Option<Curve> {
    let columns = free.count();
    let mut matrix = DMatrix::zeros(points.len(), columns);
    let mut right = DVector::zeros(points.len());
    for (row, Weighed { n, x, weight }) in points.iter().enumerate() {
        let terms = [
            free.single.then_some(*x),
            Some(x * (n - 1.0)),
            free.coherency.then_some(x * n * (n - 1.0)),
        ];
        for (column, term) in terms.into_iter().flatten().enumerate() {
            matrix[(row, column)] = weight * term;
        }
        right[row] = weight * if free.single { *n } else { n - x / single };
    }
    // Columns of one length, so that rank is judged by shape alone.
    let lengths: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
    if lengths.iter().any(|length| !length.is_finite() || *length <= 0.0) {
        return None;
    }
    for (mut column, length) in matrix.column_iter_mut().zip(&lengths) {
        column /= *length;
    }
    let svd = matrix.svd(true, true);
    if svd.rank(1e-10) < columns {
        return None;
    }
    let solved = svd.solve(&right, 1e-12).ok()?;
    let mut solved = solved.iter().zip(&lengths).map(|(value, length)| value / length);
    let a = if free.single { solved.next()? } else { 1.0 / single };
    let b = solved.next()?;
    let c = if free.coherency { solved.next()? } else { 0.0 };
    let start = Curve { single: 1.0 / a, contention: b / a, coherency: c / a };
    let meant = points.iter().all(|point| start.slowdown(point.n) > 0.0) && start.single > 0.0;
    // A start without meaning: all throughput from one, and none lost.
    Some(if meant {
        start
    } else {
        let highest = points.iter().map(|point| point.x / point.n).fold(0.0, f64::max);
        let single = if free.single { highest } else { single };
        Curve { single, contention: 0.0, coherency: 0.0 }
    })
}

struct Problem<'a> {
    points: &'a [Weighed],
    free: Free,
    curve: Curve,
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, values: &DVector<f64>) {
        let mut values = values.iter().copied();
        let mut next =
            |free: bool, kept: f64| if free { values.next().unwrap_or(kept) } else { kept };
        let Curve { single, contention, coherency } = self.curve;
        self.curve = Curve {
            single: next(self.free.single, single),
            contention: next(true, contention),
            coherency: next(self.free.coherency, coherency),
        };
    }

    fn params(&self) -> DVector<f64> {
        let Curve { single, contention, coherency } = self.curve;
        let single = self.free.single.then_some(single);
        let coherency = self.free.coherency.then_some(coherency);
        let values: Vec<f64> =
            [single, Some(contention), coherency].into_iter().flatten().collect();
        DVector::from_vec(values)
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let residual = |point: &Weighed| match self.curve.throughput(point.n) {
            Some(throughput) => point.weight * (throughput - point.x),
            None => NO_MEANING,
        };
        Some(DVector::from_iterator(self.points.len(), self.points.iter().map(residual)))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let mut matrix = DMatrix::zeros(self.points.len(), self.free.count());
        for (row, Weighed { n, weight, .. }) in self.points.iter().enumerate() {
            let slowdown = self.curve.slowdown(*n);
            if slowdown <= 0.0 {
                continue;
            }
            let by_slowdown = -self.curve.single * n / (slowdown * slowdown);
            let terms = [
                self.free.single.then_some(n / slowdown),
                Some(by_slowdown * (n - 1.0)),
                self.free.coherency.then_some(by_slowdown * n * (n - 1.0)),
            ];
            for (column, term) in terms.into_iter().flatten().enumerate() {
                matrix[(row, column)] = weight * term;
            }
        }
        Some(matrix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighed((n, x, weight): (f64, f64, f64)) -> Weighed {
        Weighed { n, x, weight }
    }

    const ALL: Free = Free { single: true, coherency: true };

    #[test]
    fn the_derivatives_are_those_of_small_differences() {
        let points = [(1.0, 9.0, 1.0), (4.0, 30.0, 0.5), (9.5, 41.0, 2.0)].map(weighed);
        let curve = Curve { single: 10.0, contention: 0.05, coherency: 0.002 };
        let mut problem = Problem { points: &points, free: ALL, curve };
        let matrix = problem.jacobian().unwrap();
        let (at, before) = (problem.params(), problem.residuals().unwrap());
        for column in 0..3 {
            let step = 1e-6 * at[column].abs();
            let mut moved = at.clone();
            moved[column] += step;
            problem.set_params(&moved);
            let slope = (problem.residuals().unwrap() - &before) / step;
            problem.set_params(&at);
            for row in 0..points.len() {
                let (exact, found) = (matrix[(row, column)], slope[row]);
                assert!((exact - found).abs() <= 1e-3 * exact.abs() + 1e-6, "{exact} {found}");
            }
        }
    }

    #[test]
    fn the_linear_start_of_exact_points_is_their_curve() {
        let curve = Curve { single: 20.0, contention: 0.1, coherency: 0.003 };
        let points =
            [1.0, 2.0, 5.0, 20.0].map(|n| weighed((n, curve.throughput(n).unwrap(), 1.0 / n)));
        let start = linear_start(&points, ALL, 0.0).unwrap();
        assert!((start.contention - 0.1).abs() < 1e-9 && (start.coherency - 0.003).abs() < 1e-9);
        let same = [weighed((3.0, 10.0, 1.0)); 5];
        assert_eq!(linear_start(&same, ALL, 0.0), None);
    }
}
