//! Ways to learn what a connection costs, for comparison: the production cost
//! model, which gets the CPU time of each kind of work, and what could be learned
//! from totals alone. They are written here after papers and textbooks; the gate uses none
//! of them.
//!
//! All of them count requests per connection alike. What they differ in is
//! what they think that a handshake or a request costs.

mod accuracy;
mod attributed;
mod blind;
mod course;
mod courses;
mod kalman;
mod least_squares;
mod linear;
mod nnls;
mod ratio;
mod rls;
mod truth;
mod window;

pub use accuracy::{Accuracy, Error};
pub use course::{Course, Moment, played};
pub use courses::{COURSES, course_text};

use attributed::Attributed;
use blind::Blind;
use kalman::Kalman;
use least_squares::LeastSquares;
use nnls::NonNegative;
use ratio::Ratio;
use rls::Recursive;

use tidegate_control::{Priors, Reading};

/// What a connection costs, its requests included, gate and upstream together,
/// in CPU seconds: CTN and CTO of study 001.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionCosts {
    /// One of a new session.
    pub new_cpu_s: f64,
    /// One of an active session; 0 where there is none.
    pub returning_cpu_s: f64,
}

/// Learns what connections cost from one reading per tick.
trait Estimator {
    /// Learns from a tick in which `refused` new sessions were refused.
    fn observe(&mut self, reading: &Reading, refused: u64);

    /// As learned so far: finite and not negative.
    fn costs(&self) -> ConnectionCosts;
}

/// The names of all estimators, in the order of a comparison.
pub const NAMES: [&str; 7] =
    ["profile", "ratio", "least-squares", "nnls", "rls", "kalman", "attributed"];

/// All estimators side by side.
pub struct Estimators {
    /// Measured once and kept.
    profile: ConnectionCosts,
    learning: [Box<dyn Estimator>; NAMES.len() - 1],
}

impl Estimators {
    /// Estimators that have learned nothing yet and start from the same priors,
    /// beside a static `profile`.
    ///
    /// Source of `profile`: study 001, which measured both costs beforehand and
    /// kept them.
    pub fn new(profile: ConnectionCosts) -> Self {
        let priors = Priors::default();
        Self {
            profile,
            learning: [
                Box::new(Ratio::new(&priors)),
                Box::new(Blind::<LeastSquares<3>, LeastSquares<2>>::new(&priors)),
                Box::new(Blind::<NonNegative<3>, NonNegative<2>>::new(&priors)),
                Box::new(Blind::<Recursive<3>, Recursive<2>>::new(&priors)),
                Box::new(Blind::<Kalman<3>, Kalman<2>>::new(&priors)),
                Box::new(Attributed::new(&priors)),
            ],
        }
    }

    /// Lets all of them learn from a tick in which `refused` new sessions were
    /// refused.
    pub fn observe(&mut self, reading: &Reading, refused: u64) {
        for estimator in &mut self.learning {
            estimator.observe(reading, refused);
        }
    }

    /// What each of them says, in the order of [`NAMES`].
    pub fn costs(&self) -> [ConnectionCosts; NAMES.len()] {
        std::array::from_fn(|index| match index.checked_sub(1) {
            None => self.profile,
            Some(index) => self.learning[index].costs(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use tidegate_control::{ByResource, ClassWork, ResourceName, Usage};

    fn reading(cpu_s: f64, count: u64) -> Reading {
        let usage = Usage { capacity_cpus: 1.0, used_cpu_s: Some(cpu_s), idle: None };
        let work = ClassWork {
            connections: count,
            handshakes: count,
            handshake_cpu_s: cpu_s,
            requests: count,
            request_cpu_s: cpu_s,
            ..ClassWork::default()
        };
        Reading {
            elapsed: Duration::from_millis(100),
            usage: ByResource::default()
                .with(ResourceName::Gate, usage)
                .with(ResourceName::Upstream, usage),
            new: work,
            returning: work,
            upstream_responses: count,
            ..Reading::default()
        }
    }

    #[test]
    fn readings_that_cannot_be_true_leave_every_estimate_finite_and_not_negative() {
        let mut estimators = Estimators::new(ConnectionCosts::default());
        let amounts = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 0.05, 1e300];
        for round in 0..50 {
            for cpu_s in amounts {
                for count in [0, 1, 17, u64::MAX] {
                    estimators
                        .observe(&reading(cpu_s, count), if round % 2 == 0 { 0 } else { count });
                    for (name, costs) in NAMES.iter().zip(estimators.costs()) {
                        for cost in [costs.new_cpu_s, costs.returning_cpu_s] {
                            assert!(cost.is_finite() && cost >= 0.0, "{name}: {cost}");
                        }
                    }
                }
            }
        }
    }
}
