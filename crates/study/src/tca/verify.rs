//! Whether the site carries what its costs say: the scenario itself at rising load, and where the
//! prediction is off, the likely reason by what was measured. Pure.

use serde::Serialize;
use tidegate_plan::profile::Profile;
use tidegate_report::number::{number, percent};

use super::costs::{CONNECTION, Costs};
use super::predicted::{AT_A_TIME, Predicted};
use super::resources::{Resource, Unit};
use crate::capacity::{Cause, End, cause};
use crate::site::step::{Limit, Step};

/// Loads, as multiples of the predicted capacity.
pub(super) const LOADS: [f64; 6] = [0.25, 0.5, 0.75, 0.9, 1.0, 1.1];
/// Error beyond which a prediction is told to be off.
pub const LARGE: f64 = 0.15;
/// Growth of the cost of a session from a light load to a high one that explains something.
const GROWS: f64 = 0.1;
/// Processors of a process that is not counted which explain something, as a share of the site's.
const UNCOUNTED: f64 = 0.1;
/// Difference of what customers did to what the profile says that explains something.
const OTHER: f64 = 0.1;

/// A step of the verification.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// Load as a multiple of the predicted capacity.
    pub multiple: f64,
    /// How often each operation was answered per second, in the order of the costs.
    pub counts_per_s: Vec<f64>,
    /// Processors' worth that each group of processes used.
    pub groups_cpus: Vec<f64>,
    /// The same of all of them, as predicted by profile and costs.
    pub predicted_cpus: f64,
    /// As predicted by the costs of what customers did in the step.
    pub by_counts_cpus: f64,
    /// Its figures.
    pub step: Step,
}

impl Verification {
    /// Judges a step. `groups_cpus` is empty where the site's processes are not known.
    pub(super) fn of(
        (multiple, step, groups_cpus): (f64, Step, Vec<f64>),
        counts_per_s: Vec<f64>,
        costs: &Costs,
        resources: &[Resource],
        predicted: &Predicted,
    ) -> Self {
        let cpu = |it: &Resource| it.unit == Unit::CpuSeconds && !it.driver;
        let site = || (0..resources.len()).filter(|at| cpu(&resources[*at]));
        let idle: f64 = site().map(|at| costs.idle[at].value).sum();
        let session: f64 = site().map(|at| predicted.sums[at].session.value).sum();
        let most = predicted.peak_per_s().unwrap_or(f64::INFINITY);
        let each = costs.operations.iter().zip(&counts_per_s);
        let of_one =
            |at: usize, used: &[Option<tidegate_plan::Range>]| used[at].map_or(0.0, |it| it.value);
        let by_counts = site()
            .map(|at| each.clone().map(|(it, count)| of_one(at, &it.used) * count).sum::<f64>())
            .sum::<f64>();
        Self {
            multiple,
            predicted_cpus: idle + session * step.offered_per_s.min(most),
            by_counts_cpus: idle + by_counts,
            counts_per_s,
            groups_cpus,
            step,
        }
    }

    /// Processors' worth that the site used; `None` where its processes are not known.
    pub fn cpus(&self) -> Option<f64> {
        (!self.groups_cpus.is_empty()).then(|| self.groups_cpus.iter().sum())
    }
}

/// What the verification found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// How much more processor time the site used than predicted, while it followed, as a share.
    pub cpu_error: Option<f64>,
    /// How much more it carried at most than predicted, as a share; `None` where its limit was not
    /// reached within what was predicted.
    pub throughput_error: Option<f64>,
    /// The most sessions completed per second.
    pub peak_per_s: f64,
    /// What explains a large error, with what was measured; empty without one.
    pub reasons: Vec<Reason>,
}

/// A reason for a large error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// Which.
    pub kind: Kind,
    /// In words, with the evidence.
    pub text: String,
}

/// Why a prediction is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The load generator was saturated.
    Driver,
    /// Customers did other things than the profile says.
    Profile,
    /// A lock, or a single worker.
    Lock,
    /// A number of workers, or of connections to a service behind it.
    Pool,
    /// The cost of a session grows with the load.
    Grows,
    /// It falls.
    Falls,
    /// A process that was not counted.
    NotCounted,
    /// What limits the site is not among what was measured.
    NotMeasured,
}

/// Compares. `limit` and `alone_ms` are what steps were judged by.
pub(super) fn accuracy(
    steps: &[Verification],
    costs: &Costs,
    predicted: &Predicted,
    profile: &Profile,
    (limit, alone_ms): (Limit, f64),
) -> Accuracy {
    let sound: Vec<&Verification> = steps.iter().filter(|it| it.step.is_sound()).collect();
    let followed: Vec<&&Verification> = sound.iter().filter(|it| it.step.follows()).collect();
    let sum = |of: &dyn Fn(&Verification) -> f64| followed.iter().map(|it| of(it)).sum::<f64>();
    let measured = sum(&|it| it.cpus().unwrap_or(0.0));
    let cpu_error = (measured > 0.0).then(|| measured / sum(&|it| it.predicted_cpus) - 1.0);
    let peak_per_s = sound.iter().map(|it| it.step.completed_per_s).fold(0.0, f64::max);
    let reached = sound.iter().any(|it| !it.step.follows());
    let throughput_error = predicted.peak_per_s().and_then(|predicted| {
        let error = peak_per_s / predicted - 1.0;
        (reached || error > 0.0).then_some(error)
    });
    let is_large = |error: Option<f64>| error.is_some_and(|it| it.abs() > LARGE);
    let mut reasons = Vec::new();
    if steps.iter().any(|it| !it.step.is_sound()) {
        let why = steps.iter().flat_map(|it| &it.step.driver_saturated_because).next_back();
        let text = format!(
            "The load generator was saturated ({}): give it processors of its own with --driver-cores, or run it on another machine.",
            why.map_or("", |it| it.as_str())
        );
        reasons.push(Reason { kind: Kind::Driver, text });
    }
    if is_large(cpu_error) || is_large(throughput_error) {
        reasons.extend(other_profile(&sound, costs, profile));
        reasons.extend(changes(&followed));
        reasons.extend(not_counted(&sound));
        if throughput_error.is_some_and(|it| it < -LARGE) {
            reasons.extend(waits(&sound, predicted, limit, alone_ms));
        }
        if reasons.is_empty() {
            let text = "What was measured does not explain it. Repeat the run while nobody else uses the machine, and without --quick.";
            reasons.push(Reason { kind: Kind::NotMeasured, text: text.to_owned() });
        }
    }
    Accuracy { cpu_error, throughput_error, peak_per_s, reasons }
}

/// Whether customers requested other pages than the profile says, of the steps together.
fn other_profile(steps: &[&Verification], costs: &Costs, profile: &Profile) -> Option<Reason> {
    let followed: Vec<_> = steps.iter().filter(|it| it.step.follows()).collect();
    let sessions: f64 = followed.iter().map(|it| it.step.offered_per_s).sum();
    let cost = |at: usize| costs.operations[at].used.first().copied().flatten();
    let mut differences: Vec<(&str, f64, f64, f64)> = Vec::new();
    let mut whole = 0.0;
    for (at, it) in costs.operations.iter().enumerate() {
        let said = profile.per_session(&it.operation).map_or(0.0, |it| it.value);
        let seen = followed.iter().map(|it| it.counts_per_s[at]).sum::<f64>() / sessions.max(1e-9);
        let each = cost(at).map_or(0.0, |it| it.value);
        whole += said * each;
        differences.push((&it.operation, said, seen, (seen - said) * each));
    }
    let off: f64 = differences.iter().map(|it| it.3).sum();
    let largest = differences.iter().max_by(|a, b| a.3.abs().total_cmp(&b.3.abs()))?;
    (sessions > 0.0 && off.abs() > OTHER * whole).then(|| Reason {
        kind: Kind::Profile,
        text: format!(
            "Customers did other things than the profile says, which makes {} of the cost of a session: most of all {} {} a session and not {}.",
            percent(off.abs() / whole),
            number(largest.2),
            if largest.0 == CONNECTION { "new connections".into() } else { format!("requests of {}", largest.0) },
            number(largest.1),
        ),
    })
}

/// Whether a session costs more, or less, at high load than at light load.
fn changes(followed: &[&&Verification]) -> Option<Reason> {
    let light = followed.first()?;
    let high = followed.last()?;
    let factor = |it: &Verification| Some(it.cpus()? / it.by_counts_cpus.max(1e-9));
    let growth = factor(high)? / factor(light)? - 1.0;
    let (kind, how, why) = if growth > GROWS {
        let why = "costs grow with the load, as with caches that no longer suffice, collections of memory or waiting that spins";
        (Kind::Grows, "more", why)
    } else if growth < -GROWS {
        let why = "costs fall as the load grows, as where a thread that finds work waiting need not be woken up for it. The site carries more than predicted";
        (Kind::Falls, "less", why)
    } else {
        return None;
    };
    Some(Reason {
        kind,
        text: format!(
            "Operations cost {} {how} at {} sessions/s than at {}: {why}.",
            percent(growth.abs()),
            number(high.step.offered_per_s),
            number(light.step.offered_per_s),
        ),
    })
}

/// Whether processes other than the site's and the load generator are busy, the more the higher the
/// load.
fn not_counted(steps: &[&Verification]) -> Option<Reason> {
    let other = |it: &Verification| {
        let host = it.step.host.as_ref()?;
        Some((host.machine_busy? - host.cpus - host.driver_cpus).max(0.0))
    };
    let (light, high) = (steps.first()?, steps.last()?);
    let (before, now) = (other(light)?, other(high)?);
    let site = high.step.host.as_ref()?.cpus;
    (now > UNCOUNTED * site.max(0.1)).then(|| Reason {
        kind: Kind::NotCounted,
        text: format!(
            "Processes that are not counted used {} processors at {} sessions/s, and {} at {}: if one of them belongs to the site, name it with --resource NAME=PROCESS.",
            number(now),
            number(high.step.offered_per_s),
            number(before),
            number(light.step.offered_per_s),
        ),
    })
}

/// What the site waits for while its processors have time left, by the steps that it did not
/// follow.
fn waits(
    steps: &[&Verification],
    predicted: &Predicted,
    limit: Limit,
    alone_ms: f64,
) -> Option<Reason> {
    let tightest = predicted.tightest.map(|at| &predicted.sums[at]);
    if tightest.is_some_and(|it| it.resource == AT_A_TIME) {
        return None;
    }
    let carried = steps.iter().filter(|it| it.step.follows());
    let carried = carried.map(|it| it.step.rate_per_s).fold(0.0, f64::max);
    let all: Vec<Step> = steps.iter().map(|it| it.step.clone()).collect();
    let (cause, text) = cause(&all, End::Found, Some(carried), limit, alone_ms);
    let kind = match cause {
        Cause::OneAtATime | Cause::OneThread => Kind::Lock,
        Cause::Concurrency => Kind::Pool,
        Cause::Processors | Cause::Machine => return None,
        _ => Kind::NotMeasured,
    };
    Some(Reason { kind, text })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::costs::tests::{resources, shop_costs};
    use super::super::predicted::predict;
    use super::super::predicted::tests::{MACHINE, profile};
    use super::*;
    use crate::site::host_use::HostUse;
    use crate::site::step::tests::{LIMIT, step};

    /// What a site does at a rate.
    struct Seen {
        completed: f64,
        cpus: f64,
        elsewhere: f64,
        orders: f64,
    }

    fn verified(site: impl Fn(f64) -> Seen) -> (Accuracy, Vec<Verification>) {
        let (costs, profile) = (shop_costs(), profile());
        let predicted = predict(&costs, &resources(), &profile, MACHINE, None);
        let capacity = predicted.peak_per_s().unwrap();
        let of = |multiple: f64| {
            let rate = multiple * capacity;
            let seen = site(rate);
            let mut step = step(rate, seen.completed, 100.0);
            (step.completed_ratio, step.abandoned_per_s) = (1.0, 0.0);
            step.requests_per_s = 5.1 * seen.completed;
            step.host = Some(HostUse {
                cpus: seen.cpus,
                allowed_cpus: 2.0,
                busiest_thread: 0.4,
                driver_cpus: 0.1,
                machine_busy: Some(seen.cpus + 0.1 + seen.elsewhere),
                machine_cpus: 4.0,
                ..HostUse::default()
            });
            step.outcome = step.judge(LIMIT);
            let counts = vec![rate, 4.0 * rate, seen.orders * rate, rate];
            Verification::of(
                (multiple, step, vec![seen.cpus]),
                counts,
                &costs,
                &resources(),
                &predicted,
            )
        };
        let steps: Vec<_> = LOADS.into_iter().map(of).collect();
        (accuracy(&steps, &costs, &predicted, &profile, (LIMIT, 10.0)), steps)
    }

    const EACH: f64 = 0.097;

    fn plain(rate: f64) -> Seen {
        let completed = rate.min(1.95 / EACH);
        Seen { completed, cpus: 0.05 + EACH * completed, elsewhere: 0.0, orders: 0.1 }
    }

    /// The verification of a shop that does as predicted.
    pub(in crate::tca) fn verified_shop() -> (Accuracy, Vec<Verification>) {
        verified(plain)
    }

    fn kinds(of: &Accuracy) -> Vec<Kind> {
        of.reasons.iter().map(|it| it.kind).collect()
    }

    #[test]
    fn a_site_that_does_as_predicted_has_no_error_and_no_reason() {
        let (found, _) = verified(plain);
        assert!(found.cpu_error.unwrap().abs() < 0.03, "{found:?}");
        assert!(found.throughput_error.is_none_or(|it| it.abs() < 0.05), "{found:?}");
        assert!(found.reasons.is_empty());
    }

    #[test]
    fn a_lock_that_only_the_mix_meets_is_named() {
        let lock = |rate: f64| {
            let completed = rate.min(10.0);
            Seen { completed, cpus: 0.05 + EACH * completed, elsewhere: 0.0, orders: 0.1 }
        };
        let (found, _) = verified(lock);
        assert!(found.throughput_error.unwrap() < -0.4, "{found:?}");
        assert!(!found.reasons.is_empty() && !kinds(&found).contains(&Kind::Grows), "{found:?}");
    }

    #[test]
    fn costs_that_grow_are_told_with_how_much() {
        let grows = |rate: f64| {
            let seen = plain(rate);
            Seen { cpus: seen.cpus * (1.0 + 0.03 * rate), ..seen }
        };
        let (found, _) = verified(grows);
        assert!(found.cpu_error.unwrap() > 0.15, "{found:?}");
        assert_eq!(kinds(&found), [Kind::Grows]);
        assert!(found.reasons[0].text.contains("costs grow with the load"), "{found:?}");
    }

    #[test]
    fn costs_that_fall_are_told_with_how_much() {
        let falls = |rate: f64| {
            let seen = plain(rate);
            Seen { cpus: seen.cpus * (1.0 - 0.02 * rate), ..seen }
        };
        let (found, _) = verified(falls);
        assert!(found.cpu_error.unwrap() < -0.15, "{found:?}");
        assert_eq!(kinds(&found), [Kind::Falls]);
        assert!(found.reasons[0].text.contains("costs fall as the load grows"), "{found:?}");
    }

    #[test]
    fn a_process_that_was_not_counted_is_told() {
        // Half of the work is done elsewhere, so that it takes the site's processors.
        let elsewhere = |rate: f64| {
            let completed = rate.min(10.0);
            Seen {
                completed,
                cpus: 0.05 + EACH * completed,
                elsewhere: 0.09 * completed,
                orders: 0.1,
            }
        };
        let (found, _) = verified(elsewhere);
        assert!(kinds(&found).contains(&Kind::NotCounted), "{found:?}");
        assert!(found.reasons[0].text.contains("--resource"), "{found:?}");
    }

    #[test]
    fn customers_who_do_other_things_than_the_profile_are_told() {
        let buyers = |rate: f64| {
            let completed = rate.min(1.95 / 0.2);
            let cpus = 0.05 + 0.142 * completed;
            Seen { completed, cpus, elsewhere: 0.0, orders: 1.0 }
        };
        let (found, _) = verified(buyers);
        assert!(kinds(&found).contains(&Kind::Profile), "{found:?}");
        assert!(found.reasons[0].text.contains("requests of Order"), "{found:?}");
    }

    #[test]
    fn a_saturated_load_generator_is_named_whatever_the_error() {
        let (_, mut steps) = verified(plain);
        steps[5].step.driver_saturated_because = vec!["its thread was busy".into()];
        let (costs, profile) = (shop_costs(), profile());
        let predicted = predict(&costs, &resources(), &profile, MACHINE, None);
        let found = accuracy(&steps, &costs, &predicted, &profile, (LIMIT, 10.0));
        assert_eq!(kinds(&found), [Kind::Driver]);
    }
}
