//! Experiments that ship with the program.

use super::Experiment;

/// An experiment that ships.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// Every experiment that ships.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "overload", text: include_str!("../../experiments/overload.toml") },
    BuiltIn { name: "patience", text: include_str!("../../experiments/patience.toml") },
    BuiltIn { name: "sessions", text: include_str!("../../experiments/sessions.toml") },
    BuiltIn { name: "crowd", text: include_str!("../../experiments/crowd.toml") },
    BuiltIn { name: "rivals", text: include_str!("../../experiments/rivals.toml") },
    BuiltIn { name: "peers", text: include_str!("../../experiments/peers.toml") },
    BuiltIn { name: "tomcat", text: include_str!("../../experiments/tomcat.toml") },
    BuiltIn { name: "security", text: include_str!("../../experiments/security.toml") },
    BuiltIn { name: "ciphers", text: include_str!("../../experiments/ciphers.toml") },
    BuiltIn { name: "shop", text: include_str!("../../experiments/shop.toml") },
    BuiltIn { name: "node", text: include_str!("../../experiments/node.toml") },
    BuiltIn { name: "fleet", text: include_str!("../../experiments/fleet.toml") },
    BuiltIn { name: "room", text: include_str!("../../experiments/room.toml") },
    BuiltIn { name: "messages", text: include_str!("../../experiments/messages.toml") },
];

impl BuiltIn {
    /// The one of a name.
    pub fn named(name: &str) -> Option<Self> {
        BUILT_IN.iter().copied().find(|one| one.name == name)
    }

    /// Reads it.
    ///
    /// # Panics
    /// Never: a test reads every one.
    pub fn experiment(self) -> Experiment {
        let file = format!("{}.toml", self.name);
        Experiment::from_toml(self.text, &file).expect("experiments that ship are valid")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::claims::{ROUNDS, check};
    use crate::analysis::{Run, runs};
    use crate::experiment::{Combination, LOADS, Selection, Take};
    use crate::record::tests::record;
    use crate::{metrics, phases};
    use std::collections::BTreeSet;

    #[test]
    fn every_experiment_that_ships_is_valid_and_has_its_name() {
        for one in BUILT_IN {
            let read = Experiment::from_toml(one.text, one.name);
            let experiment = read.unwrap_or_else(|mistakes| panic!("{mistakes}"));
            assert_eq!(experiment.name, one.name);
        }
    }

    #[test]
    fn all_fleets_are_compared_with_one_baseline_in_each_round() {
        let fleet = BuiltIn::named("fleet").unwrap().experiment();
        for quick in [false, true] {
            let all = fleet.combinations(quick);
            let keys: BTreeSet<_> = all.iter().map(|one| one.settings.capacity_key()).collect();
            assert_eq!(keys.len(), 1);
        }
    }

    #[test]
    fn passwords_as_in_production_are_in_their_own_runs_and_figure_alone() {
        let security = BuiltIn::named("security").unwrap().experiment();
        let costly = |quick| {
            let all = security.combinations(quick).into_iter();
            all.filter(|one| one.settings.password_cost == "owasp").collect::<Vec<_>>()
        };
        assert_eq!((costly(false).len(), costly(true).len()), (6, 0));
        // Ten customers need 2.2 s for a pass of the mix.
        let windows = security.windows(false);
        assert!(costly(false).iter().all(|one| windows.of_run(&one.settings).measured_s > 6.0));
        let all = costly(false);
        let has = |runs: &Selection| all.iter().any(|one| runs.contains(&one.levels));
        for claim in &security.claims {
            let sides = [Some(&claim.runs), claim.compared_with.as_ref()];
            assert!(!sides.into_iter().flatten().any(|(runs, _)| has(runs)), "{}", claim.id);
        }
        for figure in &security.figures {
            assert_eq!(has(&figure.runs), figure.id == "passwords", "{}", figure.id);
        }
    }

    /// Sound runs of all combinations in as many rounds as a verdict takes, with every metric and phase.
    fn measured(experiment: &Experiment, quick: bool) -> Vec<Run> {
        let figures: Vec<(&str, f64)> =
            metrics::names().into_iter().map(|name| (name, 1.0)).collect();
        let combinations = experiment.combinations(quick);
        let rounds =
            (0..ROUNDS as u32).flat_map(|round| combinations.iter().map(move |one| (round, one)));
        let record = |(round, one): (u32, &Combination)| {
            let mut record = record("a", round, &[], &figures);
            record.planned.levels = one.levels.clone();
            record.planned.settings = one.settings.clone();
            record.phases = phases::all().iter().map(|it| (it.name.clone(), 1.0)).collect();
            record
        };
        runs(&rounds.map(record).collect::<Vec<_>>())
    }

    #[test]
    fn every_claim_of_an_experiment_that_ships_is_about_runs_that_are_measured() {
        for one in BUILT_IN {
            let experiment = one.experiment();
            let runs = measured(&experiment, false);
            for claim in check(&experiment, &runs, false) {
                assert_ne!(claim.evidence["values"], 0, "{}: {}", one.name, claim.id);
            }
        }
    }

    #[test]
    fn every_run_that_a_claim_selects_has_one_that_it_is_compared_with() {
        for one in BUILT_IN {
            let experiment = one.experiment();
            let runs = measured(&experiment, false);
            let mut alone = experiment.clone();
            for claim in &mut alone.claims {
                (claim.compared_with, claim.compared_metric, claim.relative_to) =
                    (None, None, None);
            }
            let values = |experiment: &Experiment| {
                let claims = check(experiment, &runs, false).into_iter();
                claims.map(|it| (it.id, it.evidence["values"].as_u64())).collect::<Vec<_>>()
            };
            for ((id, compared), (_, all)) in values(&experiment).iter().zip(values(&alone)) {
                assert!(*compared >= all, "{}: {id}: {compared:?} of {all:?}", one.name);
            }
        }
    }

    /// A factor that only the left side of a ratio names is matched by nothing, so that with
    /// several levels on the right its figure would be a mean over them.
    #[test]
    fn what_a_claim_compares_with_does_not_mix_levels_that_it_names_on_one_side() {
        for one in BUILT_IN {
            let experiment = one.experiment();
            let combinations = experiment.combinations(false);
            for claim in &experiment.claims {
                let Some((right, take)) = &claim.compared_with else { continue };
                for factor in claim.runs.0.factors().filter(|factor| !right.names(factor)) {
                    // A peak is one over all loads, and `each` takes the same level of both sides.
                    let is_peak = *take == Take::Peak && LOADS.contains(&factor);
                    if is_peak || claim.each.as_deref() == Some(factor) {
                        continue;
                    }
                    let there = combinations.iter().filter(|it| right.contains(&it.levels));
                    let levels: BTreeSet<&String> =
                        there.filter_map(|it| it.levels.get(factor)).collect();
                    assert!(levels.len() < 2, "{}: {}: {factor}: {levels:?}", one.name, claim.id);
                }
            }
        }
    }

    #[test]
    fn a_quick_run_decides_each_claim_that_it_checks_and_lists_no_others() {
        for one in BUILT_IN {
            let experiment = one.experiment();
            for quick in [false, true] {
                let rounds = experiment.windows(quick).repetitions as usize;
                assert!(rounds >= ROUNDS, "{}: {rounds} rounds", one.name);
            }
            let ids: BTreeSet<&str> =
                experiment.checked(true).map(|claim| claim.id.as_str()).collect();
            // A quick run of messages has all combinations, with fewer requests.
            let are_few = one.name == "messages" || (3..=6).contains(&ids.len());
            assert!(are_few, "{}: {ids:?}", one.name);
            for claim in check(&experiment, &measured(&experiment, true), true) {
                let why = claim.evidence.get("undecided_because");
                assert_eq!(why, None, "{}: {}", one.name, claim.id);
            }
        }
    }

    #[test]
    fn the_study_of_2007_has_a_counterpart_of_each_of_its_figures() {
        let overload = BuiltIn::named("overload").unwrap().experiment();
        for number in 3..=12 {
            let named = format!("After figure {number} of Guitart et al. 2007");
            let found = overload.figures.iter().find(|figure| {
                let rest = figure.note.strip_prefix(&named);
                rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
            });
            let figure = found.unwrap_or_else(|| panic!("no figure {number}"));
            let id = figure.id.strip_prefix(&format!("figure-{number}"));
            assert!(
                id.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')),
                "{}",
                figure.id
            );
        }
    }
}
