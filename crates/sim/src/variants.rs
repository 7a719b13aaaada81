//! `tide` without one of its parts, and with other constants: for ablation.

use std::time::Duration;

use tidegate_control::{
    Controller, Decision, Entry, Moment, PolicyKind, Reading, Settings, Time, Tuning,
};

use super::policy::{Policy, User};

/// A variant of `tide`: what differs from production.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name as a policy.
    pub name: &'static str,
    /// What it lacks, in a few words.
    pub lacks: &'static str,
    constants: &'static [(&'static str, f64)],
    withheld: Withheld,
}

/// What a variant does not learn from its readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Withheld {
    Nothing,
    /// The age of thinking sessions: all count as of the same age.
    Ages,
    /// The logarithms of response times: the arithmetic mean stands for the geometric.
    Logarithms,
    /// Abandoned waits.
    GivenUp,
    /// The kinds of handshakes: each is charged the average.
    Kinds,
    /// Nothing, but sessions with cheap handshakes are admitted first.
    Order,
}

/// Greater than any rate, limit or multiple.
const NONE: f64 = Tuning::NONE;

const fn variant(
    name: &'static str,
    lacks: &'static str,
    constants: &'static [(&'static str, f64)],
) -> Variant {
    Variant { name, lacks, constants, withheld: Withheld::Nothing }
}

const fn withheld(name: &'static str, lacks: &'static str, withheld: Withheld) -> Variant {
    Variant { name, lacks, constants: &[], withheld }
}

/// All variants, in the order of the ablation table.
pub const VARIANTS: &[Variant] = &[
    variant(
        "plan-only",
        "the backlog limit",
        &[("reserve_handshakes", NONE), ("reserve_requests", NONE), ("unseen_requests", NONE)],
    ),
    variant(
        "backlog-only",
        "plan, trim and latency limit: a limit of work in flight alone",
        // Those of `PolicyKind::BacklogOnly`.
        &[],
    ),
    variant("no-trim", "the trim", &[("trim_min", 1.0), ("trim_max", 1.0)]),
    variant("even-trim", "the faster rise of the trim", &[("trim_rise_per_s", 0.1)]),
    withheld("no-ages", "the demand forecast by age", Withheld::Ages),
    variant("no-backlog-term", "the backlog in the plan", &[("backlog_share", 0.0)]),
    variant("whole-backlog", "the halving of the backlog in the plan", &[("backlog_share", 1.0)]),
    variant("no-refusals", "the cost of refusals in the plan", &[("refusals_weight", 0.0)]),
    variant(
        "no-reserve",
        "the reserve of the backlog limit (√cpus)",
        &[("reserve_handshakes", 0.0), ("reserve_requests", 0.0)],
    ),
    variant(
        "no-spare",
        "admission above the limit with time to spare",
        &[("spare_utilization", 0.0)],
    ),
    variant(
        "no-waiting",
        "waiting for the limit with time to spare",
        &[("waiting_utilization", NONE)],
    ),
    variant(
        "always-waiting",
        "free admission below half utilization",
        &[("waiting_utilization", 0.0)],
    ),
    variant(
        "no-tokens",
        "the tokens that an admission above the limit needs",
        &[("spare_tokens", 0.0)],
    ),
    variant(
        "no-latency-limit",
        "the latency limit",
        &[("first_try_per_s", NONE), ("slowdown", NONE)],
    ),
    withheld("arithmetic-mean", "the geometric mean of response times", Withheld::Logarithms),
    withheld("no-given-up", "abandoned waits as response times", Withheld::GivenUp),
    withheld("average-price", "prices by kind of handshake", Withheld::Kinds),
    withheld("cheapest-first", "the order of arrival: cheap handshakes first", Withheld::Order),
    variant(
        "one-slack",
        "the slack of the latency limit by utilization",
        &[("slack_unseen_s", 0.006), ("slack_busy_s", 0.006)],
    ),
];

/// The variant of a name; `None`: no such name.
pub(super) fn named(name: &str) -> Option<Box<dyn Policy>> {
    let variant = VARIANTS.iter().find(|variant| variant.name == name)?;
    let mut tuning = Tuning::default();
    for (name, value) in variant.constants {
        *tuning.get_mut(name).expect("variants name constants that exist") = *value;
    }
    Some(Box::new(Filtered { controller: tide(tuning), withheld: variant.withheld }))
}

/// `tide:slowdown=5,spare_tokens=0`: with these constants; `None`: no such policy or constant.
pub(super) fn tuned(name: &str) -> Option<Box<dyn Policy>> {
    let mut tuning = Tuning::default();
    for constant in name.strip_prefix("tide:")?.split(',') {
        let (name, value) = constant.split_once('=')?;
        *tuning.get_mut(name)? = value.parse().ok()?;
    }
    Some(Box::new(tide(tuning)))
}

fn tide(tuning: Tuning) -> Controller {
    Controller::new(Settings { policy: PolicyKind::Tide, tuning, ..Settings::default() })
}

/// A controller that does not see everything.
struct Filtered {
    controller: Controller,
    withheld: Withheld,
}

impl Policy for Filtered {
    fn offered(&mut self) {
        self.controller.offered();
    }

    fn decide(&mut self, now: Time, _: User, mut moment: Moment) -> Decision {
        if self.withheld == Withheld::Kinds {
            (moment.handshake_cpu, moment.entry) = (None, Entry::Average);
        }
        self.controller.decide(now, moment)
    }

    fn price(&self, entry: Entry) -> Option<Duration> {
        (self.withheld != Withheld::Kinds).then(|| self.controller.price(entry))
    }

    fn cheapest_first(&self) -> bool {
        self.withheld == Withheld::Order
    }

    fn returning(&mut self, now: Time) {
        self.controller.returning(now);
    }

    fn observe(&mut self, now: Time, reading: &Reading) {
        let mut reading = reading.clone();
        match self.withheld {
            Withheld::Nothing | Withheld::Kinds | Withheld::Order => {}
            Withheld::Ages => {
                for counts in [&mut reading.thinking, &mut reading.requests_by_age] {
                    let all = counts[1..].iter().sum();
                    counts[1..].fill(0);
                    counts[1] = all;
                }
            }
            Withheld::Logarithms => {
                let responses = reading.upstream_responses as f64;
                if responses > 0.0 {
                    let mean_ns = reading.upstream_time_s / responses * 1e9;
                    reading.upstream_time_ln = responses * mean_ns.max(1.0).ln();
                }
            }
            Withheld::GivenUp => {
                (reading.upstream_given_up, reading.given_up_time_ln) = (0, 0.0);
            }
        }
        self.controller.observe(now, &reading);
    }

    fn why(&self, now: Time) -> String {
        self.controller.status(now).why
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, policies, run};

    #[test]
    fn every_variant_is_a_policy_that_differs_from_tide_somewhere() {
        let scenario = Scenario { duration_s: 4.0, watch_from_s: 1.0, ..Scenario::default() };
        for variant in VARIANTS {
            let mut policy = policies::named(variant.name, &scenario).unwrap();
            assert!(run(&scenario, 2.0, 1, policy.as_mut()).answered > 0, "{}", variant.name);
        }
        assert!(named("tide").is_none());
    }

    #[test]
    fn constants_are_changed_by_name() {
        assert!(tuned("tide:slowdown=5,spare_tokens=0").is_some());
        for wrong in ["tide", "tide:", "tide:slowdown", "tide:slodown=5", "eac:slowdown=5"] {
            assert!(tuned(wrong).is_none(), "{wrong}");
        }
    }
}
