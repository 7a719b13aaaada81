//! An exchange that waits for the admission of its session, where each request of a connection is
//! decided on.

use super::{Activity, Exchange};
use crate::telemetry::clock;
use std::time::Duration;

/// Longest wait for the verdict on a session, which the admission queue bounds at
/// `admission.hold_time`: longer than the longest of it.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

impl Exchange {
    /// The request waits for the admission of its session. The upstream has none of it.
    pub fn queue_begins(&self) {
        self.enter(Activity::Queue, clock::now());
    }

    /// The verdict was given.
    pub fn queue_ends(&self) {
        let (now, has_body) = (clock::now(), self.upload.is_open());
        // It could not be read meanwhile.
        self.upload.begin(has_body, now);
        self.enter(if has_body { Activity::Upload } else { Activity::Waiting }, now);
    }
}
