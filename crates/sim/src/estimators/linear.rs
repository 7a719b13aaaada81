//! Small matrices.

/// A square matrix.
pub(super) type Matrix<const N: usize> = [[f64; N]; N];

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
