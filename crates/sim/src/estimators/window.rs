//! The last ticks, as normal equations.

use std::collections::VecDeque;
use std::marker::PhantomData;

use super::blind::Regression;
use super::linear::Matrix;

/// Ticks that are remembered: ten seconds, about as long as the others remember.
const TICKS: usize = 100;

/// Units of work done and CPU seconds used, of the last ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Window<const N: usize> {
    ticks: VecDeque<([f64; N], f64)>,
}

impl<const N: usize> Window<N> {
    /// Adds a tick and forgets the oldest beyond the window.
    pub(super) fn add(&mut self, units: [f64; N], cpu_s: f64) {
        if self.ticks.len() == TICKS {
            self.ticks.pop_front();
        }
        self.ticks.push_back((units, cpu_s));
    }

    /// `XᵀX` and `Xᵀy`, where a row of `X` has the units of a tick and `y` the
    /// CPU seconds.
    pub(super) fn normal_equations(&self) -> (Matrix<N>, [f64; N]) {
        let (mut matrix, mut right) = ([[0.0; N]; N], [0.0; N]);
        for (units, cpu_s) in &self.ticks {
            for row in 0..N {
                for column in 0..N {
                    matrix[row][column] += units[row] * units[column];
                }
                right[row] += units[row] * cpu_s;
            }
        }
        (matrix, right)
    }

    /// Units of each kind and CPU seconds, all ticks together.
    pub(super) fn sums(&self) -> ([f64; N], f64) {
        let units = std::array::from_fn(|kind| self.ticks.iter().map(|tick| tick.0[kind]).sum());
        (units, self.ticks.iter().map(|tick| tick.1).sum())
    }
}

/// How costs follow from normal equations.
pub(super) trait Fit {
    /// `None`: no units were done, or not enough to distinguish all kinds.
    fn fit<const N: usize>(matrix: &Matrix<N>, right: &[f64; N]) -> Option<[f64; N]>;
}

/// Costs that fit the ticks of the window.
#[derive(Clone, Debug)]
pub(super) struct Fitted<F, const N: usize> {
    window: Window<N>,
    costs: [f64; N],
    by: PhantomData<F>,
}

impl<F: Fit, const N: usize> Regression<N> for Fitted<F, N> {
    fn new(prior: [f64; N]) -> Self {
        Self { window: Window::default(), costs: prior, by: PhantomData }
    }

    fn add(&mut self, units: [f64; N], cpu_s: f64) {
        self.window.add(units, cpu_s);
        let (matrix, right) = self.window.normal_equations();
        // Ticks that do not distinguish the kinds leave the estimate as it is.
        self.costs = F::fit(&matrix, &right).unwrap_or(self.costs);
    }

    fn costs(&self) -> [f64; N] {
        self.costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_equations_by_hand_of_the_last_ticks_only() {
        let mut window = Window::default();
        window.add([1e9, 1e9], 1e9);
        (0..TICKS - 2).for_each(|_| window.add([0.0, 0.0], 0.0));
        window.add([1.0, 2.0], 5.0);
        window.add([3.0, 0.0], 6.0);
        // 1 + 9, 2, 4; 5 + 18, 10.
        assert_eq!(window.normal_equations(), ([[10.0, 2.0], [2.0, 4.0]], [23.0, 10.0]));
        assert_eq!(window.sums(), ([4.0, 2.0], 11.0));
    }
}
