//! The result as text.

use crate::goals::Goal;
use crate::in_process::HelloCost;
use crate::report::{Ending, Report};
use crate::summary::{Cell, HELD, RowSummary};
use crate::windows::Window;
use std::fmt::Write;
use tidegate_lab::peers::Kind;
use tidegate_stats::{Ratio, Summary};

/// Width of the first column.
const TITLE: usize = 31;

/// Width of the others.
const COLUMN: usize = 18;

/// Renders costs, ratios, goals and remarks as plain text.
pub fn render(report: &Report, normalise: bool) -> String {
    let mut text = String::new();
    head(&mut text, report, normalise);
    for row in &report.rows {
        line(&mut text, row, normalise);
    }
    hellos(&mut text, report);
    decisions(&mut text, report);
    goals(&mut text, &report.goals);
    remarks(&mut text, report);
    text
}

// Writing to a String cannot fail; the results of write! are dropped.
macro_rules! put {
    ($text:expr, $($argument:tt)*) => { let _ = write!($text, $($argument)*); };
}

fn head(text: &mut String, report: &Report, normalise: bool) {
    put!(text, "\nServer CPU microseconds per operation: median (min-max) of ");
    put!(text, "{} windows of {} ms", report.rounds, report.window_ms);
    text.push_str(if normalise { ", scaled by the calibration loop\n" } else { "\n" });
    put!(text, "{:TITLE$}", "");
    for kind in servers(report) {
        put!(text, "{:>COLUMN$}", kind.title());
    }
    put!(text, "{:>COLUMN$}{:>COLUMN$}\n", "/ nginx", "/ HAProxy");
}

fn servers(report: &Report) -> Vec<Kind> {
    report.versions.iter().map(|(kind, _)| *kind).collect()
}

fn line(text: &mut String, row: &RowSummary, normalise: bool) {
    put!(text, "{:TITLE$}", row.row.title);
    for cell in &row.cells {
        put!(text, "{:>COLUMN$}", cost(cell, normalise));
    }
    for peer in [Kind::Nginx, Kind::Haproxy] {
        put!(text, "{:>COLUMN$}", row.ratio(peer).map_or_else(|| "-".to_owned(), ratio));
    }
    text.push('\n');
}

fn cost(cell: &Cell, normalise: bool) -> String {
    let summary = if normalise { cell.normalised_cpu_us } else { cell.cpu_us };
    match summary {
        None => "-".to_owned(),
        Some(cost) => {
            let digits = usize::from(cost.median < 100.0);
            format!("{:.digits$} ({:.0}-{:.0})", cost.median, cost.min, cost.max)
        }
    }
}

fn ratio(ratio: Ratio) -> String {
    format!("{:.2} ({:.2}-{:.2})", ratio.median, ratio.low, ratio.high)
}

fn hellos(text: &mut String, report: &Report) {
    let costs = report.hellos.iter().map(|HelloCost { hello, bytes, nanoseconds }| {
        (format!("{hello}, {bytes} bytes"), *nanoseconds)
    });
    nanoseconds(text, "Reading a hello", costs);
}

fn decisions(text: &mut String, report: &Report) {
    let costs = report.decisions.iter().map(|cost| (cost.what.to_owned(), cost.nanoseconds));
    nanoseconds(text, "A decision of the controller", costs);
}

/// In how many windows the driver was at its limit, with its reason of the first.
fn saturation(text: &mut String, windows: &[Window]) {
    let reasons = |window: &&Window| !window.tally.driver_saturated.is_empty();
    let saturated: Vec<_> = windows.iter().filter(reasons).collect();
    let Some(first) = saturated.first() else { return };
    put!(text, "the driver was saturated in {} of {} windows ", saturated.len(), windows.len());
    put!(text, "({}): ", first.tally.driver_saturated.join("; "));
    text.push_str("their rates are the driver's, and their costs per operation hold\n");
}

/// Costs measured in one process, under a title.
fn nanoseconds(text: &mut String, title: &str, costs: impl Iterator<Item = (String, Summary)>) {
    for (index, (name, cost)) in costs.enumerate() {
        if index == 0 {
            put!(text, "\n{title}, CPU nanoseconds: median (min-max)\n");
        }
        put!(text, "  {name:42}{:>6.0} ({:.0}-{:.0})\n", cost.median, cost.min, cost.max);
    }
}

fn goals(text: &mut String, goals: &[Goal]) {
    if goals.is_empty() {
        return;
    }
    text.push_str("\nGoals\n");
    for goal in goals {
        let verdict = goal.verdict.words();
        let value = if goal.limit < 0.1 {
            format!("{:.4}", goal.value)
        } else {
            format!("{:.2}", goal.value)
        };
        put!(text, "  {:72}{value:>7}  at most {:.2}: {verdict}\n", goal.what, goal.limit);
    }
}

fn remarks(text: &mut String, report: &Report) {
    text.push('\n');
    for row in &report.rows {
        for cell in &row.cells {
            if let Some(note) = &cell.note {
                put!(text, "{}, {}: {note}\n", row.row.id, cell.server.title());
            }
            if cell.held_share > HELD {
                put!(text, "{}, {}: held ", row.row.id, cell.server.title());
                put!(text, "{:.0} % of the customers ", 100.0 * cell.held_share);
                put!(text, "(using {:.0} % of its core), ", 100.0 * cell.utilisation);
                put!(text, "and its cost includes their waiting; ");
                put!(text, "the row is judged on: {}\n", row.judged.title());
            }
            let opened = 100.0 * cell.upstream_connections_per_request;
            if opened > 1.0 {
                put!(text, "{}, {}: opened an upstream ", row.row.id, cell.server.title());
                put!(
                    text,
                    "connection for {opened:.0} % of its requests, which adds to its cost\n"
                );
            }
        }
    }
    saturation(text, &report.windows);
    if report.hellos.is_empty() || report.decisions.is_empty() {
        text.push_str(
            "costs within the process were not measured with this build: `make bench` does\n",
        );
    }
    if let Some(loops) = report.calibration_ms {
        put!(text, "calibration loop: median {:.2} ms, ", loops.median);
        put!(text, "{:.2} to {:.2}: the machine drifted by ", loops.min, loops.max);
        put!(text, "{:.0} %\n", 100.0 * (loops.max / loops.min - 1.0));
    }
    let shares =
        |of: fn(&Window) -> f64| Summary::of(&report.windows.iter().map(of).collect::<Vec<_>>());
    if let (Some(server), Some(driver)) =
        (shares(|window| window.utilisation), shares(|window| window.driver_utilisation))
    {
        put!(text, "core use, median of all windows: server {:.0} %, ", 100.0 * server.median);
        put!(text, "driver {:.0} % (100 on an idle machine)\n", 100.0 * driver.median);
    }
    text.push_str(match report.verdict() {
        Ending::Met if report.goals.is_empty() => "no goals: the gate was not measured\n",
        Ending::Met => "no goal is missed by more than the spread\n",
        Ending::Missed => "a goal is missed\n",
        Ending::Failed => "the run failed: see the remarks above\n",
    });
}
