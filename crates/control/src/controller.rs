//! The controller: one policy, one cost model, one count of who asked.

use std::time::Duration;

use crate::Time;
use crate::bucket::Bucket;
use crate::costs::Priors;
use crate::policy::{Decision, PolicyKind};
use crate::reading::Reading;
use crate::status::{Resource, ResourceName, Status};

/// What the operator decides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// The policy and its parameters.
    pub policy: PolicyKind,
    /// What is assumed before anything was learned.
    pub priors: Priors,
}

/// Decides on new sessions; learns from one [`Reading`] per tick.
///
/// A decision takes constant time and allocates nothing. Times that go back
/// are treated as the latest time seen.
#[derive(Clone, Debug)]
pub struct Controller {
    settings: Settings,
    bucket: Option<Bucket>,
    offered: u64,
    admitted: u64,
    returning: u64,
    last: Reading,
}

impl Controller {
    /// A controller that has learned nothing yet.
    pub fn new(settings: Settings) -> Self {
        let bucket = match settings.policy {
            PolicyKind::Off => None,
            PolicyKind::Static { per_second } => {
                Some(Bucket::new(per_second, (per_second * 0.05).clamp(1.0, 100.0)))
            }
            PolicyKind::Eac { .. } | PolicyKind::Tide => Some(Bucket::new(200.0, 10.0)),
        };
        Self { settings, bucket, offered: 0, admitted: 0, returning: 0, last: Reading::default() }
    }

    /// May this new session in? An admission is counted at once, so that two
    /// askers never share one place.
    pub fn new_session(&mut self, now: Time) -> Decision {
        self.offered += 1;
        match self.bucket.as_mut().map_or(Ok(()), |bucket| bucket.take(now)) {
            Ok(()) => {
                self.admitted += 1;
                Decision::Admit
            }
            Err(wait) => Decision::NotNow { retry_after: wait.max(Duration::from_millis(1)) },
        }
    }

    /// A returning connection arrived. It is always let in; this only counts it.
    pub fn returning(&mut self, now: Time) {
        let _ = now;
        self.returning += 1;
    }

    /// Learns from what was measured since the last call: once per tick,
    /// about every 100 ms (10 ms to 1 s work).
    pub fn observe(&mut self, now: Time, reading: &Reading) {
        let _ = now;
        self.last = reading.clone();
    }

    /// What the controller knows and does at this moment. Allocates: for a
    /// tick or a page, not for a decision.
    pub fn status(&self, now: Time) -> Status {
        let usage = |resource, usage: crate::reading::Usage| Resource {
            resource,
            capacity_cpus: usage.capacity_cpus,
            used_cpus: usage.used_cpu_s,
        };
        let mut resources = vec![usage(ResourceName::Gate, self.last.gate)];
        resources.extend(self.last.upstream.map(|up| usage(ResourceName::Upstream, up)));
        Status {
            policy: self.settings.policy.name(),
            budget: self.bucket.as_ref().map(|bucket| bucket.tokens(now) as u64),
            limit_per_s: self.bucket.as_ref().map(Bucket::rate),
            offered: self.offered,
            admitted: self.admitted,
            not_now: self.offered - self.admitted,
            returning: self.returning,
            offered_per_s: 0.0,
            admitted_per_s: 0.0,
            returning_per_s: 0.0,
            costs: self.settings.priors.costs(),
            resources,
            why: "nothing was measured yet".to_owned(),
        }
    }
}
