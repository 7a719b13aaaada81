//! The courses that come with the program.

use super::super::scenario::Scenario;
use super::super::shipped::shipped;

shipped! {
    /// The names of all courses that [`Scenario::course`] knows.
    COURSES
    /// The text of a course.
    course_text
    in "costs/":
    "steady",
    "rising",
    "collinear",
    "costlier-step",
    "costlier-drift",
    "longer-key",
    "noisy",
    "costly-later",
    "people",
}

impl Scenario {
    /// One of the courses by which estimators of costs are compared; `None`: no
    /// such name.
    pub fn course(name: &str) -> Option<Self> {
        Self::shipped(course_text(name), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_course_can_be_read_and_says_what_it_is_about() {
        for name in COURSES {
            let scenario = Scenario::course(name).unwrap();
            assert_eq!((scenario.name.as_str(), scenario.loads.len()), (*name, 1));
            assert!(!scenario.about.is_empty() && scenario.capacity_per_s() > 0.1, "{name}");
        }
        assert!(Scenario::course("demo").is_none());
    }
}
