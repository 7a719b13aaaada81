//! Small systems of linear equations.

/// A square matrix.
pub(super) type Matrix<const N: usize> = [[f64; N]; N];

/// A pivot below this share of its row's original size leaves the equations
/// undetermined: what follows would be rounding errors.
const SINGULAR: f64 = 1e-9;

/// The sum of products.
pub(super) fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A matrix times a vector.
pub(super) fn times<const N: usize>(matrix: &Matrix<N>, vector: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|row| dot(&matrix[row], vector))
}

/// A matrix less the product of a column and a row.
pub(super) fn less_outer<const N: usize>(
    matrix: &Matrix<N>,
    column: &[f64; N],
    row: &[f64; N],
) -> Matrix<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| matrix[i][j] - column[i] * row[j]))
}

/// A diagonal matrix.
pub(super) fn diagonal<const N: usize>(of: [f64; N]) -> Matrix<N> {
    let mut matrix = [[0.0; N]; N];
    for (index, value) in of.into_iter().enumerate() {
        matrix[index][index] = value;
    }
    matrix
}

/// The `x` with `matrix × x = right`, where the unknowns that `free` leaves out
/// are 0 and have no equation; `None`: undetermined.
///
/// `matrix` is symmetric and has no negative eigenvalue, as that of normal
/// equations: so Gaussian elimination needs no exchange of rows.
pub(super) fn solve<const N: usize>(
    mut matrix: Matrix<N>,
    mut right: [f64; N],
    free: [bool; N],
) -> Option<[f64; N]> {
    let sizes: [f64; N] = std::array::from_fn(|row| matrix[row][row]);
    let unknowns: Vec<usize> = (0..N).filter(|index| free[*index]).collect();
    for (place, &pivot) in unknowns.iter().enumerate() {
        if matrix[pivot][pivot].is_nan() || matrix[pivot][pivot] <= SINGULAR * sizes[pivot] {
            return None;
        }
        for &row in &unknowns[place + 1..] {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let from = matrix[pivot];
            for &column in &unknowns {
                matrix[row][column] -= factor * from[column];
            }
            right[row] -= factor * right[pivot];
        }
    }
    let mut solution = [0.0; N];
    for &row in unknowns.iter().rev() {
        // Unknowns that are not solved for yet, or not free, are 0.
        solution[row] = (right[row] - dot(&matrix[row], &solution)) / matrix[row][row];
    }
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_solved_by_hand() {
        // 4x + 2y = 10, 2x + 3y = 9: x = 1.5, y = 2.
        let matrix = [[4.0, 2.0], [2.0, 3.0]];
        assert_eq!(solve(matrix, [10.0, 9.0], [true; 2]), Some([1.5, 2.0]));
        assert_eq!(solve(matrix, [10.0, 9.0], [false, true]), Some([0.0, 3.0]));
        assert_eq!(solve(matrix, [10.0, 9.0], [false; 2]), Some([0.0, 0.0]));
    }

    #[test]
    fn what_the_equations_do_not_determine_is_not_made_up() {
        // y is always three times x.
        assert_eq!(solve([[1.0, 3.0], [3.0, 9.0]], [10.0, 30.0], [true; 2]), None);
        assert_eq!(solve([[0.0]], [0.0], [true]), None);
        assert_eq!(solve([[f64::NAN]], [1.0], [true]), None);
    }
}
