//! Least squares by normal equations: of either sign, and without negative unknowns.
//!
//! Matrices are square, symmetric, without negative eigenvalues, and given row by row: `n · n`
//! numbers for `n` unknowns. Others panic.

/// A pivot below this share of its row's original size leaves the equations undetermined: what
/// follows would be rounding errors.
const SINGULAR: f64 = 1e-9;
/// A gradient below this share of its terms is 0 but for rounding errors.
const ROUNDING: f64 = 1e-12;
/// Most turns of an exchange for each unknown.
const TURNS: usize = 30;

/// The `x` with `matrix · x = right`, where the unknowns that `free` leaves out are 0 and have no
/// equation; `None`: undetermined, or not finite.
pub fn solve(matrix: &[f64], right: &[f64], free: &[bool]) -> Option<Vec<f64>> {
    let n = right.len();
    assert!(matrix.len() == n * n && free.len() == n, "a row and a column for each unknown");
    let (mut matrix, mut right) = (matrix.to_vec(), right.to_vec());
    let unknowns: Vec<usize> = (0..n).filter(|index| free[*index]).collect();
    let sizes: Vec<f64> = (0..n).map(|index| matrix[index * n + index]).collect();
    // Without negative eigenvalues elimination needs no exchange of rows.
    for (place, &pivot) in unknowns.iter().enumerate() {
        let size = matrix[pivot * n + pivot];
        if size.is_nan() || size <= SINGULAR * sizes[pivot] {
            return None;
        }
        for &row in &unknowns[place + 1..] {
            let factor = matrix[row * n + pivot] / size;
            for &column in &unknowns {
                matrix[row * n + column] -= factor * matrix[pivot * n + column];
            }
            right[row] -= factor * right[pivot];
        }
    }
    let mut solution = vec![0.0; n];
    for &row in unknowns.iter().rev() {
        // Unknowns that are not solved for yet, or not free, are 0.
        let rest = dot(&matrix[row * n..(row + 1) * n], &solution);
        solution[row] = (right[row] - rest) / matrix[row * n + row];
    }
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}

/// The `x ≥ 0` with the least `‖Ax − b‖`, where `matrix` is `AᵀA` and `right` is `Aᵀb`. Unknowns
/// that cannot be told from others are 0; `None` where numbers are not finite.
///
/// Source: Lawson and Hanson 1974, "Solving Least Squares Problems", chapter 23; on the normal
/// equations: Bro and De Jong 1997, "A fast non-negativity-constrained least squares algorithm".
/// Deviation: what least squares of either sign finds is taken where it is not negative.
pub fn non_negative(matrix: &[f64], right: &[f64]) -> Option<Vec<f64>> {
    let n = right.len();
    if let Some(x) = solve(matrix, right, &vec![true; n])
        && x.iter().all(|x| *x >= 0.0)
    {
        return Some(x);
    }
    if !matrix.iter().chain(right).all(|number| number.is_finite()) {
        return None;
    }
    let (mut x, mut free, mut barred) = (vec![0.0; n], vec![false; n], vec![false; n]);
    // Each turn lessens the error. Rounding could make turns repeat themselves, so they are bounded.
    for _ in 0..TURNS * n {
        let Some(next) = steepest(matrix, right, &x, |at| !free[at] && !barred[at]) else { break };
        free[next] = true;
        let Some(mut best) = solve(matrix, right, &free) else {
            // It cannot be told from those that are free.
            (free[next], barred[next]) = (false, true);
            continue;
        };
        if best[next] <= 0.0 {
            // Its gradient was a rounding error.
            (free[next], barred[next]) = (false, true);
            continue;
        }
        barred.fill(false);
        while best.iter().zip(&free).any(|(x, free)| *free && *x < 0.0) {
            // As far towards the best as nothing becomes negative.
            let step = |at: usize| x[at] / (x[at] - best[at]);
            let stops = |at: &usize| free[*at] && best[*at] < 0.0;
            let length = (0..n).filter(stops).map(step).fold(1.0, f64::min);
            let bound: Vec<usize> = (0..n).filter(stops).filter(|at| step(*at) <= length).collect();
            for at in 0..n {
                x[at] += length * (best[at] - x[at]);
            }
            for at in bound {
                (free[at], x[at]) = (false, 0.0);
            }
            best = solve(matrix, right, &free)?;
        }
        x = best;
    }
    Some(x)
}

/// The unknown of which more lessens the error most, for its size.
fn steepest(
    matrix: &[f64],
    right: &[f64],
    x: &[f64],
    may: impl Fn(usize) -> bool,
) -> Option<usize> {
    let n = right.len();
    let gain = |at: usize| {
        let row = &matrix[at * n..(at + 1) * n];
        let terms: f64 = row.iter().zip(x).map(|(a, x)| (a * x).abs()).sum();
        let gain = right[at] - dot(row, x);
        (gain > ROUNDING * (right[at].abs() + terms)).then(|| gain / row[at].sqrt())
    };
    let gains = (0..n).filter(|at| may(*at)).filter_map(|at| Some((at, gain(at)?)));
    gains.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// The inverse of a matrix, row by row; `None` where it has none.
pub fn inverse(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let unit = |of: usize| (0..n).map(|at| if at == of { 1.0 } else { 0.0 }).collect::<Vec<_>>();
    let columns = (0..n).map(|of| solve(matrix, &unit(of), &vec![true; n]));
    // It is as symmetric as the matrix: its columns are its rows.
    columns.collect::<Option<Vec<_>>>().map(|columns| columns.concat())
}

/// `AᵀWA` row by row, and `AᵀWb`: the normal equations of rows of `A` with their `b` and weight.
pub fn normal_equations<'a>(
    n: usize,
    rows: impl IntoIterator<Item = (&'a [f64], f64, f64)>,
) -> (Vec<f64>, Vec<f64>) {
    let (mut matrix, mut right) = (vec![0.0; n * n], vec![0.0; n]);
    for (row, b, weight) in rows {
        for i in 0..n {
            for j in 0..n {
                matrix[i * n + j] += weight * row[i] * row[j];
            }
            right[i] += weight * row[i] * b;
        }
    }
    (matrix, right)
}

/// The sum of products.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equations_solved_by_hand() {
        // 4x + 2y = 10, 2x + 3y = 9: x = 1.5, y = 2.
        let (matrix, right) = ([4.0, 2.0, 2.0, 3.0], [10.0, 9.0]);
        assert_eq!(solve(&matrix, &right, &[true; 2]), Some(vec![1.5, 2.0]));
        assert_eq!(solve(&matrix, &right, &[false, true]), Some(vec![0.0, 3.0]));
        assert_eq!(solve(&matrix, &right, &[false; 2]), Some(vec![0.0, 0.0]));
        // 1/8 · (3, −2; −2, 4).
        assert_eq!(inverse(&matrix, 2), Some(vec![0.375, -0.25, -0.25, 0.5]));
    }

    #[test]
    fn what_the_equations_do_not_determine_is_not_made_up() {
        // y is always three times x.
        assert_eq!(solve(&[1.0, 3.0, 3.0, 9.0], &[10.0, 30.0], &[true; 2]), None);
        assert_eq!(solve(&[0.0], &[0.0], &[true]), None);
        assert_eq!(solve(&[f64::NAN], &[1.0], &[true]), None);
        assert_eq!(non_negative(&[f64::NAN], &[1.0]), None);
        assert_eq!(inverse(&[1.0, 3.0, 3.0, 9.0], 2), None);
    }

    #[test]
    fn what_would_be_negative_is_zero_and_the_rest_is_fitted_anew() {
        // a + b = 1, a + 2b = 0.5. Without a: 2 ∕ 5, whose error is larger.
        let (matrix, right) =
            normal_equations(2, [(&[1.0, 1.0][..], 1.0, 1.0), (&[1.0, 2.0], 0.5, 1.0)]);
        assert_eq!(
            (matrix.as_slice(), right.as_slice()),
            (&[2.0, 3.0, 3.0, 5.0][..], &[1.5, 2.0][..])
        );
        assert_eq!(non_negative(&matrix, &right), Some(vec![0.75, 0.0]));
    }

    #[test]
    fn one_of_two_that_are_the_same_takes_all() {
        let x = non_negative(&[2.0, 2.0, 2.0, 2.0], &[6.0, 6.0]).unwrap();
        assert_eq!(x.iter().sum::<f64>(), 3.0);
        assert!(x.contains(&0.0), "{x:?}");
    }

    /// The least error over all sets of unknowns that are above 0.
    fn by_trying(matrix: &[f64], right: &[f64]) -> f64 {
        let n = right.len();
        let solutions = (0..1_u32 << n).filter_map(|set| {
            let free: Vec<bool> = (0..n).map(|at| set >> at & 1 == 1).collect();
            solve(matrix, right, &free)
        });
        let allowed = solutions.filter(|x| x.iter().all(|x| *x >= 0.0));
        allowed.map(|x| error(matrix, right, &x)).fold(f64::INFINITY, f64::min)
    }

    /// `‖Ax − b‖²` less `‖b‖²`.
    fn error(matrix: &[f64], right: &[f64], x: &[f64]) -> f64 {
        let n = right.len();
        let product: Vec<f64> = matrix.chunks(n).map(|row| dot(row, x)).collect();
        dot(x, &product) - 2.0 * dot(x, right)
    }

    proptest! {
        #[test]
        fn it_is_the_best_of_all_sets(
            n in 1..7usize,
            cells in proptest::collection::vec(-1.0..1.0f64, 70),
            rights in proptest::collection::vec(-1.0..1.0f64, 10),
            shares in proptest::collection::vec(0.0..1.0f64, 10),
        ) {
            // Also with fewer rows than unknowns: then several solutions are as good.
            let rows = 2 + (shares[0] * 8.0) as usize;
            let rows = cells.chunks(7).zip(&rights).zip(&shares).take(rows);
            let rows: Vec<_> = rows.map(|((row, b), share)| (&row[..n], *b, 0.1 + share)).collect();
            let (matrix, right) = normal_equations(n, rows);
            let x = non_negative(&matrix, &right).unwrap();
            prop_assert!(x.iter().all(|x| *x >= 0.0));
            let (found, best) = (error(&matrix, &right, &x), by_trying(&matrix, &right));
            prop_assert!(found <= best + 1e-7 * (1.0 + best.abs()), "{found} {best}");
        }

        #[test]
        fn sixty_four_unknowns_are_found(seed in proptest::collection::vec(0.0..1.0f64, 64 * 80)) {
            let truth: Vec<f64> = (0..64).map(|at| if at % 3 == 0 { 0.0 } else { f64::from(at) }).collect();
            let rows: Vec<_> = seed.chunks(64).map(|row| (row, dot(row, &truth), 1.0)).collect();
            let (matrix, right) = normal_equations(64, rows);
            let x = non_negative(&matrix, &right).unwrap();
            let off = x.iter().zip(&truth).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            prop_assert!(off < 1e-4, "{off}");
        }
    }
}
