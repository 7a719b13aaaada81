//! What a kind of connection adds to a transaction, against the transaction's work, and the work
//! from which it adds less than a given share.
//!
//! The added CPU time is a difference of two runs of the same round. Handshakes cost the same
//! whatever the transaction does, so the crossing is that of `added / work = share` with one added
//! time for all transactions of a round: their mean, weighted by the inverse variance of runs whose
//! relative error is the same, `1 / cpu²`.

use std::collections::BTreeMap;

use serde_json::json;
use tidegate_stats::mean;

use super::pairs::{Pair, pairs};
use super::rows::{columns, put, put_differences};
use super::{Run, load_factor};
use crate::experiment::{Experiment, Levels};
use crate::summary::Row;

/// The table `overhead`: what each kind of connection adds to each transaction.
pub(super) fn overhead(experiment: &Experiment, runs: &[Run]) -> Vec<Row> {
    let Some(rule) = &experiment.overhead else { return Vec::new() };
    let mut groups: Vec<(&Levels, Vec<Pair<'_>>)> = Vec::new();
    for pair in pairs(rule, runs) {
        match groups.iter_mut().find(|(levels, _)| **levels == pair.run.levels) {
            Some((_, group)) => group.push(pair),
            None => groups.push((&pair.run.levels, vec![pair])),
        }
    }
    let place = |levels: &Levels| -> Vec<usize> {
        experiment.factors.iter().map(|factor| factor.place(levels, "")).collect()
    };
    groups.sort_by_key(|(levels, _)| place(levels));
    let row = |(levels, pairs): (&Levels, Vec<Pair<'_>>)| {
        let mut row = columns(experiment, levels);
        let of =
            |value: &dyn Fn(&Pair<'_>) -> Option<f64>| pairs.iter().filter_map(value).collect();
        let work: Vec<f64> = of(&|pair| Some(pair.cpu()?.0));
        put(&mut row, "work_ms", mean(work));
        put_differences(
            &mut row,
            "added_cpu_ms",
            &of(&|it| it.cpu().map(|(clear, all)| all - clear)),
        );
        put_differences(
            &mut row,
            "added_cpu_share",
            &of(&|it| it.cpu().map(|(c, all)| all / c - 1.0)),
        );
        put_differences(
            &mut row,
            "clear_response_ms",
            &of(&|it| it.response().map(|(clear, _)| clear)),
        );
        put_differences(&mut row, "response_mean_ms", &of(&|it| it.response().map(|(_, all)| all)));
        put_differences(&mut row, "added_response_ms", &of(&|it| it.added("response_mean_ms")));
        let share = |it: &Pair<'_>| it.response().map(|(clear, all)| 1.0 - clear / all);
        put_differences(&mut row, "added_response_share", &of(&share));
        // The customer's own handshake is a part of what is added: the other phases wait for the
        // handshakes of other customers.
        let phase = |it: &Pair<'_>| it.run.figure("handshake_time_share");
        put_differences(&mut row, "handshake_time_share", &of(&phase));
        row
    };
    groups.into_iter().map(row).collect()
}

/// Levels of a kind of connection, and by round the CPU times of its pairs.
type Kind = (Levels, BTreeMap<u32, Vec<(f64, f64)>>);

/// The table `crossing`: for each kind of connection the work from which it adds at most the share.
pub(super) fn crossing(experiment: &Experiment, runs: &[Run]) -> Vec<Row> {
    let Some(rule) = &experiment.overhead else { return Vec::new() };
    let load = load_factor(experiment);
    // By the kind's place, then by the load and the round.
    let mut kinds: BTreeMap<(usize, String), Kind> = BTreeMap::new();
    let factor = experiment.factors.iter().find(|factor| factor.name == rule.factor);
    for pair in pairs(rule, runs).into_iter().filter(|it| rule.fitted.contains(&it.run.levels)) {
        let (Some(cpu), Some(factor)) = (pair.cpu(), factor) else { continue };
        let levels = &pair.run.levels;
        let of_load = load.and_then(|load| levels.get(load)).cloned().unwrap_or_default();
        let named =
            levels.iter().filter(|(name, _)| **name == rule.factor || Some(name.as_str()) == load);
        let named = named.map(|(a, b)| (a.clone(), b.clone())).collect();
        let kind = kinds.entry((factor.place(levels, ""), of_load));
        let (_, rounds) = kind.or_insert_with(|| (named, BTreeMap::new()));
        rounds.entry(pair.run.round).or_default().push(cpu);
    }
    let row = |(levels, rounds): Kind| {
        // One transaction has no crossing with others.
        if rounds.values().all(|cpus| cpus.len() < 2) {
            return None;
        }
        let added: Vec<f64> = rounds.values().filter_map(|cpus| added(cpus)).collect();
        let mut row = columns(experiment, &levels);
        put_differences(&mut row, "added_cpu_ms", &added);
        let crossings: Vec<f64> = added.iter().map(|ms| ms / rule.share).collect();
        put_differences(&mut row, "crossing_ms", &crossings);
        row.insert("share".into(), json!(rule.share));
        Some(row)
    };
    kinds.into_values().filter_map(row).collect()
}

/// The added CPU time of one round, from CPU times in the clear and as they are.
fn added(cpus: &[(f64, f64)]) -> Option<f64> {
    let weight = |all: f64| 1.0 / (all * all);
    let weights: f64 = cpus.iter().map(|(_, all)| weight(*all)).sum();
    let sum: f64 = cpus.iter().map(|(clear, all)| weight(*all) * (all - clear)).sum();
    (weights > 0.0).then(|| sum / weights)
}

#[cfg(test)]
mod tests {
    use super::super::pairs::points;
    use super::*;
    use crate::analysis::runs;
    use crate::experiment::OverheadRule;
    use crate::experiment::Selection;
    use crate::record::tests::record;

    fn rule() -> OverheadRule {
        OverheadRule {
            factor: "connection".into(),
            clear: "clear".into(),
            share: 0.1,
            runs: Selection::default(),
            fitted: Selection::default(),
        }
    }

    #[test]
    fn a_run_is_paired_with_that_in_the_clear_of_its_round_and_transaction() {
        let run = |name: &str, round, connection: &str, page: &str, cpu_ms| {
            let levels = [("connection", connection), ("transaction", page)];
            record(name, round, &levels, &[("cpu_ms_per_request", cpu_ms)])
        };
        let runs = runs(&[
            run("a", 0, "clear", "small", 0.1),
            run("b", 0, "tls", "small", 1.1),
            run("c", 0, "clear", "large", 10.0),
            run("d", 0, "tls", "large", 11.0),
            run("e", 1, "tls", "small", 9.0),
        ]);
        let pairs = pairs(&rule(), &runs);
        let cpus: Vec<_> = pairs.iter().filter_map(Pair::cpu).collect();
        assert_eq!(cpus, [(0.1, 1.1), (10.0, 11.0)], "round 1 has none in the clear");
        // A millisecond is ten times the work of the small page, and a tenth of that of the large.
        let points = points(&pairs);
        let near = |at: usize, (work_ms, share): (f64, f64)| {
            (points[at].work_ms - work_ms).abs() + (points[at].share - share).abs() < 1e-9
        };
        assert!(near(0, (0.1, 10.0)) && near(1, (10.0, 0.1)), "{points:?}");
        assert!(points.iter().all(|point| point.ends.is_none()), "one round has no interval");
        assert!((added(&cpus).unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_share_of_the_response_time_is_that_of_pages_with_and_without() {
        // 10 ms in the clear and 50 ms with TLS, of which the handshake phase is 10 ms: the phase
        // alone would say 20 %, and 80 % is what TLS adds.
        let run = |name: &str, connection: &str, figures: &[(&str, f64)]| {
            record(name, 0, &[("connection", connection), ("transaction", "1")], figures)
        };
        let records = [
            run("a", "clear", &[("response_mean_ms", 10.0)]),
            run("b", "tls", &[("response_mean_ms", 50.0), ("handshake_time_share", 0.2)]),
        ];
        let text = "name = \"x\"\nabout = \"x\"\n[[factors]]\nname = \"connection\"\n\
                    levels = [{ name = \"clear\", tls = \"1.3\" }, { name = \"tls\", tls = \"1.2\" }]\n\
                    [[factors]]\nname = \"transaction\"\nlevels = [{ name = \"1\", time_scale = 1 }]\n\
                    [overhead]\nfactor = \"connection\"\nclear = \"clear\"\n";
        let experiment = Experiment::from_toml(text, "x").unwrap();
        let rows = overhead(&experiment, &runs(&records));
        let [row] = &rows[..] else { panic!("{rows:?}") };
        let is = |name: &str, expected: f64| (row[name].as_f64().unwrap() - expected).abs() < 1e-9;
        assert!(is("added_response_ms", 40.0) && is("added_response_share", 0.8), "{row:?}");
        assert!(is("handshake_time_share", 0.2) && is("clear_response_ms", 10.0), "{row:?}");
    }

    #[test]
    fn the_added_time_is_weighted_by_the_inverse_square_of_the_cpu_time() {
        // (1·1 + 1/4·3) / (1 + 1/4) = 1.4
        let cpus = [(0.0, 1.0), (-1.0, 2.0)];
        assert!((added(&cpus).unwrap() - 1.4).abs() < 1e-9);
        assert_eq!(added(&[]), None);
    }
}
