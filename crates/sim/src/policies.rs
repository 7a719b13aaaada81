//! The policies that may be compared, by name.

use super::policy::Policy;
use super::rivals::{Aimd, Breakwater, CoDel, Dagor, Gradient, Gradient2, Limited, Pace, Pi, Sbac};
use super::scenario::Scenario;
use super::variants;
use tidegate_control::{Controller, PolicyKind, Settings};

/// The names that [`named`] knows, in the order of a comparison.
pub const NAMES: [&str; 17] = [
    "off",
    "static",
    "eac",
    "sbac",
    "aimd",
    "aimd-door",
    "gradient",
    "gradient-door",
    "gradient2",
    "gradient2-door",
    "codel",
    "pi",
    "breakwater",
    "dagor",
    "plan-only",
    "backlog-only",
    "tide",
];

/// A policy that has learned nothing yet; `None`: no such name.
///
/// Beside [`NAMES`], it knows the [`VARIANTS`](super::VARIANTS) of `tide` and
/// `tide:constant=value,...`, which is `tide` with other constants of its
/// [`Tuning`](tidegate_control::Tuning).
///
/// `static` admits the capacity, which nobody knows beforehand;
/// [`judged()`](super::judged()) looks for the best rate with hindsight. `aimd`,
/// `gradient` and `gradient2` turn away requests, as they are deployed; with
/// `-door`, new sessions only. `codel` and `pi` are told how many threads the
/// service has.
pub fn named(name: &str, scenario: &Scenario) -> Option<Box<dyn Policy>> {
    let pace = pace(scenario);
    Some(match name {
        "off" => production(PolicyKind::Off),
        "static" => production(PolicyKind::Static { per_second: scenario.capacity_per_s() }),
        "eac" => production(PolicyKind::Eac { interval: PolicyKind::EAC_INTERVAL.mul_f64(pace.0) }),
        "sbac" => Box::new(Sbac::new(pace)),
        "aimd" => Box::new(Limited::on_requests(Aimd::new(pace))),
        "aimd-door" => Box::new(Limited::at_the_door(Aimd::new(pace))),
        "gradient" => Box::new(Limited::on_requests(Gradient::new())),
        "gradient-door" => Box::new(Limited::at_the_door(Gradient::new())),
        "gradient2" => Box::new(Limited::on_requests(Gradient2::new(pace))),
        "gradient2-door" => Box::new(Limited::at_the_door(Gradient2::new(pace))),
        "codel" => Box::new(CoDel::new(scenario.upstream.threads)),
        "pi" => Box::new(Pi::new(scenario.upstream.threads)),
        "breakwater" => Box::new(Breakwater::new()),
        "dagor" => Box::new(Dagor::new(pace)),
        "tide" => production(PolicyKind::Tide),
        _ => return variants::named(name).or_else(|| variants::tuned(name)),
    })
}

/// How much faster than the customers of paper 001, who think for seven seconds
/// on average, those of the scenario are.
fn pace(scenario: &Scenario) -> Pace {
    let think_s: f64 =
        scenario.customers.iter().map(|class| class.share * class.think.mean()).sum();
    Pace((think_s / 7.0).clamp(0.001, 1.0))
}

/// The production controller under a policy.
pub(super) fn production(policy: PolicyKind) -> Box<dyn Policy> {
    Box::new(Controller::new(Settings { policy, ..Settings::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_policy_that_can_say_why() {
        let scenario = Scenario::default();
        for name in NAMES {
            let why = named(name, &scenario).unwrap().why(tidegate_control::Time::ZERO);
            assert!(why.len() > 10, "{name}: {why}");
        }
        assert!(named("other", &scenario).is_none());
    }
}
