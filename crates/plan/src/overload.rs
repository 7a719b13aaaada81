//! What an overload costs, without the gate and with it.

use serde::{Deserialize, Serialize};

/// Sessions that a site completes at rising load: `(load, completed)`, both as multiples of the
/// capacity, in the order of loads. Between points it is linear, beyond the last as at the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// A curve through these points; `None` without one, or where loads do not rise.
    pub fn through(points: Vec<(f64, f64)>) -> Option<Self> {
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        (rises && !points.is_empty()).then_some(Self(points))
    }

    /// What is completed at a load. Below the first point everything is, up to that point's value.
    pub fn completed(&self, load: f64) -> f64 {
        let first = self.0[0];
        if load <= first.0 {
            return if first.0 > 0.0 { load * first.1 / first.0 } else { first.1 };
        }
        let after = self.0.iter().position(|point| point.0 >= load);
        match after {
            None => self.0[self.0.len() - 1].1,
            Some(at) => {
                let ((x0, y0), (x1, y1)) = (self.0[at - 1], self.0[at]);
                y0 + (y1 - y0) * (load - x0) / (x1 - x0)
            }
        }
    }
}

/// An overload of a size and length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overload {
    /// Offered load as a multiple of the capacity, above 1.
    pub load: f64,
    /// How long it lasts, in hours.
    pub hours: f64,
}

/// Revenue in an overload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtRisk {
    /// Revenue of everybody who comes.
    pub offered: f64,
    /// What a site carries at its capacity.
    pub at_capacity: f64,
    /// What it carries in the overload, without the gate and with it.
    pub without_gate: f64,
    /// See `without_gate`.
    pub with_gate: f64,
}

impl Overload {
    /// The revenue of a site whose capacity is worth `per_hour`.
    pub fn at_risk(&self, per_hour: f64, without: &Curve, with: &Curve) -> AtRisk {
        let all = per_hour * self.hours;
        AtRisk {
            offered: all * self.load,
            at_capacity: all,
            without_gate: all * without.completed(self.load),
            with_gate: all * with.completed(self.load),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_linear_between_its_points_and_flat_beyond() {
        let curve = Curve::through(vec![(1.0, 1.0), (2.0, 0.2), (4.0, 0.1)]).unwrap();
        let at: Vec<f64> = [0.5, 1.0, 1.5, 3.0, 9.0].map(|load| curve.completed(load)).to_vec();
        for (found, by_hand) in at.iter().zip([0.5, 1.0, 0.6, 0.15, 0.1]) {
            assert!((found - by_hand).abs() < 1e-12, "{at:?}");
        }
        assert_eq!(Curve::through(vec![(2.0, 1.0), (2.0, 0.5)]), None);
        assert_eq!(Curve::through(Vec::new()), None);
    }

    #[test]
    fn revenue_at_risk_by_hand() {
        let without = Curve::through(vec![(1.0, 1.0), (3.0, 0.1)]).unwrap();
        let with = Curve::through(vec![(1.0, 1.0), (4.0, 0.94)]).unwrap();
        let risk = Overload { load: 2.0, hours: 3.0 }.at_risk(1000.0, &without, &with);
        assert_eq!((risk.offered, risk.at_capacity), (6000.0, 3000.0));
        assert!(
            (risk.without_gate - 1650.0).abs() < 1e-9 && (risk.with_gate - 2940.0).abs() < 1e-9
        );
    }
}
