//! Writes results and maps them to the outcome of the program.

use std::path::Path;

use anyhow::Context;
use tidegate_load::{Repeated, RepeatedFigure, Summary};

use super::junit::junit;
use super::page::page;
use crate::exit::{Outcome, bad_input};
use crate::stdout::{print, print_result};

/// The files of a result.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) json: Option<&'a Path>,
    pub(super) report: Option<&'a Path>,
    pub(super) junit: Option<&'a Path>,
}

/// Names standard output where a flag takes a file.
pub(super) fn is_stdout(file: &Path) -> bool {
    file == Path::new("-")
}

/// Writes the result of a single run.
pub(super) fn finish_one(summary: &Summary, files: Files) -> anyhow::Result<Outcome> {
    match files.json {
        // The result of a shard is mostly histograms: compact.
        Some(file) if summary.shard_result.is_some() => {
            write(serde_json::to_string(summary)?, file)?
        }
        Some(file) => write_json(summary, file)?,
        None => {}
    }
    if let Some(file) = files.report {
        write_page(&[summary], &[], file)?;
    }
    if let Some(file) = files.junit {
        write(junit(std::slice::from_ref(summary)), file)?;
    }
    outcome(summary)
}

/// Writes the results of `--repeat`.
pub(super) fn finish_all(runs: Vec<Summary>, files: Files) -> anyhow::Result<Outcome> {
    if runs.is_empty() {
        return Ok(Outcome::Done);
    }
    let repeated = Repeated::new(runs);
    if let Some(file) = files.json {
        write_json(&repeated, file)?;
    }
    if let Some(file) = files.report {
        write_page(&repeated.runs.iter().collect::<Vec<_>>(), &repeated.figures, file)?;
    }
    if let Some(file) = files.junit {
        write(junit(&repeated.runs), file)?;
    }
    print(format!("\n{repeated}"))?;
    // A failed run takes precedence over a missed threshold.
    repeated.runs.iter().try_fold(Outcome::Done, |so_far, summary| {
        Ok(if outcome(summary)? == Outcome::Done { so_far } else { Outcome::GoalMissed })
    })
}

pub(super) fn write_json(result: &impl serde::Serialize, file: &Path) -> anyhow::Result<()> {
    write(serde_json::to_string_pretty(result)?, file)
}

/// Writes a result as a page and says where it is.
pub(super) fn write_page(
    runs: &[&Summary],
    figures: &[RepeatedFigure],
    file: &Path,
) -> anyhow::Result<()> {
    write(page(runs, figures), file)?;
    print(format!("page            {}\n", file.display()))?;
    Ok(())
}

/// Writes a file, or to standard output if its name is `-`.
pub(super) fn write(text: String, file: &Path) -> anyhow::Result<()> {
    if is_stdout(file) {
        return Ok(print_result(text + "\n")?);
    }
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// The outcome of a run by [`Summary::exit_code`].
///
/// # Errors
/// Why the run failed.
pub(super) fn outcome(summary: &Summary) -> anyhow::Result<Outcome> {
    match summary.exit_code() {
        0 => Ok(Outcome::Done),
        1 => Ok(Outcome::GoalMissed),
        _ if summary.driver_saturated => {
            let why = summary.driver.saturated_because.join("; ");
            anyhow::bail!(
                "THE LOAD GENERATOR WAS SATURATED, these figures are not the target's: {why}"
            )
        }
        _ if !summary.incomplete.is_empty() => {
            anyhow::bail!("the result is incomplete: {}", summary.incomplete.join("; "))
        }
        _ => match &summary.raw_error {
            Some(error) => anyhow::bail!("an output file is incomplete: {error}"),
            None if summary.interrupted && summary.measured_s <= 0.0 => {
                anyhow::bail!("stopped in the warm-up: nothing was measured")
            }
            None => anyhow::bail!("no request succeeded"),
        },
    }
}

/// Maps an error of a run to the exit code of the program.
pub(super) fn run_error(error: tidegate_load::Error) -> anyhow::Error {
    match error.exit_code() {
        2 => bad_input(error),
        _ => error.into(),
    }
}
