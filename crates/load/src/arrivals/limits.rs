//! Limits of a run.

use std::time::Duration;

/// The longest run: a day.
pub(crate) const LONGEST_RUN: Duration = Duration::from_secs(24 * 3600);
