//! `tidegate study compare A B`.

use std::path::PathBuf;

use anyhow::Context;
use tidegate_experiment::compare::{Comparison, Row};

use crate::exit::Outcome;
use crate::stdout::print;

/// Flags of `tidegate study compare`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the first run
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Folder of the second run of the same study
    #[arg(value_name = "B")]
    second: PathBuf,
    /// File for the comparison as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Every figure, also those without a significant difference
    #[arg(long)]
    all: bool,
}

/// Prints what differs in the setting, then the figures that differ.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let comparison = Comparison::of(&args.first, &args.second)?;
    print(text(&comparison, args.all))?;
    if let Some(file) = &args.json {
        let json = serde_json::to_string_pretty(&comparison)? + "\n";
        std::fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(Outcome::Done)
}

fn text(comparison: &Comparison, all: bool) -> String {
    let mut text = format!("Study {}\n", comparison.study);
    for difference in &comparison.settings {
        text += &format!("  {}: {} / {}\n", difference.what, difference.first, difference.second);
    }
    if comparison.settings.is_empty() {
        text += "  same machine, commit and settings\n";
    }
    let shown: Vec<&Row> = comparison.rows.iter().filter(|row| all || row.differs).collect();
    let differ = comparison.rows.iter().filter(|row| row.differs).count();
    text += &format!(
        "\n{differ} of {} figures differ significantly (Welch's t, Holm's correction, 5 %).\n",
        comparison.rows.len()
    );
    let mut last = "";
    for row in shown {
        if row.combination != last {
            last = &row.combination;
            text += &format!("\n{last}\n");
        }
        let interval = match (row.low_95, row.high_95) {
            (Some(low), Some(high)) => format!("{low:+.3} to {high:+.3}"),
            _ => "one run has no interval".into(),
        };
        let mark = if row.differs { "*" } else { " " };
        text += &format!(
            "  {mark} {:24} {:>12.3} {:>12.3}   {interval}\n",
            row.metric, row.first, row.second
        );
    }
    for (what, missing) in [("first", &comparison.only_first), ("second", &comparison.only_second)]
    {
        if !missing.is_empty() {
            text += &format!("\nonly in the {what}: {}\n", missing.join("; "));
        }
    }
    text
}
