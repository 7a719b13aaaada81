//! What each operation costs of each resource, from the runs of all of them. Pure.
//!
//! The curve of an operation says up to where its costs are constant. The runs of these parts are
//! solved together, so that the pages on the way to an operation are paid by themselves.

use serde::Serialize;
use tidegate_plan::mixed::{self, Mixed, MixedRun};
use tidegate_plan::rising::{Linear, linear_part};
use tidegate_plan::{Range, rising};

use super::resources::{Resource, Unit};
use super::runs::Run;

/// Runs at the lightest loads that count for an operation whose curve has no linear part.
const LIGHTEST: usize = 2;
/// Least part of the largest use, so that no run counts without bound.
const LEAST: f64 = 0.02;

/// Name of the operation that a new connection is, with its handshake.
pub const CONNECTION: &str = "connection";

/// What an operation costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The operation.
    pub operation: String,
    /// Runs of it alone that say something.
    pub runs: usize,
    /// The linear part of its curve of processor time over operations per second, of all of the
    /// site's processes and with the pages on its way; `None` where there is none.
    pub curve: Option<Linear>,
    /// The throughput that it did not exceed though no measured resource was used up.
    pub ceiling_per_s: Option<f64>,
    /// What one uses of each resource, in their order, with its 95 % interval. `None` of an
    /// operation that never came, and of one that is not told from others.
    pub used: Vec<Option<Range>>,
    /// The costs are shares of what operations cost that always came together: index of the group.
    pub group: Option<usize>,
}

impl Cost {
    /// Whether it never came: no session visits it.
    pub(super) fn is_unseen(&self) -> bool {
        self.runs == 0 && self.group.is_none() && self.used.iter().all(Option::is_none)
    }
}

/// Operations that the runs do not tell apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Together {
    /// Their names.
    pub operations: Vec<String>,
    /// They are not told from what the idle site does either: their cost is not known.
    pub with_idle: bool,
}

/// The costs of all operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// In the order of the operations; the last may be [`CONNECTION`].
    pub operations: Vec<Cost>,
    /// What is used of each resource per second whatever the number of customers.
    pub idle: Vec<Range>,
    /// What was used of each per second while nobody came.
    pub nobody: Vec<f64>,
    /// Those that are not told apart.
    pub groups: Vec<Together>,
    /// How far runs are from the sum of their costs, as a share of the mean use of processors.
    pub off: f64,
    /// Runs that were used.
    pub runs: usize,
}

/// Computes the costs. `site` are the resources that are processor time of the site, `idle` what
/// they used while nobody came.
///
/// # Errors
/// The runs do not suffice: what is missing.
pub fn costs(
    operations: &[String],
    resources: &[Resource],
    runs: &[Run],
    idle: &[f64],
    ceilings: &[Option<f64>],
) -> Result<Costs, String> {
    let sound: Vec<&Run> = runs.iter().filter(|run| !run.search && run.is_sound()).collect();
    // Without runs of connections alone they are a part of the pages.
    let connections = sound.iter().any(|run| run.operation == Some(operations.len()));
    let mut names = operations.to_vec();
    names.extend(connections.then(|| CONNECTION.to_owned()));
    let curves: Vec<Option<Linear>> =
        (0..names.len()).map(|at| curve(at, &sound, resources)).collect();
    let used: Vec<&Run> =
        (0..names.len()).flat_map(|at| linear_runs(at, &sound, curves[at].as_ref())).collect();
    if used.is_empty() {
        return Err("none of the runs says what an operation costs".to_owned());
    }
    let counts = |run: &Run| {
        let own = run.counts_per_s.iter().copied();
        own.chain(connections.then_some(run.connections_per_s)).collect::<Vec<f64>>()
    };
    let fit = |at: usize| {
        let most = used.iter().map(|run| run.used_per_s[at]).fold(0.0, f64::max);
        // Errors are in proportion to what is measured, so that a cheap operation counts as a dear
        // one does.
        let weight = |used: f64, seconds: f64| match most > 0.0 {
            true => seconds / (used / most).max(LEAST).powi(2),
            false => seconds,
        };
        let mut rows: Vec<MixedRun> = used
            .iter()
            .map(|run| MixedRun {
                per_s: counts(run),
                used: run.used_per_s[at],
                weight: weight(run.used_per_s[at], run.seconds),
            })
            .collect();
        if let Some(nobody) = idle.get(at) {
            let seconds = rows.iter().map(|row| row.weight).sum::<f64>() / rows.len().max(1) as f64;
            rows.push(MixedRun { per_s: vec![0.0; names.len()], used: *nobody, weight: seconds });
        }
        mixed::costs(&names, &rows)
    };
    let fits: Vec<Mixed> = (0..resources.len()).map(fit).collect::<Result<_, _>>()?;
    let first = fits.first().ok_or("no resource was measured")?;
    let groups = first.groups.iter().map(|group| Together {
        operations: group.members.iter().map(|it| it.operation.clone()).collect(),
        with_idle: group.cost.is_none(),
    });
    let own_runs = |at: usize| sound.iter().filter(|run| run.operation == Some(at)).count();
    let cost = |at: usize| Cost {
        operation: names[at].clone(),
        runs: own_runs(at),
        curve: curves.get(at).copied().flatten(),
        ceiling_per_s: ceilings.get(at).copied().flatten(),
        used: fits.iter().map(|fit| of_one(fit, at)).collect(),
        group: first.operations[at].group,
    };
    let cpu = resources.iter().position(|it| it.unit == Unit::CpuSeconds && !it.driver);
    Ok(Costs {
        operations: (0..names.len()).map(cost).collect(),
        idle: fits.iter().map(|fit| fit.idle).collect(),
        nobody: idle.to_vec(),
        groups: groups.collect(),
        off: cpu.map_or(first.off, |at| fits[at].off),
        runs: used.len(),
    })
}

/// What one operation costs: of a group, an equal share for each of its members.
fn of_one(fit: &Mixed, at: usize) -> Option<Range> {
    let it = &fit.operations[at];
    let shared = |group: usize| {
        let group = &fit.groups[group];
        let count: f64 = group.members.iter().map(|it| it.count).sum();
        let of = group.cost.filter(|_| count > 0.0)?;
        Some(Range { value: of.value / count, low: of.low / count, high: of.high / count })
    };
    it.cost.or_else(|| it.group.and_then(shared))
}

/// Processor time of all of the site's processes, per second.
pub fn site_cpus(run: &Run, resources: &[Resource]) -> f64 {
    let own = run.used_per_s.iter().zip(resources);
    own.filter(|(_, it)| it.unit == Unit::CpuSeconds && !it.driver).map(|(used, _)| used).sum()
}

/// The linear part of an operation's curve.
fn curve(operation: usize, runs: &[&Run], resources: &[Resource]) -> Option<Linear> {
    let own = runs.iter().filter(|run| run.operation == Some(operation));
    let of =
        |run: &&Run| rising::Run { per_s: run.count(operation), used: site_cpus(run, resources) };
    linear_part(&own.map(of).collect::<Vec<_>>())
}

/// The runs of an operation alone in the linear part of its curve.
fn linear_runs<'r>(operation: usize, runs: &[&'r Run], curve: Option<&Linear>) -> Vec<&'r Run> {
    let mut own: Vec<&Run> =
        runs.iter().filter(|run| run.operation == Some(operation)).copied().collect();
    own.sort_by(|a, b| a.count(operation).total_cmp(&b.count(operation)));
    match curve {
        Some(part) => {
            let within = part.from * 0.999..=part.up_to * 1.001;
            own.retain(|run| within.contains(&run.count(operation)));
        }
        None => own.truncate(LIGHTEST),
    }
    own
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::tca) fn resources() -> Vec<Resource> {
        let cpu = |name: &str, per_s, driver| Resource {
            name: name.into(),
            unit: Unit::CpuSeconds,
            per_s,
            driver,
        };
        vec![cpu("shop", Some(2.0), false), cpu("load generator", None, true)]
    }

    /// A run of an operation with what is on its way, at rates that use so much.
    pub(in crate::tca) fn run(
        operation: Option<usize>,
        counts: &[f64],
        connections: f64,
        used: [f64; 2],
    ) -> Run {
        Run {
            number: 1,
            operation,
            search: false,
            seconds: 4.0,
            asked_per_s: Some(connections),
            completed_per_s: connections,
            counts_per_s: counts.to_vec(),
            connections_per_s: connections,
            used_per_s: used.to_vec(),
            machine_busy: Some(used[0] + used[1] + 0.05),
            requests_ok: 100,
            requests_failed: 0,
            response_p95_ms: 10.0,
            driver_cpu_share: used[1],
            driver_saturated_because: Vec::new(),
            busy: used[0] / 2.0,
            waiting_threads: 0.0,
            follows: true,
            complete: true,
        }
    }

    /// Home costs 10 ms, Item 20 ms, Order 50 ms, a connection 2 ms; the idle site uses 0.05
    /// processors, and Item costs three times as much beyond 45 per second.
    pub(in crate::tca) fn shop() -> Vec<Run> {
        let used = |counts: &[f64], connections: f64| {
            let item = counts[1] + 2.0 * (counts[1] - 45.0).max(0.0);
            let sum = 0.01 * counts[0] + 0.02 * item + 0.05 * counts[2] + 0.002 * connections;
            [0.05 + sum, 0.001 * counts.iter().sum::<f64>()]
        };
        let mut runs = Vec::new();
        for load in [0.2, 0.4, 0.6, 0.8, 1.0] {
            for (operation, counts, connections) in [
                (0, [100.0 * load, 0.0, 0.0], 10.0 * load),
                (1, [7.0 * load, 70.0 * load, 0.0], 7.0 * load),
                (2, [20.0 * load, 20.0 * load, 20.0 * load], 20.0 * load),
                (3, [80.0 * load, 0.0, 0.0], 80.0 * load),
            ] {
                runs.push(run(Some(operation), &counts, connections, used(&counts, connections)));
            }
        }
        runs
    }

    pub(in crate::tca) fn names() -> Vec<String> {
        ["Home", "Item", "Order"].map(str::to_owned).to_vec()
    }

    pub(in crate::tca) fn shop_costs() -> Costs {
        costs(&names(), &resources(), &shop(), &[0.05, 0.0], &[None; 3]).unwrap()
    }

    #[test]
    fn the_way_to_a_page_is_paid_by_its_own_pages() {
        let found = shop_costs();
        for (at, truth) in [0.01, 0.02, 0.05, 0.002].into_iter().enumerate() {
            let cost = found.operations[at].used[0].unwrap();
            assert!(
                (cost.value / truth - 1.0).abs() < 0.02,
                "{}: {cost:?}",
                found.operations[at].operation
            );
        }
        assert_eq!(found.operations[3].operation, CONNECTION);
        assert!((found.idle[0].value - 0.05).abs() < 0.005, "{:?}", found.idle);
        assert!(found.groups.is_empty() && found.off < 0.02, "{found:?}");
    }

    #[test]
    fn runs_beyond_the_knee_do_not_count_and_the_knee_is_told() {
        let item = &shop_costs().operations[1];
        let curve = item.curve.unwrap();
        assert!(curve.ends && curve.up_to < 50.0, "{curve:?}");
        assert_eq!(item.runs, 5);
        // Three of its five.
        assert!((16..20).contains(&shop_costs().runs), "{}", shop_costs().runs);
    }

    #[test]
    fn connections_that_were_not_alone_are_part_of_the_pages() {
        let runs: Vec<Run> = [(0, 10.0), (0, 20.0), (0, 30.0), (1, 10.0), (1, 20.0), (1, 30.0)]
            .map(|(at, per_s)| {
                let counts = if at == 0 { [per_s, 0.0] } else { [per_s / 4.0, per_s] };
                let all = counts.iter().sum::<f64>();
                run(Some(at), &counts, all, [0.01 * counts[0] + 0.03 * counts[1], 0.001 * all])
            })
            .to_vec();
        let found = costs(&names()[..2], &resources(), &runs, &[0.0, 0.0], &[None; 2]).unwrap();
        assert_eq!(found.operations.len(), 2);
        assert!((found.operations[1].used[0].unwrap().value - 0.03).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn pages_that_always_come_together_are_told_as_a_group() {
        let runs: Vec<Run> = [10.0, 20.0, 30.0, 40.0]
            .map(|per_s| run(Some(0), &[per_s, per_s], per_s, [0.04 * per_s, 0.002 * per_s]))
            .to_vec();
        let found = costs(&names()[..2], &resources(), &runs, &[0.0, 0.0], &[None; 2]).unwrap();
        assert_eq!(found.groups[0].operations, ["Home", "Item"]);
        let shares: Vec<f64> =
            found.operations.iter().map(|it| it.used[0].unwrap().value).collect();
        assert!(shares.iter().all(|it| (it - 0.02).abs() < 1e-4), "{shares:?}");
        assert_eq!(found.operations[1].group, Some(0));
    }

    #[test]
    fn runs_that_are_not_complete_and_runs_of_errors_do_not_count_and_late_ones_do() {
        let mut runs = shop();
        runs[0].complete = false;
        runs[1].requests_failed = 50;
        runs[2].driver_saturated_because = vec!["late".into()];
        let found = costs(&names(), &resources(), &runs, &[0.05, 0.0], &[None; 3]).unwrap();
        let runs_of = |at: usize| found.operations[at].runs;
        assert_eq!((runs_of(0), runs_of(1), runs_of(2)), (4, 4, 5));
        runs.iter_mut().for_each(|run| run.requests_ok = 0);
        let error = costs(&names(), &resources(), &runs, &[0.05, 0.0], &[None; 3]).unwrap_err();
        assert!(error.contains("runs"), "{error}");
    }
}
