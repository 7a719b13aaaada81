//! The production cost model, which gets the CPU time of each kind of work.

use super::{ConnectionCosts, Estimator};
use tidegate_control::CostModel;
use tidegate_control::{Priors, Reading};

/// [`CostModel`] itself.
#[derive(Clone, Debug)]
pub(super) struct Attributed(CostModel);

impl Attributed {
    pub(super) fn new(priors: &Priors) -> Self {
        Self(CostModel::new(priors))
    }
}

impl Estimator for Attributed {
    fn observe(&mut self, reading: &Reading, refused: u64) {
        self.0.observe(reading, refused);
    }

    fn costs(&self) -> ConnectionCosts {
        let costs = self.0.costs();
        ConnectionCosts {
            new_cpu_s: costs.new.connection_cpu_s,
            returning_cpu_s: costs.returning.connection_cpu_s,
        }
    }
}
