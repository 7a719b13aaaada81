//! `tidegate load merge`: the parts of one test added up.

use std::path::PathBuf;

use anyhow::Context;
use tidegate_load::{Portion, merge, write_seconds};

use super::{judge, write_json};
use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// Flags of `tidegate load merge`.
#[derive(clap::Args)]
pub struct Args {
    /// Results of all parts of one test, each written by --part I/N with --json
    #[arg(value_name = "PART", required = true)]
    files: Vec<PathBuf>,
    /// Write the whole result as JSON
    #[arg(long, value_name = "FILE", visible_alias = "out")]
    json: Option<PathBuf>,
    /// Write every second as a line of CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Reads all parts, and reports as the run of one driver would have.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    for (flag, file) in [("--json", &args.json), ("--csv", &args.csv)] {
        if let Some(file) = file.as_ref().filter(|file| args.files.contains(file)) {
            return Err(bad_input(format!(
                "{flag} {} would overwrite a part: give it a file of its own",
                file.display()
            )));
        }
    }
    let (mut portions, mut wrong) = (Vec::new(), Vec::new());
    for file in &args.files {
        match Portion::read(file) {
            Ok(portion) => portions.push((file.display().to_string(), portion)),
            Err(error) => wrong.push(error),
        }
    }
    if !wrong.is_empty() {
        return Err(bad_input(wrong.join("\n")));
    }
    let summary = merge(portions).map_err(|wrong| bad_input(wrong.join("\n")))?;
    if let Some(file) = &args.json {
        write_json(&summary, file)?;
    }
    if let Some(file) = &args.csv {
        write_seconds(&summary.series, file)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    print(tidegate_load::report(&summary))?;
    judge(&summary)
}
