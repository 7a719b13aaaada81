//! `tide` without each of its parts, beside `tide`, in one table.

use tidegate_report::Table;
use tidegate_report::number::or_none;
use tidegate_sim::{Evaluated, Measure, VARIANTS};

use super::overview::{Overload, Overview};
use super::summary::Summary;

/// The policy that every variant is compared with.
const WHOLE: &str = "tide";

/// The policies of the table, `tide` first.
pub fn policies() -> Vec<&'static str> {
    std::iter::once(WHOLE).chain(VARIANTS.iter().map(|variant| variant.name)).collect()
}

/// A row for each policy: its figures over all scenarios without attacks at twice the
/// capacity and more, its p95 in that of `tide` over all runs, goals and expectations.
pub fn text(summary: &Summary) -> String {
    let heads = [
        "policy",
        "goodput\nmean, %",
        "worst\n%",
        "p95, in\ntide's",
        "lost\n%",
        "refused\nat 0.9, %",
        "goals\nmet",
        "missed\nranges",
        "lacks",
    ];
    let mut table = Table::new(heads).words(&[8]);
    for overview in summary.overviews() {
        table.row(row(summary, overview));
    }
    table.text()
}

fn row(summary: &Summary, overview: &Overview) -> [String; 9] {
    let share = |share: Option<f64>| or_none(share, |share| format!("{:.2}", 100.0 * share));
    let of_overload = |figure: fn(&Overload) -> f64| share(overview.overload.as_ref().map(figure));
    let p95 = p95_in_that_of_the_whole(summary, overview.policy);
    // Variants are no rivals of each other.
    let goals = || overview.goals.iter().filter(|reached| !reached.goal.compares());
    let met: usize = goals().map(|reached| reached.met()).sum();
    let assessed: usize = goals().map(|reached| reached.runs.len()).sum();
    let lacks = VARIANTS.iter().find(|variant| variant.name == overview.policy);
    [
        overview.policy.to_owned(),
        of_overload(|o| o.goodput_mean),
        of_overload(|o| o.goodput_worst),
        or_none(p95, |times| format!("{times:.3}")),
        of_overload(|o| o.lost_mean),
        share(overview.refused_below),
        format!("{met}/{assessed}"),
        missed(summary, overview.policy).to_string(),
        lacks.map_or("nothing", |variant| variant.lacks).to_owned(),
    ]
}

/// The geometric mean over all runs of p95 in that of `tide`.
fn p95_in_that_of_the_whole(summary: &Summary, policy: &str) -> Option<f64> {
    let mut logarithms = Vec::new();
    for (_, results) in summary.by_scenario() {
        let of = |policy: &str| results.iter().find(|result| result.policy == policy);
        let (whole, part) = (of(WHOLE)?, of(policy)?);
        for (whole, part) in whole.runs.iter().zip(&part.runs) {
            let p95 = |run: &Evaluated| run.value(Measure::P95);
            if let Some((whole, part)) = p95(whole).zip(p95(part)) {
                logarithms.push((part / whole).ln());
            }
        }
    }
    let sum: f64 = logarithms.iter().sum();
    (!logarithms.is_empty()).then(|| (sum / logarithms.len() as f64).exp())
}

/// How many of the ranges that hold for `tide` a policy misses.
fn missed(summary: &Summary, policy: &str) -> usize {
    let results = summary.results.iter().filter(|result| result.policy == policy);
    results
        .flat_map(|result| {
            let expectations = &summary.scenarios[result.scenario].expectations;
            result.runs.iter().map(|run| {
                let concerning = expectations.iter().filter(|e| e.concerns(WHOLE, run.load));
                concerning.filter(|e| !e.is_met_by(run.value(e.measure))).count()
            })
        })
        .sum()
}
