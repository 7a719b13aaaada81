//! The result as text.

use std::fmt::Write as _;

use tidegate_stats::{Ratio, Summary};

use super::goals::PEERS;
use super::report::Report;
use super::tool::Tool;

/// Width of the first column.
const TITLE: usize = 32;
/// Width of the others.
const COLUMN: usize = 18;

/// Renders a result as plain text.
pub fn render(report: &Report) -> String {
    let mut text = if report.rows.is_empty() { String::new() } else { table(report) };
    let mut put = |part: std::fmt::Arguments<'_>| {
        text.write_fmt(part).expect("a String takes all");
    };
    put(format_args!("\nGoals\n"));
    for goal in report.goals() {
        let digits = if goal.limit > 100.0 {
            0
        } else if goal.limit < 0.1 {
            4
        } else {
            2
        };
        let verdict = goal.verdict.words();
        let (value, limit) = (goal.value, goal.limit);
        put(format_args!("  {:64}", goal.what));
        put(format_args!("{value:>9.digits$}  at most {limit:.digits$}: {verdict}\n"));
    }
    put(format_args!("\n"));
    for kept in report.rates.iter().filter(|kept| !kept.limited_by_driver()) {
        let (asked, full) = (kept.asked_per_s, 100.0 * kept.server_share);
        put(format_args!(
            "{asked:.0} requests/s: not judged, the server used {full:.0} % of its core\n"
        ));
    }
    for failure in &report.failed {
        put(format_args!("{failure}\n"));
    }
    for tool in &report.absent {
        put(format_args!("{}: not installed, not measured\n", tool.name()));
    }
    for row in &report.rows {
        for cell in row.cells.iter().filter(|cell| cell.cpu_us.is_none()) {
            let (id, name, share) = (row.work.id(), cell.tool.name(), 100.0 * cell.of_kind);
            put(format_args!("{id}, {name}: {share:.0} % of its handshakes were of this kind\n"));
        }
    }
    text
}

/// The costs of all generators, a row each.
fn table(report: &Report) -> String {
    let mut text = format!(
        "\nDriver CPU microseconds per operation: median (min-max) of {} windows of {} s\n{:TITLE$}",
        report.rounds, report.window_s, ""
    );
    let mut put = |part: std::fmt::Arguments<'_>| {
        text.write_fmt(part).expect("a String takes all");
    };
    let tools: Vec<Tool> = report.versions.iter().map(|(tool, _)| *tool).collect();
    tools.iter().for_each(|tool| put(format_args!("{:>COLUMN$}", tool.name())));
    PEERS.iter().for_each(|peer| put(format_args!("{:>COLUMN$}", format!("/ {}", peer.name()))));
    put(format_args!("\n"));
    for row in &report.rows {
        put(format_args!("{:TITLE$}", row.work.title()));
        for tool in &tools {
            put(format_args!("{:>COLUMN$}", row.cost(*tool).map_or("-".to_owned(), cost)));
        }
        for peer in PEERS {
            let found = row.against.iter().find(|(tool, _)| *tool == peer);
            put(format_args!("{:>COLUMN$}", found.map_or("-".to_owned(), |(_, r)| ratio(*r))));
        }
        put(format_args!("\n"));
    }
    text
}

fn cost(cost: Summary) -> String {
    let digits = usize::from(cost.median < 100.0);
    format!("{:.digits$} ({:.0}-{:.0})", cost.median, cost.min, cost.max)
}

fn ratio(ratio: Ratio) -> String {
    format!("{:.2} ({:.2}-{:.2})", ratio.median, ratio.low, ratio.high)
}
