//! The results as tables, for the terminal and for the page.

use std::io::IsTerminal;

use maud::{Markup, html};
use tidegate_report::number::{or_none, percent};
use tidegate_report::{Cell, Column, Table};
use tidegate_sim::goals::Goal;
use tidegate_sim::{Measure, Scenario};

use super::overview::{Of, Overload, Overview, Reached};
use super::results::Result;
use super::summary::Summary;

/// Width where none is known, as in a file: every column fits.
const WIDE: usize = 180;

/// The width of the terminal on standard output.
pub fn width() -> usize {
    let of_terminal = || ratatui::crossterm::terminal::size().ok().map(|(width, _)| width.into());
    if std::io::stdout().is_terminal() { of_terminal().unwrap_or(WIDE) } else { WIDE }
}

/// Scenario by scenario, then all in one table, goals, and the expectations missed.
pub fn text(summary: &Summary, width: usize) -> String {
    let mut text = String::new();
    for (scenario, results) in summary.by_scenario() {
        let about = wrapped(&scenario.name, &scenario.about, width);
        text += &format!("{about}\n{}\n", runs(scenario, results).text_within(width));
    }
    let overviews = summary.overviews();
    let mut titled = |title: &str, table: Table| text += &format!("{title}\n{}\n", table.text());
    if summary.scenarios.len() > 1 || overviews.len() > 1 {
        let title = "All scenarios without attacks, at twice the capacity and more";
        titled(title, policies(overviews));
    }
    if overviews.len() > 1 {
        titled("Goals, met in % of the runs", goals_of_all(overviews));
    }
    if let Some(overview) = summary.goal_policy() {
        titled(&format!("Goals of {}", overview.policy), goals(overview));
    }
    text + &expectations(summary)
}

/// `name: about`, the rest of it on further lines.
fn wrapped(name: &str, about: &str, width: usize) -> String {
    let mut lines = vec![format!("{name}:")];
    for word in about.split_whitespace() {
        let last = lines.last_mut().expect("there is a first");
        if last.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("  {word}"));
        } else {
            *last += " ";
            *last += word;
        }
    }
    lines.join("\n")
}

/// The runs of a scenario, a row each. An expectation that was missed is marked.
pub fn runs(scenario: &Scenario, results: &[Result]) -> Table {
    let heads = COLUMNS.iter().map(|(head, rank, ..)| Column::new(*head).rank(*rank));
    let mut table =
        Table::new(["policy".into(), "load".into()].into_iter().chain(heads)).class("dense");
    for run in results.iter().flat_map(|result| &result.runs) {
        let figures = COLUMNS.iter().map(|(_, _, measure, (factor, digits))| {
            let shown = |value: f64| format!("{:.digits$}", factor * value);
            let missed = run.verdicts(scenario).any(|(it, met)| !met && it.measure == *measure);
            let class = if missed { "missed" } else { "" };
            Cell::from(or_none(run.value(*measure), shown)).class(class)
        });
        let policy = Cell::from(run.policy.as_str()).class(&*run.policy);
        table.row([policy, format!("{}×", run.load).into()].into_iter().chain(figures));
    }
    table
}

/// A column of a scenario's table: its head, its rank where the width is short, what it shows,
/// what the value is multiplied by, and digits after the point.
type Shown = (&'static str, u8, Measure, (f64, usize));

#[rustfmt::skip]
const COLUMNS: [Shown; 17] = [
    ("goodput\n% best",       0, Measure::Goodput, (100.0, 1)),
    ("p50\nms",               5, Measure::P50, (1.0, 1)),
    ("p95\nms",               0, Measure::P95, (1.0, 1)),
    ("p99\nms",               6, Measure::P99, (1.0, 1)),
    ("p95 in\nits calm",      0, Measure::P95Ratio, (1.0, 2)),
    ("standing\nqueue, ms",   2, Measure::Standing, (1.0, 1)),
    ("longest\nqueue, ms",    4, Measure::Overshoot, (1.0, 1)),
    ("refused\n%",            0, Measure::Refused, (100.0, 1)),
    ("refused\nidle, %",      3, Measure::RefusedIdle, (100.0, 1)),
    ("lost\n%",               0, Measure::Lost, (100.0, 1)),
    ("cut off\n%",            5, Measure::CutOff, (100.0, 1)),
    ("wasted\n%",             1, Measure::Wasted, (100.0, 1)),
    ("settled\ns",            1, Measure::Settle, (1.0, 1)),
    ("open\ns",               4, Measure::Reopen, (1.0, 1)),
    ("fair by\nlength",       4, Measure::FairLengths, (1.0, 2)),
    ("fair by\nprefix",       6, Measure::FairPrefixes, (1.0, 2)),
    ("high\nanswered, %",    7, Measure::HighAnswered, (100.0, 2)),
];

/// One row per policy.
pub fn policies(overviews: &[Overview]) -> Table {
    let heads = [
        "policy",
        "goodput,\nmean",
        "worst",
        "in",
        "p95 in that at\n0.8, median",
        "lost,\nmean",
        "wasted,\nmean",
        "refused\nat 0.9",
    ];
    let mut table = Table::new(heads).words(&[3]);
    for overview in overviews {
        let of = overview.overload.as_ref();
        let share =
            |of_overload: fn(&Overload) -> f64| or_none(of.map(of_overload), percent).into();
        let worst_in = of.map(|of| of.worst_in.name.as_str()).unwrap_or_default();
        let ratio = of.and_then(|of| of.p95_ratio_median);
        table.row([
            Cell::from(overview.policy).class(overview.policy),
            share(|of| of.goodput_mean),
            share(|of| of.goodput_worst),
            Cell::from(worst_in).markup(link(worst_in)),
            or_none(ratio, |ratio| format!("{ratio:.2}×")).into(),
            share(|of| of.lost_mean),
            share(|of| of.wasted_mean),
            or_none(overview.refused_below, percent).into(),
        ]);
    }
    table
}

/// For each policy, in how many of a hundred runs it meets each goal.
pub fn goals_of_all(overviews: &[Overview]) -> Table {
    let goals = Goal::ALL.map(|goal| Cell::from(goal.name()).title(goal.text()));
    let mut table = Table::new([Cell::from("policy")].into_iter().chain(goals));
    for overview in overviews {
        let share = |r: &Reached| format!("{:.0}", 100.0 * r.met() as f64 / r.runs.len() as f64);
        let met = Goal::ALL.map(|goal| overview.goals.iter().find(|it| it.goal == goal));
        let met = met.map(|reached| Cell::from(or_none(reached, share)));
        table.row([Cell::from(overview.policy).class(overview.policy)].into_iter().chain(met));
    }
    table
}

/// Each goal of a policy with its worst run.
pub fn goals(overview: &Overview) -> Table {
    let mut table = Table::new(["goal", "met in", "worst", "in"]).class("goals-of").words(&[3]);
    for reached in &overview.goals {
        let (met, all, worst) = (reached.met(), reached.runs.len(), reached.worst());
        let count = format!("{met} of {all}");
        let share = 100.0 * met as f64 / all.max(1) as f64;
        let bar =
            html! { (count) " " span.bar.bars { span style=(format!("width:{share:.1}%")) {} } };
        table.row([
            Cell::from(reached.goal.text()),
            Cell::from(count).markup(bar),
            Cell::from(worst.figure()).class(if worst.assessment.met() { "" } else { "missed" }),
            Cell::from(worst.place()).markup(place(worst)),
        ]);
    }
    table
}

/// Where a goal was assessed, with a link to the scenario.
pub fn place(of: &Of) -> Markup {
    let rival = of.assessment.rival.as_deref();
    html! {
        (link(&of.scenario.name)) " at " (of.load) "×"
        @if let Some(rival) = rival { ", " (rival) }
    }
}

/// A link to a scenario of the page.
pub fn link(scenario: &str) -> Markup {
    html! { a href={ "#" (scenario) } { (scenario) } }
}

fn expectations(summary: &Summary) -> String {
    let results = summary.expectation_results();
    let missed: String = results
        .iter()
        .filter(|result| !result.met)
        .map(|result| format!("MISSED  {}\n", result.text()))
        .collect();
    let runs = if summary.seeds == 1 { "run" } else { "runs" };
    if results.is_empty() {
        return format!(
            "these scenarios have no expectations; means of {} {runs}\n",
            summary.seeds
        );
    }
    let met = results.len() - summary.missed();
    format!(
        "{missed}{met} of {} expectations met; means of {} {runs}\n",
        results.len(),
        summary.seeds
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_sim::{Evaluated, Outcome};

    #[test]
    fn a_table_fits_its_width_and_always_has_goodput() {
        let values = [Some(1.0); Measure::ALL.len()];
        let (policy, first) = ("gradient-admission".to_owned(), Outcome::default());
        let run = Evaluated { policy, load: 10.0, values, answered: 1, first };
        let results = [Result { scenario: 0, policy: "gradient-admission", runs: vec![run] }];
        let table = runs(&Scenario::default(), &results);
        for width in [0, 40, 80, 100, 120, 132, WIDE, 500] {
            let text = table.text_within(width);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width.max(80), "{width}: {widest}");
            assert!(text.contains("goodput"), "{width}: {text}");
        }
        assert_eq!(table.text_within(WIDE), table.text());
    }

    #[test]
    fn a_long_sentence_is_broken_between_words() {
        let text = wrapped("ramp", "The load climbs from nothing to six times the capacity.", 30);
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.starts_with("ramp: The load") && text.ends_with("capacity."));
    }
}
