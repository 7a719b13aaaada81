//! Bounds that several tables share, and times in seconds.

use std::time::Duration;

use tidegate_config::{Key, Section, Time};

/// Fewest cores of a host.
pub(super) const FEWEST_CORES: f64 = 0.01;
/// Most cores of a host.
pub(super) const MOST_CORES: f64 = 1024.0;
/// Least CPU time of a piece of work.
pub(super) const LEAST_WORK: &str = "100ns";
/// Most CPU time of a piece of work.
pub(super) const MOST_WORK: &str = "1m";
/// Heaviest load, in capacities.
pub(super) const HEAVIEST: f64 = 100.0;

/// The time of a key that has a default, in seconds.
pub(super) fn seconds(section: &Section<'_>, key: &Key<Time>) -> f64 {
    section.field::<Duration, _>(key).as_secs_f64()
}

/// The time of a key in seconds, if it is set.
pub(super) fn given_seconds(section: &Section<'_>, key: &Key<Time>) -> Option<f64> {
    section.given(key).map(|time| time.as_secs_f64())
}
