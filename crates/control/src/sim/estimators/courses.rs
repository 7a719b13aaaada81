//! The courses that come with the program.

use super::super::scenario::Scenario;

macro_rules! courses {
    ($($name:literal),+ $(,)?) => {
        /// The names of all courses that [`Scenario::course`] knows.
        pub const COURSES: &[&str] = &[$($name),+];

        /// The text of a course.
        pub fn course_text(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some(include_str!(concat!("../../../scenarios/costs/", $name, ".toml"))),)+
                _ => None,
            }
        }
    };
}

courses! {
    "steady",
    "rising",
    "collinear",
    "dearer-step",
    "dearer-drift",
    "longer-key",
    "noisy",
    "dear-later",
    "people",
}

impl Scenario {
    /// One of the courses by which estimators of costs are compared; `None`: no
    /// such name.
    pub fn course(name: &str) -> Option<Self> {
        let read = Self::from_toml(course_text(name)?, name);
        Some(read.unwrap_or_else(|mistakes| panic!("{mistakes}")))
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
