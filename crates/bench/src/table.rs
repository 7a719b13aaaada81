//! The result as text.

use crate::in_process::HelloCost;
use crate::report::{Ending, Report};
use crate::summary::{Cell, HELD};
use crate::text::{self, goals};
use crate::windows::Window;
use std::fmt::Write;
use tidegate_lab::peers::Kind;
use tidegate_stats::Summary;

/// Renders costs, ratios, goals and remarks as plain text.
pub fn render(report: &Report, normalise: bool) -> String {
    let mut text = costs(report, normalise);
    hellos(&mut text, report);
    decisions(&mut text, report);
    idle(&mut text, report);
    if !report.goals.is_empty() {
        text += &goals(&report.goals);
    }
    remarks(&mut text, report);
    text
}

// Writing to a String cannot fail; the results of write! are dropped.
macro_rules! put {
    ($text:expr, $($argument:tt)*) => { let _ = write!($text, $($argument)*); };
}

fn costs(report: &Report, normalise: bool) -> String {
    let kinds = report.versions.iter().map(|(kind, _)| kind.title());
    let peers =
        Kind::PEERS.into_iter().filter(|peer| report.versions.iter().any(|(kind, _)| kind == peer));
    let peers: Vec<Kind> = peers.collect();
    let mut table = text::costs(kinds, peers.iter().map(|it| it.title()));
    for row in &report.rows {
        let cost = |cell: &Cell| if normalise { cell.normalised_cpu_us } else { cell.cpu_us };
        let ratios = peers.iter().map(|peer| row.ratio(*peer));
        text::row(&mut table, row.row.title, row.cells.iter().map(cost), ratios);
    }
    format!(
        "\nServer CPU microseconds per operation: median (min-max) of {} windows of {} ms{}\n{}",
        report.rounds,
        report.window_ms,
        if normalise { ", scaled by the calibration loop" } else { "" },
        table.text()
    )
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

/// What idle connections take.
fn idle(text: &mut String, report: &Report) {
    let Some(first) = report.idle.first() else { return };
    put!(text, "\nMemory of an idle connection, bytes, with {} of them\n", first.connections);
    for it in &report.idle {
        let (what, server) = (it.what(), it.server.title());
        put!(text, "  {:42}{:>8.0}\n", format!("{what}, {server}"), it.bytes_each);
    }
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

fn remarks(text: &mut String, report: &Report) {
    text.push('\n');
    for row in &report.rows {
        for cell in &row.cells {
            let mut remark = |what: &str| {
                put!(text, "{}, {}: {what}\n", row.row.id, cell.server.title());
            };
            if let Some(note) = &cell.note {
                remark(note);
            }
            if cell.held_share > HELD {
                remark(&format!(
                    "held {:.0} % of the customers (using {:.0} % of its core), and its cost \
                     includes their waiting; the row is judged on: {}",
                    100.0 * cell.held_share,
                    100.0 * cell.utilisation,
                    row.judged.title()
                ));
            }
            let opened = 100.0 * cell.upstream_connections_per_request;
            if opened > 1.0 {
                remark(&format!(
                    "opened an upstream connection for {opened:.0} % of its requests, which adds \
                     to its cost"
                ));
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
