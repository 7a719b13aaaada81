//! Estimators of costs in the courses that ship, on production arithmetic in
//! virtual time. `tidegate sim --costs` prints the figures.

use tidegate_sim::Scenario;
use tidegate_sim::estimators::{COURSES, Course, Error, NAMES, played};

fn course(name: &str) -> Course {
    played(&Scenario::course(name).expect("it is in the list"), 1)
}

fn place(name: &str) -> usize {
    NAMES.iter().position(|known| *known == name).expect("it is in the list")
}

/// CTN's and CTO's errors in a course.
fn errors(course: &Course, estimator: &str) -> [Error; 2] {
    let accuracy = course.accuracy(place(estimator));
    [accuracy.new, accuracy.returning].map(|error| error.expect("there are connections"))
}

const BLIND: [&str; 5] = ["ratio", "least-squares", "nnls", "rls", "kalman"];

#[test]
fn a_course_is_the_same_every_time() {
    let said = |course: Course| {
        let last = course.runs[0].last().copied().expect("it has ticks");
        last.estimates.map(|costs| (costs.new_cpu_s.to_bits(), costs.returning_cpu_s.to_bits()))
    };
    assert_eq!(said(course("noisy")), said(course("noisy")));
}

#[test]
fn production_is_near_the_truth_in_every_course() {
    for name in COURSES {
        // Highest medians of CTN's and CTO's errors. All requests count alike for
        // the site, so that it is off where pages differ by class; where people
        // think for seconds nobody is near.
        let most = match *name {
            "costly-later" => [0.30, 0.10],
            "people" => [0.06, 0.20],
            _ => [0.04, 0.03],
        };
        let errors = errors(&course(name), "attributed");
        for (error, most) in errors.iter().zip(most) {
            assert!(error.median < most, "{name}: {errors:?}");
        }
    }
}

#[test]
fn production_is_nearer_than_any_that_is_not_told_whose_work_it_was() {
    for name in ["steady", "rising", "collinear", "costlier-step", "costlier-drift", "noisy"] {
        let course = course(name);
        let [ctn, _] = errors(&course, "attributed");
        for blind in BLIND {
            let [other, _] = errors(&course, blind);
            assert!(ctn.median < other.median, "{name}, {blind}: {ctn:?} {other:?}");
        }
    }
}

#[test]
fn a_jump_of_costs_is_learned_within_seconds() {
    for (name, most_s) in [("costlier-step", 2.0), ("longer-key", 5.0)] {
        let after_s = course(name).accuracy(place("attributed")).recovered_s;
        assert!(after_s.is_some_and(|s| s < most_s), "{name}: {after_s:?}");
        let profile = course(name).accuracy(place("profile")).recovered_s;
        assert_eq!(profile, None, "{name}");
    }
}
