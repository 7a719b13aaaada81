//! The result as text.

use super::goals::PEERS;
use super::report::Report;
use super::tool::Tool;
use crate::text::{self, goals};

/// Renders a result as plain text.
pub fn render(report: &Report) -> String {
    let mut text = if report.rows.is_empty() { String::new() } else { table(report) };
    text += &goals(&report.goals());
    text.push('\n');
    for kept in report.rates.iter().filter(|kept| !kept.limited_by_driver()) {
        let (asked, full) = (kept.asked_per_s, 100.0 * kept.server_share);
        text += &format!(
            "{asked:.0} requests/s: not judged, the server used {full:.0} % of its core\n"
        );
    }
    for failure in &report.failed {
        text += &format!("{failure}\n");
    }
    for tool in &report.absent {
        text += &format!("{}: not installed, not measured\n", tool.name());
    }
    for row in &report.rows {
        for cell in row.cells.iter().filter(|cell| cell.cpu_us.is_none()) {
            let (id, name, share) = (row.work.id(), cell.tool.name(), 100.0 * cell.of_kind);
            text += &format!("{id}, {name}: {share:.0} % of its handshakes were of this kind\n");
        }
    }
    text
}

/// The costs of all generators, a row each.
fn table(report: &Report) -> String {
    let tools: Vec<Tool> = report.versions.iter().map(|(tool, _)| *tool).collect();
    let mut table = text::costs(tools.iter().map(|tool| tool.name()), PEERS.map(Tool::name));
    for row in &report.rows {
        let costs = tools.iter().map(|tool| row.cost(*tool));
        let against = |peer| row.against.iter().find(|(tool, _)| *tool == peer);
        let ratios = PEERS.map(|peer| against(peer).map(|(_, ratio)| *ratio));
        text::row(&mut table, row.work.title(), costs, ratios);
    }
    format!(
        "\nDriver CPU microseconds per operation: median (min-max) of {} windows of {} s\n{}",
        report.rounds,
        report.window_s,
        table.text()
    )
}
