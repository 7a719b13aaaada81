//! The scenarios that come with the program.

use super::scenario::Scenario;
use super::shipped::shipped;

shipped! {
    /// The names of all scenarios that [`Scenario::named`] knows.
    CATALOGUE
    /// The text of a scenario.
    text
    in "":
    "demo",
    "even-sessions",
    "lingering",
    "heavy-first",
    "heavy-later",
    "heavy-pages",
    "long-sessions",
    "short-sessions",
    "two-cores",
    "four-cores",
    "costly-refusals",
    "own-hosts",
    "gate-bound",
    "unseen",
    "unseen-slow",
    "unseen-crowd",
    "database-bound",
    "two-classes",
    "priorities",
    "heavy-tail",
    "tls-mix",
    "handshake-kinds",
    "post-quantum",
    "in-clear",
    "one-prefix",
    "just-above",
    "real-life",
    "real-life-browsers",
    "flash-crowd",
    "ramp",
    "after-calm",
    "daily-wave",
    "bursts",
    "quota-cut",
    "noisy-neighbour",
    "costlier-pages",
    "wrong-telemetry",
    "wrong-counts",
    "little-telemetry",
    "blind",
    "blind-crowd",
    "come-back",
    "waiting-room",
    "waiting-leavers",
    "waiting-impatient",
    "waiting-afterwards",
    "hammering",
    "handshake-flood",
    "forged-tickets",
    "shared-ticket",
    "lingerers",
    "many",
    "closed-loop",
    "rtt-20",
    "rtt-100",
    "pauses",
    "ten-minutes",
}

impl Scenario {
    /// One of the scenarios of the catalogue; `None`: no such name.
    pub fn named(name: &str) -> Option<Self> {
        Self::shipped(text(name), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_can_be_read_has_a_capacity_and_expects_something() {
        for name in CATALOGUE {
            let scenario = Scenario::named(name).unwrap();
            assert_eq!(scenario.name, *name);
            assert!(scenario.capacity_per_s() > 0.1, "{name}");
            assert!(!scenario.about.is_empty() && !scenario.expectations.is_empty(), "{name}");
        }
        assert!(Scenario::named("other").is_none());
    }
}
