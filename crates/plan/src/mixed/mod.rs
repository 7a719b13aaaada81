//! What operations cost, from runs in which they come together: least squares without negative
//! costs, and the operations that such runs cannot tell apart.
//!
//! Use of a resource = idle use + Σ operations per second · cost of one (the utilisation law).
//! Intervals are those of weighted least squares with the covariance of the unknowns and Student's
//! t. They are cut at 0, and hold for noise that is the same in all runs but for their weights.
//!
//! Source: Zhang, Cherkasova and Smirni 2007, "A Regression-Based Analytic Model for Dynamic
//! Resource Provisioning of Multi-Tier Applications"; variance inflation: Belsley, Kuh and Welsch
//! 1980, "Regression Diagnostics".

mod apart;
mod fit;
pub mod table;

use serde::Serialize;

use crate::range::Range;

use apart::{Apart, Rates};
use fit::Fit;

/// Most operations of a fit.
pub const MOST: usize = 64;

/// Largest rate, use and weight: more is a mistake in writing.
const LARGEST: f64 = 1e12;

/// Variance inflation from which on operations count as not told apart. Ten times the standard
/// error that independent operations would have: noise of 2 % then makes a cost uncertain by a
/// fifth and more.
pub const INFLATION: f64 = 100.0;

/// A run of several operations.
#[derive(Clone, Debug, PartialEq)]
pub struct MixedRun {
    /// Operations per second, in the order of their names.
    pub per_s: Vec<f64>,
    /// What they and the idle site use of the resource per second, such as CPU seconds.
    pub used: f64,
    /// How much the run counts, above 0: its duration.
    pub weight: f64,
}

/// What operations cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mixed {
    /// The operations, in the order of their names.
    pub operations: Vec<MixedCost>,
    /// The operations that the runs do not tell apart.
    pub groups: Vec<Together>,
    /// What is used without any of them, with its 95 % interval, at least 0.
    pub idle: Range,
    /// Runs.
    pub runs: usize,
    /// How far runs are from the sum of their costs: the root of the mean square, as a share of the
    /// mean use.
    pub off: f64,
}

/// What an operation costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixedCost {
    /// Its name.
    pub operation: String,
    /// What one uses, with its 95 % interval, at least 0. A value of 0 is at its bound: only the
    /// upper end says something. None of operations that never come, and of those in a group.
    pub cost: Option<Range>,
    /// Variance inflation: by how much the other operations raise the variance of the cost.
    pub inflation: Option<f64>,
    /// Index of its group.
    pub group: Option<usize>,
}

/// Operations that come together in all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Together {
    /// The operations, with how many of each come with one of the first.
    pub members: Vec<Member>,
    /// What all these together use, with its 95 % interval; none where they cannot be told from
    /// the idle use either.
    pub cost: Option<Range>,
}

/// An operation of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Member {
    /// Its name.
    pub operation: String,
    /// How many come with one of the first.
    pub count: f64,
}

/// What operations cost by runs in which they come together.
///
/// # Errors
/// What the runs lack, and how to mend it.
pub fn costs(operations: &[String], runs: &[MixedRun]) -> Result<Mixed, String> {
    if operations.is_empty() || operations.len() > MOST {
        return Err(format!(
            "has {} operations; give 1 to {MOST}, the seldom ones as one",
            operations.len()
        ));
    }
    let sound = |it: &f64| (0.0..=LARGEST).contains(it);
    let good = |run: &MixedRun| {
        run.per_s.len() == operations.len()
            && run.per_s.iter().chain([&run.used]).all(sound)
            && (1.0 / LARGEST..=LARGEST).contains(&run.weight)
    };
    if let Some(at) = runs.iter().position(|run| !good(run)) {
        return Err(format!("run {} has a rate, use or weight that cannot be", at + 1));
    }
    let rates = Rates::of(operations.len(), runs);
    let apart = Apart::of(&rates);
    let unknowns = apart.kept.len() + 1;
    if runs.len() <= unknowns {
        return Err(format!(
            "has {} runs, too few for {} operations and the idle use; add {} at other mixes and loads",
            runs.len(),
            operations.len(),
            (operations.len() + 2).saturating_sub(runs.len()).max(1)
        ));
    }
    Ok(Fit::of(&apart, runs).told(operations, &rates, &apart, runs))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn names(n: usize) -> Vec<String> {
        ["Home", "Product", "Search", "Basket", "Pay"][..n].iter().map(|it| (*it).into()).collect()
    }

    fn run(per_s: &[f64], used: f64) -> MixedRun {
        MixedRun { per_s: per_s.to_vec(), used, weight: 60.0 }
    }

    #[test]
    fn three_exact_runs_more_than_unknowns_give_the_costs() {
        // 0.1 idle, 10 ms and 40 ms.
        let use_of = |a: f64, b: f64| 0.1 + 0.01 * a + 0.04 * b;
        let at = [(10.0, 1.0), (5.0, 5.0), (20.0, 3.0), (1.0, 9.0)];
        let runs: Vec<_> = at.iter().map(|&(a, b)| run(&[a, b], use_of(a, b))).collect();
        let found = costs(&names(2), &runs).unwrap();
        let cost = |at: usize| found.operations[at].cost.unwrap();
        assert!((cost(0).value - 0.01).abs() < 1e-9 && (cost(1).value - 0.04).abs() < 1e-9);
        assert!((found.idle.value - 0.1).abs() < 1e-9 && found.off < 1e-9);
        assert!(cost(0).high - cost(0).low < 1e-6 && found.groups.is_empty(), "{found:?}");
    }

    #[test]
    fn an_interval_is_that_of_a_line_worked_out_by_hand() {
        // As of one operation alone: slope 0.1, error 0.00866, t of one degree 12.706.
        let runs = [run(&[1.0], 0.115), run(&[2.0], 0.2), run(&[3.0], 0.315)];
        let cost = costs(&names(1), &runs).unwrap().operations[0].cost.unwrap();
        assert!((cost.value - 0.1).abs() < 1e-9, "{cost:?}");
        assert!((cost.high - 0.1 - 12.706 * 0.00866).abs() < 1e-3 && cost.low == 0.0, "{cost:?}");
    }

    #[test]
    fn operations_that_always_come_together_have_a_sum() {
        // A Product and two Searches with each Home: 10 + 30 + 2 · 5 ms; Basket on its own.
        let runs: Vec<_> = [(10.0, 4.0), (20.0, 1.0), (30.0, 7.0), (5.0, 3.0), (12.0, 6.0)]
            .iter()
            .map(|&(a, b)| run(&[a, a, 2.0 * a, b], 0.05 * a + 0.02 * b))
            .collect();
        let found = costs(&names(4), &runs).unwrap();
        assert_eq!(found.groups.len(), 1);
        let group = &found.groups[0];
        let counts: Vec<_> =
            group.members.iter().map(|it| (it.operation.as_str(), it.count)).collect();
        assert_eq!(counts, [("Home", 1.0), ("Product", 1.0), ("Search", 2.0)]);
        assert!((group.cost.unwrap().value - 0.05).abs() < 1e-9, "{group:?}");
        assert_eq!((found.operations[1].cost, found.operations[1].group), (None, Some(0)));
        let basket = found.operations[3].cost.unwrap();
        assert!((basket.value - 0.02).abs() < 1e-9, "{basket:?}");
    }

    #[test]
    fn an_operation_that_comes_with_each_of_two_others_makes_a_group_of_three() {
        let at = [(10.0, 4.0), (2.0, 11.0), (7.0, 7.0), (5.0, 1.0), (12.0, 6.0)];
        let runs: Vec<_> = at
            .iter()
            .map(|&(a, b)| run(&[a, b, a + b], 0.01 * a + 0.02 * b + 0.03 * (a + b)))
            .collect();
        let found = costs(&names(3), &runs).unwrap();
        assert_eq!((found.groups.len(), found.groups[0].members.len()), (1, 3));
        // 7.2 and 5.8 on average: 0.01 + 0.02 · 5.8 ∕ 7.2 + 0.03 · 13 ∕ 7.2.
        let expected = 0.01 + (0.02 * 5.8 + 0.03 * 13.0) / 7.2;
        let cost = found.groups[0].cost.unwrap().value;
        assert!((cost - expected).abs() < 1e-9, "{cost} {expected}");
    }

    #[test]
    fn two_pairs_are_two_groups() {
        let at = [(10.0, 4.0), (2.0, 11.0), (7.0, 7.0), (5.0, 1.0), (12.0, 6.0)];
        let runs: Vec<_> = at.iter().map(|&(a, b)| run(&[a, b, 2.0 * a, 3.0 * b], a + b)).collect();
        let found = costs(&names(4), &runs).unwrap();
        let groups: Vec<_> = found.operations.iter().map(|it| it.group).collect();
        assert_eq!(groups, [Some(0), Some(1), Some(0), Some(1)]);
    }

    #[test]
    fn rates_that_are_the_same_or_add_up_to_the_same_are_not_told_from_the_idle_use() {
        let at = [1.0, 4.0, 7.0, 9.0, 2.0];
        let runs: Vec<_> = at
            .iter()
            .map(|&a| run(&[a, 10.0 - a, 3.0], 0.3 + 0.01 * a + 0.02 * (10.0 - a)))
            .collect();
        let found = costs(&names(3), &runs).unwrap();
        assert_eq!(found.groups.len(), 2);
        assert!(found.groups.iter().all(|group| group.cost.is_none()), "{found:?}");
        // The dearer one comes less while the other comes more: the use falls, and is fitted.
        assert!(found.off < 1e-9, "{found:?}");
        assert!((found.idle.value - 0.5).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_cost_is_never_negative_and_one_at_its_bound_has_an_upper_end() {
        // The third costs nothing; noise makes it negative.
        let at = [(10.0, 4.0), (2.0, 11.0), (7.0, 7.0), (5.0, 1.0), (12.0, 6.0), (3.0, 3.0)];
        let noise = [0.004, -0.003, 0.002, 0.001, -0.004, 0.002];
        let runs: Vec<_> = at
            .iter()
            .zip(noise)
            .map(|(&(a, b), noise)| run(&[a, b], 0.02 * a - 0.0002 * b + noise))
            .collect();
        let found = costs(&names(2), &runs).unwrap();
        let cost = found.operations[1].cost.unwrap();
        assert!(cost.value == 0.0 && cost.low == 0.0 && cost.high > 0.0, "{cost:?}");
    }

    #[test]
    fn one_that_never_comes_has_no_cost() {
        let runs: Vec<_> = (1..5).map(|it| run(&[f64::from(it), 0.0], f64::from(it))).collect();
        let found = costs(&names(2), &runs).unwrap();
        assert_eq!((found.operations[1].cost, found.operations[1].group), (None, None));
        assert!((found.operations[0].cost.unwrap().value - 1.0).abs() < 1e-9);
    }

    #[test]
    fn intervals_cover_the_truth_as_often_as_they_say() {
        let truth = [0.010, 0.030, 0.0, 0.100];
        let mut rng = rand::rngs::StdRng::seed_from_u64(5);
        let (mut covered, mut all) = (0, 0);
        for _ in 0..400 {
            let mut runs = Vec::new();
            for _ in 0..15 {
                let per_s: Vec<f64> = (0..4).map(|_| 20.0 * rng.random::<f64>()).collect();
                // The sum of twelve uniform numbers is nearly normal.
                let noise = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
                let used = 0.2 + per_s.iter().zip(truth).map(|(x, c)| x * c).sum::<f64>();
                runs.push(run(&per_s, (used + 0.05 * noise).max(0.0)));
            }
            let found = costs(&names(4), &runs).unwrap();
            for (cost, truth) in found.operations.iter().zip(truth) {
                let cost = cost.cost.unwrap();
                covered += usize::from(cost.low <= truth && truth <= cost.high);
                all += 1;
            }
        }
        let share = f64::from(covered as u32) / f64::from(all);
        assert!((0.93..0.99).contains(&share), "{share}");
    }

    #[test]
    fn what_runs_lack_is_named_with_a_remedy() {
        let two = [run(&[1.0], 1.0), run(&[2.0], 2.0)];
        let error = costs(&names(1), &two).unwrap_err();
        assert!(
            error.contains("2 runs, too few for 1 operations") && error.contains("add 1"),
            "{error}"
        );
        assert!(costs(&[], &two).is_err() && costs(&vec![String::new(); 65], &two).is_err());
        let error = costs(&names(1), &[run(&[f64::NAN], 1.0)]).unwrap_err();
        assert!(error.contains("run 1"), "{error}");
    }
}
