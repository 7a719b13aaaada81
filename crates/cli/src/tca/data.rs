//! `tidegate tca --data`: what operations cost by a table of runs.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use tidegate_plan::mixed::table::MixedTable;
use tidegate_plan::table::{Cost, Measured, Table as Measurements};
use tidegate_report::number::{number, or_none, time};
use tidegate_report::{HeadAndCell, Table};

use super::mixed;
use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// Largest table that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// Flags of a table.
#[derive(clap::Args)]
pub struct DataArgs {
    /// Table of measurements as CSV. Each row is a run of one operation: operation, per_s, and
    /// busy_cpus or utilisation_pct and cpus; with mhz also megacycles. Or of several that come
    /// together: a column per_s:NAME, or count:NAME with duration_s, for each
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "target",
        conflicts_with = "target"
    )]
    data: Option<PathBuf>,
    /// Columns that have other names in the table, such as per_s=requests_s,operation=page
    #[arg(long, value_name = "COLUMN=NAME", value_delimiter = ',', value_parser = pair,
          conflicts_with = "target")]
    columns: Vec<(String, String)>,
    /// File for the costs as JSON
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    json: Option<PathBuf>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(column, name)| !column.is_empty() && !name.is_empty());
    let (column, name) = pair.ok_or("must be COLUMN=NAME, as in per_s=requests_s")?;
    Ok((column.to_owned(), name.to_owned()))
}

/// Prints what the operations of a table cost.
pub fn run(args: DataArgs) -> anyhow::Result<Outcome> {
    let data = args.data.unwrap_or_default();
    let file = data.display();
    let text = tidegate_config::read_text(&data, LARGEST)
        .map_err(|error| bad_input(format!("--data {file}: {error}")))?;
    let wrong = |why: String| bad_input(format!("--data {file}: {why}"));
    if MixedTable::is_one(&text, &args.columns) {
        let table = MixedTable::read(&text, &args.columns).map_err(wrong)?;
        print(mixed::words(&table))?;
        return written(&table, args.json.as_deref());
    }
    let table = Measurements::read(&text, &args.columns).map_err(wrong)?;
    print(words(&table))?;
    written(&table, args.json.as_deref())
}

/// Writes a result as JSON, where there is a file for it.
pub(super) fn written(result: &impl Serialize, file: Option<&Path>) -> anyhow::Result<Outcome> {
    if let Some(file) = file {
        let text = serde_json::to_string_pretty(result)? + "\n";
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(Outcome::Done)
}

/// The costs, and every run.
fn words(table: &Measurements) -> String {
    let clocked = table.rows.iter().any(|row| row.megacycles.is_some());
    let mut costs: Vec<HeadAndCell<'_, Cost, String>> = vec![
        ("operation", |it| it.operation.clone()),
        ("runs", |it| it.runs.to_string()),
        ("CPU time of one", |it| or_none(it.linear, |line| time(1e3 * line.cost.value))),
        ("95 %", |it| {
            or_none(it.linear, |it| {
                format!("{} to {}", time(1e3 * it.cost.low), time(1e3 * it.cost.high))
            })
        }),
        ("idle CPUs", |it| or_none(it.linear, |line| number(line.idle))),
        ("linear at /s", |it| {
            or_none(it.linear, |line| format!("{} to {}", number(line.from), number(line.up_to)))
        }),
        ("then", |it| {
            or_none(it.linear, |line| if line.ends { "costs rise" } else { "not seen" }.to_owned())
        }),
    ];
    let mut runs: Vec<HeadAndCell<'_, Measured, String>> = vec![
        ("line", |it| it.line.to_string()),
        ("operation", |it| it.operation.clone()),
        ("/s", |it| or_none(it.per_s, number)),
        ("busy CPUs", |it| format!("{:.4}", it.busy_cpus)),
        ("CPU time of one", |it| or_none(it.per_s, |per_s| time(1e3 * it.busy_cpus / per_s))),
    ];
    if clocked {
        costs.push(("megacycles of one", |it| {
            or_none(it.linear.zip(it.mhz), |(line, mhz)| number(line.cost.value * mhz))
        }));
        runs.push(("megacycles /s", |it| or_none(it.megacycles, |it| format!("{it:.3}"))));
        runs.push(("of one", |it| {
            or_none(it.megacycles.zip(it.per_s), |(all, per_s)| format!("{:.3}", all / per_s))
        }));
    }
    let seldom = table.costs.iter().filter(|it| it.linear.is_none()).count();
    let mut text = format!(
        "What an operation costs: the slope of the linear part of its curve\n{}",
        Table::of(&table.costs, &costs).words(&[0, 6]).text()
    );
    if seldom > 0 {
        text += &format!(
            "Of {seldom} of {} operations the cost is not known: they have no two loads on a line that rises. Add runs at lighter loads.\n",
            table.costs.len()
        );
    }
    text + &format!("\nEvery run\n{}", Table::of(&table.rows, &runs).words(&[1]).text())
}
