//! The policies that may be compared, by name.

use super::policy::Policy;
use super::rivals::{
    Aimd, Breakwater, Dagor, Gradient, Gradient2, Limited, Pace, Pi, Sbac, TopFull,
};
use super::scenario::Scenario;
use super::variants;
use tidegate_control::{Controller, PolicyKind, Settings};

/// The names that [`named`] knows, in the order of a comparison.
pub const NAMES: [&str; 18] = [
    "off",
    "static",
    "eac",
    "sbac",
    "aimd",
    "aimd-admission",
    "gradient",
    "gradient-admission",
    "gradient2",
    "gradient2-admission",
    "codel",
    "pi",
    "breakwater",
    "dagor",
    "topfull",
    "plan-only",
    "backlog-only",
    "tide",
];

/// Former names that are still accepted, in the order of [`NAMES`].
pub const FORMER_NAMES: [&str; 3] = ["aimd-door", "gradient-door", "gradient2-door"];

/// The name in [`NAMES`] of a policy that is given by that or by its former name; `None`:
/// no such policy.
pub fn canonical(name: &str) -> Option<&'static str> {
    let name = match name {
        "aimd-door" => "aimd-admission",
        "gradient-door" => "gradient-admission",
        "gradient2-door" => "gradient2-admission",
        name => name,
    };
    NAMES.into_iter().find(|known| *known == name)
}

/// A policy that has learned nothing yet; `None`: no such name.
///
/// Beside [`NAMES`], it knows the [`VARIANTS`](super::VARIANTS) of `tide` and
/// `tide:constant=value,...`, which is `tide` with other constants of its
/// [`Tuning`](tidegate_control::Tuning).
///
/// `static` admits sessions at the rate of the capacity; [`evaluate()`](super::evaluate())
/// searches for the best rate with hindsight. `aimd`, `gradient` and `gradient2` refuse
/// requests, as deployed; with `-admission` they refuse new sessions only. `codel` and
/// `pi` get the number of the service's threads.
pub fn named(name: &str, scenario: &Scenario) -> Option<Box<dyn Policy>> {
    let pace = pace(scenario);
    Some(match canonical(name).unwrap_or(name) {
        "off" => production(PolicyKind::Off),
        "static" => production(PolicyKind::Static { per_second: scenario.capacity_per_s() }),
        "eac" => {
            let interval = PolicyKind::EAC_INTERVAL.mul_f64(pace.0);
            production(PolicyKind::Eac { interval, profile: None })
        }
        "sbac" => Box::new(Sbac::new(pace)),
        "aimd" => Box::new(Limited::on_requests(Aimd::new(pace))),
        "aimd-admission" => Box::new(Limited::on_admission(Aimd::new(pace))),
        "gradient" => Box::new(Limited::on_requests(Gradient::new())),
        "gradient-admission" => Box::new(Limited::on_admission(Gradient::new())),
        "gradient2" => Box::new(Limited::on_requests(Gradient2::new(pace))),
        "gradient2-admission" => Box::new(Limited::on_admission(Gradient2::new(pace))),
        "codel" => production(PolicyKind::CoDel {
            threads: u32::try_from(scenario.upstream.threads).unwrap_or(u32::MAX),
        }),
        "pi" => Box::new(Pi::new(scenario.upstream.threads)),
        "breakwater" => Box::new(Breakwater::new()),
        "dagor" => Box::new(Dagor::new(pace)),
        "topfull" => Box::new(TopFull::new(pace, &scenario.priorities())),
        "backlog-only" => production(PolicyKind::BacklogOnly),
        "tide" => {
            let mut controller = controller(PolicyKind::Tide);
            controller.set_routes(&scenario.priorities());
            Box::new(controller)
        }
        _ => return variants::named(name).or_else(|| variants::tuned(name)),
    })
}

/// How much faster the scenario's customers are than those of study 001, whose mean think
/// time is seven seconds.
fn pace(scenario: &Scenario) -> Pace {
    let think_s: f64 =
        scenario.customers.iter().map(|class| class.share * class.think.mean()).sum();
    Pace((think_s / 7.0).clamp(0.001, 1.0))
}

/// The production controller under a policy.
pub(super) fn production(policy: PolicyKind) -> Box<dyn Policy> {
    Box::new(controller(policy))
}

fn controller(policy: PolicyKind) -> Controller {
    Controller::new(Settings { policy, ..Settings::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_names_are_accepted() {
        let present = ["aimd-admission", "gradient-admission", "gradient2-admission"];
        assert_eq!(FORMER_NAMES.map(canonical), present.map(Some));
        for name in FORMER_NAMES {
            assert!(named(name, &Scenario::default()).is_some(), "{name}");
        }
        assert_eq!((canonical("tide"), canonical("other")), (Some("tide"), None));
    }

    #[test]
    fn every_name_has_a_policy_that_gives_its_reason() {
        let scenario = Scenario::default();
        for name in NAMES {
            let why = named(name, &scenario).unwrap().why(tidegate_control::Time::ZERO);
            assert!(why.len() > 10, "{name}: {why}");
        }
        assert!(named("other", &scenario).is_none());
    }
}
