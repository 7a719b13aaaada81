//! Limits and reserved names.

use std::time::Duration;

pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);
/// Names that the table's own moves have.
pub(super) const MOVES: [&str; 3] = ["Back", "End", "Stay"];
/// Parameters that every customer brings along.
pub(super) const OWN: [&str; 3] = ["customer", "session", "random"];
