//! `tidegate load merge`: adds up the shards of one test.

use std::path::PathBuf;

use anyhow::Context;
use tidegate_load::{ShardResult, merge, write_seconds};

use super::check::check_writable;
use super::command;
use super::junit::junit;
use super::results::{is_stdout, outcome, write, write_json, write_page};
use crate::exit::{Outcome, bad_input};
use crate::stdout::{leave_to_result, print};

/// Flags of `tidegate load merge`.
#[derive(clap::Args)]
pub struct Args {
    /// Results of all shards of one test, each written by --shard I/N with --json
    #[arg(value_name = "SHARD", required = true)]
    files: Vec<PathBuf>,
    /// Write the merged result as JSON; - is standard output, and the report goes to standard
    /// error
    #[arg(long, value_name = "FILE", visible_alias = "out")]
    json: Option<PathBuf>,
    /// Write the merged result as a page (HTML)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write every second as a line of CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write thresholds, checks and steps as JUnit XML, as CI systems read it
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// Reads all shards and reports like a run of a single process.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (json, report, csv) = (&args.json, &args.report, &args.csv);
    let files = [("--json", json), ("--report", report), ("--csv", csv), ("--junit", &args.junit)];
    for (flag, file) in files {
        if let Some(file) = file.as_ref().filter(|file| args.files.contains(file)) {
            return Err(bad_input(format!(
                "{flag} {} would overwrite a shard; name another file",
                file.display()
            )));
        }
    }
    check_writable(&files)?;
    if json.as_deref().is_some_and(is_stdout) {
        leave_to_result();
    }
    let (mut shard_results, mut wrong) = (Vec::new(), Vec::new());
    for file in &args.files {
        match ShardResult::read(file) {
            Ok(shard_result) => shard_results.push((file.display().to_string(), shard_result)),
            Err(error) => wrong.push(error),
        }
    }
    if !wrong.is_empty() {
        return Err(bad_input(wrong.join("\n")));
    }
    let mut summary = merge(shard_results).map_err(|wrong| bad_input(wrong.join("\n")))?;
    summary.command = command::line();
    if let Some(file) = &args.json {
        write_json(&summary, file)?;
    }
    if let Some(file) = &args.csv {
        write_seconds(&summary.series, file)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    print(tidegate_load::report(&summary))?;
    if let Some(file) = &args.report {
        write_page(&[&summary], &[], file)?;
    }
    if let Some(file) = &args.junit {
        write(junit(std::slice::from_ref(&summary)), file)?;
    }
    outcome(&summary)
}
