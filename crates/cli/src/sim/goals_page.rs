//! The first part of the page: a row per policy, the goals, and the scenarios that miss
//! them.

use maud::{Markup, html};
use tidegate_sim::goals::Goal;

use super::overview::{Of, Overview, Reached};
use super::summary::Summary;

/// All policies in one table, and their goals.
pub fn overview(summary: &Summary) -> Markup {
    let overviews = summary.overviews();
    html! {
        h2 { "All scenarios in one table" }
        p.soft { "At twice the capacity and more, without attacks; refused at 0.9 of the capacity." }
        (policies(overviews))
        @if let Some(overview) = summary.goal_policy() {
            h2 { "Goals of " (overview.policy) }
            (goals(overview))
            @if summary.scenarios.len() > 1 { (by_scenario(summary, overview)) }
            (misses(overview))
        }
        @if overviews.len() > 1 {
            h2 { "Goals of all, met in % of the runs" }
            (goals_of_all(overviews))
        }
    }
}

fn policies(overviews: &[Overview]) -> Markup {
    let percent =
        |value: Option<f64>| value.map_or("–".into(), |v| format!("{:.1} %", 100.0 * v));
    html! { div.scroll { table {
        tr {
            th { "policy" } th { "goodput, mean" } th { "worst" } th.text { "in" }
            th { "p95 against a load of 0.8, median" } th { "lost, mean" } th { "wasted, mean" }
            th { "refused at 0.9" }
        }
        @for overview in overviews {
            @let of = overview.overload.as_ref();
            tr {
                td class=(overview.policy) { (overview.policy) }
                td { (percent(of.map(|o| o.goodput_mean))) }
                td { (percent(of.map(|o| o.goodput_worst))) }
                td.text { @if let Some(of) = of { (link(&of.worst_in.name)) } }
                td { (of.and_then(|o| o.p95_ratio_median).map_or("–".into(), |r| format!("{r:.2}×"))) }
                td { (percent(of.map(|o| o.lost_mean))) }
                td { (percent(of.map(|o| o.wasted_mean))) }
                td { (percent(overview.refused_below)) }
            }
        }
    } } }
}

fn goals(overview: &Overview) -> Markup {
    html! { div.scroll { table.goals-of {
        tr { th { "goal" } th { "met in" } th.bars { "" } th { "worst" } th.text { "in" } }
        @for reached in &overview.goals {
            @let (met, all) = (reached.met(), reached.runs.len());
            tr {
                td { (reached.goal.text()) }
                td { (met) " of " (all) }
                td.bars { (bar(met, all)) }
                td.missed[!reached.worst().verdict.met] { (reached.worst().figure()) }
                td.text { (place(reached.worst())) }
            }
        }
    } } }
}

/// How much of a goal is met, as a bar.
fn bar(met: usize, all: usize) -> Markup {
    let share = 100.0 * met as f64 / all.max(1) as f64;
    html! { span.bar { span style={ "width:" (format!("{share:.1}")) "%" } {} } }
}

/// Goal by scenario: met at every load, missed at some, or not assessed.
fn by_scenario(summary: &Summary, overview: &Overview) -> Markup {
    html! { details open[summary.scenarios.len() <= 80] {
        summary { "Scenario by scenario" }
        div.scroll { table.matrix {
            tr { th { "scenario" } @for r in &overview.goals { th { (r.goal.name()) } } }
            @for scenario in summary.scenarios {
                tr {
                    td { (link(&scenario.name)) }
                    @for reached in &overview.goals { (cell(reached, &scenario.name)) }
                }
            }
        } }
        p.soft { "✓ met at every load to which the goal applies; a figure: the worst miss; empty: the goal does not apply." }
    } }
}

fn cell(reached: &Reached, scenario: &str) -> Markup {
    let mut of = reached.runs.iter().filter(|of| of.scenario.name == scenario).peekable();
    match of.peek() {
        None => html! { td {} },
        Some(_) => match of.find(|of| !of.verdict.met) {
            None => html! { td.met { "✓" } },
            // The worst comes first.
            Some(miss) => html! { td.missed title=(miss.place()) { (miss.figure()) } },
        },
    }
}

fn misses(overview: &Overview) -> Markup {
    let missed: Vec<(&Goal, Vec<&Of>)> = overview
        .goals
        .iter()
        .map(|reached| (&reached.goal, reached.misses().collect::<Vec<_>>()))
        .filter(|(_, misses)| !misses.is_empty())
        .collect();
    html! { @if !missed.is_empty() { details {
        summary { "Every miss" }
        @for (goal, misses) in missed {
            h3 { (goal.text()) }
            ul.goals { @for miss in misses {
                li { span.mark-missed { (miss.figure()) } span { (place(miss)) } }
            } }
        }
    } } }
}

fn goals_of_all(overviews: &[Overview]) -> Markup {
    let share = |r: &Reached| format!("{:.0}", 100.0 * r.met() as f64 / r.runs.len() as f64);
    html! { div.scroll { table {
        tr { th { "policy" } @for goal in Goal::ALL { th title=(goal.text()) { (goal.name()) } } }
        @for overview in overviews { tr {
            td class=(overview.policy) { (overview.policy) }
            @for goal in Goal::ALL {
                td { (overview.goals.iter().find(|r| r.goal == goal).map_or("–".into(), share)) }
            }
        } }
    } } }
}

fn place(of: &Of) -> Markup {
    let rival = of.verdict.rival.as_deref();
    html! {
        (link(&of.scenario.name)) " at " (of.load) "×"
        @if let Some(rival) = rival { ", " (rival) }
    }
}

fn link(scenario: &str) -> Markup {
    html! { a href={ "#" (scenario) } { (scenario) } }
}
