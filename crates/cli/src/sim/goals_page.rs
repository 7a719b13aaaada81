//! The first part of the page: a row per policy, the goals, and the scenarios that miss
//! them.

use maud::{Markup, html};
use tidegate_report::{Cell, Table};
use tidegate_sim::goals::Goal;

use super::overview::{Of, Overview, Reached};
use super::summary::Summary;
use super::table::{goals, goals_of_all, link, place, policies};

/// All policies in one table, and their goals.
pub fn overview(summary: &Summary) -> Markup {
    let overviews = summary.overviews();
    html! {
        h2 { "All scenarios in one table" }
        p.soft { "At twice the capacity and more, without attacks; refused at 0.9 of the capacity." }
        (policies(overviews).html())
        @if let Some(overview) = summary.goal_policy() {
            h2 { "Goals of " (overview.policy) }
            (goals(overview).html())
            @if summary.scenarios.len() > 1 { (by_scenario(summary, overview)) }
            (misses(overview))
        }
        @if overviews.len() > 1 {
            h2 { "Goals of all, met in % of the runs" }
            (goals_of_all(overviews).html())
        }
    }
}

/// Goal by scenario: met at every load, missed at some, or not assessed.
fn by_scenario(summary: &Summary, overview: &Overview) -> Markup {
    let goals = overview.goals.iter().map(|reached| reached.goal.name());
    let mut table = Table::new(["scenario"].into_iter().chain(goals)).class("matrix");
    for scenario in summary.scenarios {
        let cells = overview.goals.iter().map(|reached| cell(reached, &scenario.name));
        let scenario = Cell::default().markup(link(&scenario.name));
        table.row([scenario].into_iter().chain(cells));
    }
    html! { details open[summary.scenarios.len() <= 80] {
        summary { "Scenario by scenario" }
        (table.html())
        p.soft { "✓ met at every load to which the goal applies; a figure: the worst miss; empty: the goal does not apply." }
    } }
}

fn cell(reached: &Reached, scenario: &str) -> Cell {
    let mut of = reached.runs.iter().filter(|of| of.scenario.name == scenario).peekable();
    match of.peek() {
        None => Cell::default(),
        Some(_) => match of.find(|of| !of.assessment.met()) {
            None => Cell::from("✓").class("met"),
            // The worst comes first.
            Some(miss) => Cell::from(miss.figure()).class("missed").title(miss.place()),
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
