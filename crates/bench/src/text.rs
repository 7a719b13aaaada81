//! Parts of the text that both results have, and their files.

use crate::goals::Goal;
use anyhow::Context;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use tidegate_report::number::or_none;
use tidegate_report::{Cell, Table};
use tidegate_stats::{Ratio, Summary};

/// A table of costs: a column for each contender, and for each peer the ratio to it.
pub fn costs<'a>(
    contenders: impl IntoIterator<Item = &'a str>,
    peers: impl IntoIterator<Item = &'a str>,
) -> Table {
    let contenders = contenders.into_iter().map(str::to_owned);
    let peers = peers.into_iter().map(|peer| format!("/ {peer}"));
    Table::new(std::iter::once(String::new()).chain(contenders).chain(peers))
}

/// Adds a row to such a table.
pub fn row(
    table: &mut Table,
    title: &str,
    costs: impl IntoIterator<Item = Option<Summary>>,
    ratios: impl IntoIterator<Item = Option<Ratio>>,
) {
    let costs = costs.into_iter().map(|it| or_none(it, cost));
    let ratios = ratios
        .into_iter()
        .map(|it| or_none(it, |it| format!("{:.2} ({:.2}-{:.2})", it.median, it.low, it.high)));
    table.row(std::iter::once(title.to_owned()).chain(costs).chain(ratios).map(Cell::from));
}

fn cost(cost: Summary) -> String {
    let digits = usize::from(cost.median < 100.0);
    format!("{:.digits$} ({:.0}-{:.0})", cost.median, cost.min, cost.max)
}

/// The goals, a line each.
pub fn goals(goals: &[Goal]) -> String {
    let mut text = "\nGoals\n".to_owned();
    for Goal { what, value, limit, verdict } in goals {
        let digits = match limit {
            large if *large > 100.0 => 0,
            small if *small < 0.1 => 4,
            _ => 2,
        };
        let verdict = verdict.words();
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "  {what:72}{value:>9.digits$}  at most {limit:.digits$}: {verdict}");
    }
    text
}

/// Writes a result as JSON.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn write(result: &impl Serialize, folder: &Path, file: &str) -> anyhow::Result<()> {
    let path = folder.join(file);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, serde_json::to_string_pretty(result)? + "\n"))
        .with_context(|| format!("cannot write {}", path.display()))
}
