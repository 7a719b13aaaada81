//! What the gates of a fleet have learned, put together by whoever divides.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{EXPERIENCE_INTERVAL, Malformed};
use crate::{Experience, Time};

/// What all gates together have learned: from the holder of the lease to all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetExperience {
    /// Revision of the lease under which it was put together.
    pub epoch: u64,
    /// The averages over all gates, by the weight of what each has seen.
    pub experience: Experience,
}

/// Whether it can be what a gate has learned.
pub(super) fn check(experience: &Experience) -> Result<(), Malformed> {
    if experience.is_possible() { Ok(()) } else { Err(Malformed("experience")) }
}

/// Puts together what gates tell, one interval after the other, so that nothing is kept of a gate.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    /// Of this interval, and the gates that it is from.
    told: Experience,
    gates: BTreeSet<String>,
    /// Of the interval before.
    known: Experience,
    next: Time,
    newcomer: bool,
}

impl Pool {
    /// Adds what a gate tells, once in an interval.
    pub(super) fn add(&mut self, gate: &str, experience: &Experience) {
        if self.gates.insert(gate.to_owned()) {
            self.told.merge(experience);
        }
    }

    /// A gate has started, and is not to wait for the end of the interval.
    pub(super) fn has_newcomer(&mut self) {
        self.newcomer = true;
    }

    /// What is to be told to all now.
    pub(super) fn due(&mut self, now: Time) -> Option<Experience> {
        let due = now >= self.next;
        if due {
            self.next = now + EXPERIENCE_INTERVAL;
            self.gates.clear();
            let told = std::mem::take(&mut self.told);
            if !told.is_empty() {
                self.known = told;
            }
        }
        let newcomer = std::mem::take(&mut self.newcomer);
        ((due || newcomer) && !self.known.is_empty()).then(|| self.known.clone())
    }
}
