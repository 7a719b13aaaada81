//! The results as tables of plain text, as wide as the terminal.

use std::io::IsTerminal;

use tidegate_sim::goals::Goal;
use tidegate_sim::{Evaluated, Measure};

use super::overview::{Overview, Reached};
use super::summary::Summary;

/// Width where none is known, as in a file: every column fits.
const WIDE: usize = 160;

/// The width of the terminal on standard output.
pub fn width() -> usize {
    let of_terminal = || ratatui::crossterm::terminal::size().ok().map(|(width, _)| width.into());
    if std::io::stdout().is_terminal() { of_terminal().unwrap_or(WIDE) } else { WIDE }
}

/// Scenario by scenario, then all in one table, goals, and the expectations missed.
pub fn text(summary: &Summary, width: usize) -> String {
    let policy_width = policy_width(summary);
    let columns = columns(width.saturating_sub(policy_width + LOAD_WIDTH));
    let mut text = String::new();
    for (scenario, results) in summary.by_scenario() {
        text += &format!(
            "{}\n{}",
            wrapped(&scenario.name, &scenario.about, width),
            head(policy_width, &columns)
        );
        for run in results.iter().flat_map(|result| &result.runs) {
            text += &row(run, policy_width, &columns);
        }
        text.push('\n');
    }
    let overviews = summary.overviews();
    if summary.scenarios.len() > 1 || overviews.len() > 1 {
        text += &all_in_one(overviews, policy_width);
    }
    if overviews.len() > 1 {
        text += &goals_of_all(overviews, policy_width);
    }
    if let Some(overview) = summary.goal_policy() {
        text += &goals_of_one(overview);
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

/// A column of a scenario's table, in text and on the page.
pub struct Column {
    /// Two lines.
    pub head: [&'static str; 2],
    width: usize,
    /// Columns of a higher rank are left out first where the width is short.
    rank: u8,
    pub measure: Measure,
    /// What the value is multiplied by, and digits after the point.
    shown: (f64, usize),
}

#[rustfmt::skip]
pub const COLUMNS: [Column; 16] = {
    const fn column(head: [&'static str; 2], width: usize, rank: u8, measure: Measure, shown: (f64, usize)) -> Column {
        Column { head, width, rank, measure, shown }
    }
    [
        column(["goodput", "% best"],       8, 0, Measure::Goodput, (100.0, 1)),
        column(["p50", "ms"],               9, 5, Measure::P50, (1.0, 1)),
        column(["p95", "ms"],               9, 0, Measure::P95, (1.0, 1)),
        column(["p99", "ms"],               9, 6, Measure::P99, (1.0, 1)),
        column(["p95 in", "its calm"],      9, 0, Measure::P95Ratio, (1.0, 2)),
        column(["standing", "queue, ms"],  10, 2, Measure::Standing, (1.0, 1)),
        column(["longest", "queue, ms"],   10, 4, Measure::Overshoot, (1.0, 1)),
        column(["refused", "%"],            8, 0, Measure::Refused, (100.0, 1)),
        column(["refused", "idle, %"],            8, 3, Measure::RefusedIdle, (100.0, 1)),
        column(["lost", "%"],               6, 0, Measure::Lost, (100.0, 1)),
        column(["cut off", "%"],            8, 5, Measure::CutOff, (100.0, 1)),
        column(["wasted", "%"],             7, 1, Measure::Wasted, (100.0, 1)),
        column(["settled", "s"],            8, 1, Measure::Settle, (1.0, 1)),
        column(["open", "s"],               6, 4, Measure::Reopen, (1.0, 1)),
        column(["fair by", "length"],       8, 4, Measure::FairLengths, (1.0, 2)),
        column(["fair by", "prefix"],       8, 6, Measure::FairPrefixes, (1.0, 2)),
    ]
};

/// Width of the column of loads.
const LOAD_WIDTH: usize = 6;
/// Width of the column of policies, unless a longer name needs more.
const POLICY_WIDTH: usize = 13;

fn policy_width(summary: &Summary) -> usize {
    let names = summary.overviews().iter().map(|overview| overview.policy.len() + 1);
    names.max().unwrap_or(0).max(POLICY_WIDTH)
}

/// The columns that fit into a width, the most important ones first.
fn columns(width: usize) -> Vec<&'static Column> {
    let fits = |rank: u8| {
        let kept = COLUMNS.iter().filter(|column| column.rank <= rank);
        kept.map(|column| column.width).sum::<usize>() <= width
    };
    let rank = (0..=6).rev().find(|rank| fits(*rank)).unwrap_or(0);
    COLUMNS.iter().filter(|column| column.rank <= rank).collect()
}

fn head(policy_width: usize, columns: &[&Column]) -> String {
    let line = |first: &str, second: &str, place: usize| {
        let cells =
            columns.iter().map(|column| format!("{:>1$}", column.head[place], column.width));
        format!("{first:<policy_width$}{second:>LOAD_WIDTH$}{}\n", cells.collect::<String>())
    };
    line("policy", "load", 0) + &line("", "", 1)
}

fn row(run: &Evaluated, policy_width: usize, columns: &[&Column]) -> String {
    let cells = columns.iter().map(|column| format!("{:>1$}", column.figure(run), column.width));
    let load = format!("{}×", run.load);
    format!("{:<policy_width$}{load:>LOAD_WIDTH$}{}\n", run.policy, cells.collect::<String>())
}

impl Column {
    /// A run's figure; `–`: it has none.
    pub fn figure(&self, run: &Evaluated) -> String {
        let (factor, digits) = self.shown;
        let value = run.value(self.measure);
        value.map_or("–".to_owned(), |value| format!("{:.digits$}", factor * value))
    }
}

/// One row per policy.
fn all_in_one(overviews: &[Overview], policy_width: usize) -> String {
    let percent = |value: Option<f64>| match value {
        Some(value) => format!("{:.1}", 100.0 * value),
        None => "–".to_owned(),
    };
    let mut text = format!(
        "All scenarios without attacks, at twice the capacity and more\n\
         {:<policy_width$}{:>8}{:>7}  {:<18}{:>9}{:>6}{:>8}{:>9}\n{:<policy_width$}{:>8}{:>7}  {:<18}{:>9}{:>6}{:>8}{:>9}\n",
        "policy",
        "goodput",
        "worst",
        "in",
        "p95 in",
        "lost",
        "wasted",
        "refused",
        "",
        "% best",
        "",
        "",
        "its calm",
        "%",
        "%",
        "% at 0.9",
    );
    for overview in overviews {
        let of = overview.overload.as_ref();
        text += &format!(
            "{:<policy_width$}{:>8}{:>7}  {:<18}{:>9}{:>6}{:>8}{:>9}\n",
            overview.policy,
            percent(of.map(|o| o.goodput_mean)),
            percent(of.map(|o| o.goodput_worst)),
            of.map_or("", |o| &o.worst_in.name),
            of.and_then(|o| o.p95_ratio_median).map_or("–".into(), |ratio| format!("{ratio:.2}")),
            percent(of.map(|o| o.lost_mean)),
            percent(of.map(|o| o.wasted_mean)),
            percent(overview.refused_below),
        );
    }
    text + "\n"
}

/// For each policy, in how many of a hundred runs it meets each goal.
fn goals_of_all(overviews: &[Overview], policy_width: usize) -> String {
    let cell = |goal: Goal, text: &str| format!("{text:>0$}", goal.name().len() + 1);
    let names = Goal::ALL.map(|goal| cell(goal, goal.name())).concat();
    let mut text = format!("Goals, met in % of the runs\n{:<policy_width$}{names}\n", "policy");
    for overview in overviews {
        let cells = Goal::ALL.map(|goal| {
            let reached = overview.goals.iter().find(|reached| reached.goal == goal);
            let share =
                |r: &Reached| format!("{:.0}", 100.0 * r.met() as f64 / r.runs.len() as f64);
            cell(goal, &reached.map_or("–".to_owned(), share))
        });
        text += &format!("{:<policy_width$}{}\n", overview.policy, cells.concat());
    }
    text + "\n"
}

/// Each goal of a policy with its worst run.
fn goals_of_one(overview: &Overview) -> String {
    let title = format!("Goals of {}", overview.policy);
    let mut text = format!("{title:<37}{:>10} {:>8}  worst\n", "met in", "");
    for reached in &overview.goals {
        let worst = reached.worst();
        let met = format!("{} of {}", reached.met(), reached.runs.len());
        text += &format!(
            "{:<37}{met:>10} {:>8}  {}\n",
            reached.goal.text(),
            worst.figure(),
            worst.place()
        );
    }
    text + "\n"
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

    #[test]
    fn a_table_fits_its_width_and_always_has_goodput() {
        for width in [0, 40, 80, 100, 120, 132, 160, 500] {
            let columns = columns(usize::saturating_sub(width, POLICY_WIDTH + LOAD_WIDTH));
            let line = head(POLICY_WIDTH, &columns);
            let widest = line.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width.max(80), "{width}: {widest}");
            assert!(columns.iter().any(|column| column.measure == Measure::Goodput));
        }
        assert_eq!(columns(WIDE - POLICY_WIDTH - LOAD_WIDTH).len(), COLUMNS.len());
    }

    #[test]
    fn a_long_sentence_is_broken_between_words() {
        let text = wrapped("ramp", "The load climbs from nothing to six times the capacity.", 30);
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.starts_with("ramp: The load") && text.ends_with("capacity."));
    }
}
