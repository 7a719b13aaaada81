//! What the gate knows of its upstream: whether it can be reached, and how it failed requests.

use crate::telemetry::troubles::{Troubles, UpstreamFailure};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is known of the upstream.
#[derive(Debug, Default)]
pub struct UpstreamHealth {
    known: Mutex<Known>,
    /// Attempts of the gate itself that failed.
    pub troubles: Troubles,
}

#[derive(Clone, Debug, Default)]
struct Known {
    problem: Option<String>,
    failures: Vec<UpstreamFailure>,
}

impl UpstreamHealth {
    /// Why the upstream cannot be reached now; none where it can, or where that is not known.
    pub fn problem(&self) -> Option<String> {
        self.known().problem.clone()
    }

    /// Causes for which it failed requests in the last minute.
    pub fn failures(&self) -> Vec<UpstreamFailure> {
        self.known().failures.clone()
    }

    /// Sets these causes.
    pub fn set_failures(&self, failures: Vec<UpstreamFailure>) {
        self.known().failures = failures;
    }

    /// Sets why it cannot be reached; the log says when it can again.
    pub fn found(&self, problem: Option<String>) {
        if let Some(why) = &problem {
            self.troubles.note_unreachable(why.clone());
        }
        let before = std::mem::replace(&mut self.known().problem, problem);
        if before.is_some() && self.known().problem.is_none() {
            tracing::info!("the upstream can be reached again");
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
