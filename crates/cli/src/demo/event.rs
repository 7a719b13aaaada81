//! Events of the running demo, for whatever shows them.

use super::summary::Point;

/// An event of a running demo.
pub enum Event<'a> {
    /// A new phase begins; the text describes it.
    Phase(&'a str),
    /// The figures of about one second.
    Second { label: &'a Label, second: &'a tidegate_load::Point },
    /// The capacity was found, in sessions per second.
    Capacity(f64),
    /// A point was measured.
    Point { point: &'a Point, share_of_peak: f64 },
}

/// The run that a second belongs to: `ramp`, `probe`, `baseline`, or a policy at a
/// multiple of the capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub policy: String,
    pub multiple: Option<f64>,
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.multiple {
            Some(multiple) => write!(f, "{} {multiple}×", self.policy),
            None => f.write_str(&self.policy),
        }
    }
}
