//! The conditions of a scenario on the real gate: arrivals, and what changes when.

use tidegate_load::arrivals::{Process, Segment};
use tidegate_sim::{
    AfterFailure, Arrivals, AttackKind, Changed, Customers, Resource, Scenario, Work,
};

use crate::testbed::{PATIENCE_S, THINK_S};
use tidegate_experiment::GateTimes;

/// How a scenario runs on the real gate.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// CPU time that every page but the front page uses in addition.
    pub extra_cpu_ms: f64,
    /// Times of the gate.
    pub times: GateTimes,
    /// Factor of all customers' times.
    pub time_scale: f64,
    /// Factor of the customers' patience, on top of that.
    pub patience_scale: f64,
    /// Times in seconds, and the processors that a quota leaves from then on.
    pub quotas: Vec<(f64, f64)>,
    /// Times in seconds, and the processors that a neighbour uses from then on.
    pub neighbours: Vec<(f64, f64)>,
}

/// Largest difference of the first request's cost from that of the site's front page.
const FIRST_PAGE_S: f64 = 20e-6;

impl Conditions {
    /// The conditions of a scenario on a server with this number of processors.
    ///
    /// # Errors
    /// Everything in the scenario that the site and the gate cannot run.
    pub fn of(scenario: &Scenario, cpus: f64) -> Result<Self, Vec<String>> {
        let usual = Scenario::default();
        let mut cannot = Vec::new();
        let mut needs = |met: bool, what: &str| {
            if !met {
                cannot.push(format!("{}: {what}", scenario.name));
            }
        };
        let gate = &scenario.gate;
        let cores = gate.cores;
        needs(cores == cpus, &format!("the gate has {cores} cores in it and {cpus} here"));
        let upstream = &scenario.upstream;
        needs(
            upstream.cores.is_none() && upstream.visible && upstream.wait.mean() == 0.0,
            "the site runs on the gate's processors, visible to the gate, and waits for nothing",
        );
        needs(scenario.database.is_none(), "the site's database is embedded");
        needs(
            (gate.tick_s, gate.session_rate) == (usual.gate.tick_s, usual.gate.session_rate),
            "tick and session rate are the gate's own",
        );
        needs(scenario.telemetry == usual.telemetry, "the gate's readings are true");
        needs(
            scenario.arrivals.bursts.is_none() && scenario.arrivals.wave.is_none(),
            "customers arrive in segments, without bursts and waves",
        );
        let work = &scenario.work;
        let Work { first_request: first, later_request: later, .. } = &usual.work;
        let later_s = work.later_request.mean() - later.mean();
        let rest = Work {
            first_request: work.first_request.with_mean(first.mean()),
            later_request: work.later_request.with_mean(later.mean()),
            ..work.clone()
        };
        needs(
            rest == usual.work
                && later_s >= 0.0
                && (work.first_request.mean() - first.mean()).abs() < FIRST_PAGE_S,
            "only later requests can be made costlier; the distribution of work is the site's own",
        );
        let customers = match scenario.customers.as_slice() {
            [one] => Some(one),
            _ => None,
        };
        needs(
            customers.is_some_and(is_the_mix),
            "customers are those of the site's bidding mix, and leave when after_failure",
        );
        needs(
            customers.is_some_and(|one| one.tls.is_none() && one.tickets == 1.0),
            "customers connect with TLS 1.3 and RSA-2048, and bring their tickets",
        );
        let forged = |kind| kind == AttackKind::ForgedTickets;
        needs(
            scenario.attacks.iter().all(|attack| forged(attack.kind)),
            "attackers come with forged tickets",
        );
        let (mut quotas, mut neighbours) = (Vec::new(), Vec::new());
        for change in &scenario.changes {
            match change.what {
                Changed::Cores { resource: Resource::Gate, cores, seen } => match seen {
                    true => quotas.push((change.at_s, cores)),
                    false => neighbours.push((change.at_s, (cpus - cores).max(0.0))),
                },
                _ => needs(false, "only the cores of the gate's host change"),
            }
        }
        if !cannot.is_empty() {
            return Err(cannot);
        }
        let (think_s, patience_s) =
            customers.map_or((THINK_S, PATIENCE_S), |one| (one.think.mean(), one.patience.mean()));
        let time_scale = think_s / THINK_S;
        Ok(Self {
            extra_cpu_ms: later_s * 1e3,
            times: GateTimes {
                hold_s: gate.hold_s,
                keep_alive_s: gate.keep_alive_s,
                linger_s: gate.linger_s,
                ..GateTimes::scaled(time_scale)
            },
            time_scale,
            patience_scale: patience_s / PATIENCE_S / time_scale,
            quotas,
            neighbours,
        })
    }
}

fn is_the_mix(customers: &Customers) -> bool {
    let usual = Customers::default();
    customers.requests == usual.requests
        // Their means are scaled; their distributions are the driver's own.
        && customers.think == usual.think.with_mean(customers.think.mean())
        && customers.patience == usual.patience.with_mean(customers.patience.mean())
        && (&customers.first_request, &customers.later_request) == (&None, &None)
        && customers.weight == usual.weight
        && customers.close_when_done
        && customers.after_failure == AfterFailure::Leaves
}

/// The customers' arrivals over `lasts_s` seconds; level 1 is `per_s` sessions per second.
pub fn customers(arrivals: &Arrivals, per_s: f64, lasts_s: f64) -> tidegate_load::Arrivals {
    let mut stretches = Vec::new();
    let all = [tidegate_sim::Segment { from_s: 0.0, level: 1.0, to_level: 1.0 }];
    let segments = match arrivals.segments.as_slice() {
        [] => &all,
        segments => segments,
    };
    if segments[0].from_s > 0.0 {
        stretches.push((segments[0].from_s, 0.0, 0.0));
    }
    for (index, segment) in segments.iter().enumerate() {
        let end = segments.get(index + 1).map_or(lasts_s, |next| next.from_s);
        stretches.push((end - segment.from_s, segment.level * per_s, segment.to_level * per_s));
    }
    in_stretches(&stretches)
}

/// Arrivals at a constant rate from one time to another, and none before or after.
pub fn between(per_s: f64, from_s: f64, until_s: f64) -> tidegate_load::Arrivals {
    in_stretches(&[(from_s, 0.0, 0.0), (until_s - from_s, per_s, per_s), (1.0, 0.0, 0.0)])
}

/// Arrivals in stretches: length, rate at the beginning, rate at the end.
fn in_stretches(stretches: &[(f64, f64, f64)]) -> tidegate_load::Arrivals {
    let segment = |(lasts_s, from_per_s, to_per_s): &(f64, f64, f64)| Segment {
        lasts: std::time::Duration::from_secs_f64(lasts_s.clamp(0.0, 86_400.0)),
        from_per_s: *from_per_s,
        to_per_s: *to_per_s,
    };
    tidegate_load::Arrivals::segments(Process::Poisson, stretches.iter().map(segment).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::CUSTOMERS;
    use std::time::Duration;
    use tidegate_sim::{Distribution, Random, Telemetry};

    #[test]
    fn every_listed_scenario_can_run() {
        for name in super::super::SCENARIOS {
            let scenario = Scenario::named(name).unwrap();
            assert!(Conditions::of(&scenario, 1.0).is_ok(), "{name}");
        }
        let costlier = Conditions::of(&Scenario::named("heavy-later").unwrap(), 1.0).unwrap();
        assert!((costlier.extra_cpu_ms - 0.91).abs() < 1e-9);
        let cut = Conditions::of(&Scenario::named("quota-cut").unwrap(), 1.0).unwrap();
        assert_eq!((cut.quotas, cut.neighbours), (vec![(10.0, 0.5), (18.0, 1.0)], vec![]));
        let neighbour = Conditions::of(&Scenario::named("noisy-neighbour").unwrap(), 1.0).unwrap();
        assert_eq!(neighbour.neighbours, [(10.0, 0.5), (18.0, 0.0)]);
        assert!(
            (neighbour.time_scale - 0.025).abs() < 1e-12
                && (neighbour.patience_scale - 1.0).abs() < 1e-12
        );
    }

    #[test]
    fn everything_that_cannot_run_is_named() {
        let cannot = Conditions::of(&Scenario::named("four-cores").unwrap(), 1.0).unwrap_err();
        assert_eq!(cannot, ["four-cores: the gate has 4 cores in it and 1 here"]);
        let telemetry = Telemetry { late_s: 1.0, ..Scenario::default().telemetry };
        let scenario = Scenario { telemetry, ..Scenario::named("database-bound").unwrap() };
        assert!(Conditions::of(&scenario, 1.0).unwrap_err().len() >= 2);
    }

    #[test]
    fn distributions_and_handshakes_are_those_of_site_and_customers() {
        for (name, expected) in [
            ("heavy-tail", vec!["only later requests", "bidding mix"]),
            ("in-clear", vec!["bidding mix", "TLS 1.3 and RSA-2048"]),
        ] {
            let cannot = Conditions::of(&Scenario::named(name).unwrap(), 1.0).unwrap_err();
            assert_eq!(cannot.len(), expected.len(), "{cannot:?}");
            for (message, words) in cannot.iter().zip(expected) {
                assert!(message.contains(words), "{message}");
            }
        }
        let usual = Scenario::default();
        let [one] = usual.customers.as_slice() else { panic!("the demo has one class") };
        for other in [
            Customers { think: Distribution::constant(one.think.mean()), ..one.clone() },
            Customers { patience: Distribution::exponential(0.25), ..one.clone() },
            Customers { later_request: Some(Distribution::constant(1e-3)), ..one.clone() },
            Customers { tickets: 0.5, ..one.clone() },
        ] {
            let scenario = Scenario { customers: vec![other], ..usual.clone() };
            assert_eq!(Conditions::of(&scenario, 1.0).unwrap_err().len(), 1);
        }
        assert!(Conditions::of(&usual, 1.0).is_ok());
    }

    #[test]
    fn the_simulated_sessions_are_as_long_as_the_real_ones() {
        let real = tidegate_load::Scenario::built_in(CUSTOMERS).unwrap();
        let (real, simulated) = (real.session_lengths(), Customers::default().requests);
        let mean = real.iter().sum::<u32>() as f64 / real.len() as f64;
        assert!((simulated.mean() / mean - 1.0).abs() < 0.03, "{mean}: {}", simulated.mean());
        let mut random = Random::new(1);
        let mut drawn: Vec<u32> = (0..40_000).map(|_| simulated.draw(&mut random)).collect();
        drawn.sort_unstable();
        for share in [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99] {
            let at = |of: &[u32]| f64::from(of[(share * of.len() as f64) as usize]);
            let (real, drawn) = (at(real), at(&drawn));
            assert!((real - drawn).abs() <= 0.05 * real, "{share}: {real} and {drawn}");
        }
    }

    #[test]
    fn segments_become_rates() {
        let crowd = Scenario::named("flash-crowd").unwrap();
        let arrivals = customers(&crowd.arrivals, 1000.0, crowd.duration_s);
        let at = |s: f64| arrivals.rate_at(Duration::from_secs_f64(s));
        assert_eq!([at(1.0), at(5.0), at(12.0)], [50.0, 1000.0, 50.0]);
        let steady = customers(&Arrivals::default(), 7.0, 30.0);
        assert_eq!(steady.rate_at(Duration::from_secs(20)), 7.0);
        let attack = between(9.0, 4.0, 6.0);
        let at = |s: u64| attack.rate_at(Duration::from_secs(s));
        assert_eq!([at(3), at(5), at(8)], [0.0, 9.0, 0.0]);
    }
}
