//! The first part of the page: a row per policy, the goals, and the scenarios that miss
//! them.

use maud::html;
use tidegate_report::{Cell, Page, Table};

use super::overview::{Overview, Reached};
use super::summary::Summary;
use super::table::{goals, goals_of_all, link, place, policies};

/// All policies in one table, and their goals.
pub fn overview(page: Page, summary: &Summary) -> Page {
    let overviews = summary.overviews();
    let mut page = page
        .heading("All scenarios in one table")
        .soft(html! { "At twice the capacity and more, without attacks; refused at 0.9 of the capacity." })
        .table(&policies(overviews));
    if let Some(overview) = summary.goal_policy() {
        page = page.heading(&format!("Goals of {}", overview.policy)).table(&goals(overview));
        if summary.scenarios.len() > 1 {
            page = page.raw(html! { details open[summary.scenarios.len() <= 80] {
                summary { "Scenario by scenario" }
                (by_scenario(summary, overview))
                p.soft { "✓ met at every load to which the goal applies; a figure: the worst miss; empty: the goal does not apply." }
            } });
        }
        let missed = overview.goals.iter().any(|reached| reached.misses().next().is_some());
        page = page.only_if(missed, |page| page.folded("Every miss", misses(overview)));
    }
    page.only_if(overviews.len() > 1, |page| {
        page.heading("Goals of all, met in % of the runs").table(&goals_of_all(overviews))
    })
}

/// Goal by scenario: met at every load, missed at some, or not assessed.
fn by_scenario(summary: &Summary, overview: &Overview) -> Table {
    let goals = overview.goals.iter().map(|reached| reached.goal.name());
    let mut table = Table::new(["scenario"].into_iter().chain(goals)).class("matrix");
    for scenario in summary.scenarios {
        let cells = overview.goals.iter().map(|reached| cell(reached, &scenario.name));
        let scenario = Cell::default().markup(link(&scenario.name));
        table.row([scenario].into_iter().chain(cells));
    }
    table
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

fn misses(overview: &Overview) -> Page {
    let missed = overview.goals.iter().filter(|reached| reached.misses().next().is_some());
    missed.fold(Page::default(), |page, reached| {
        page.subheading(reached.goal.text()).raw(html! { ul.goals { @for miss in reached.misses() {
            li { span.mark-missed { (miss.figure()) } span { (place(miss)) } }
        } } })
    })
}
