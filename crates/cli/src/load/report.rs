//! `tidegate load report`: a page from a result.

use std::path::PathBuf;

use anyhow::Context;

use super::check::check_writable;
use super::page::page;
use crate::exit::{Outcome, bad_input};
use crate::stdout::print;
use tidegate_load::compare::SavedResult;

/// Flags of `tidegate load report`.
#[derive(clap::Args)]
pub struct Args {
    /// Result of a run, of --repeat or of merge, written by --json
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// The page [default: RESULT with the ending .html]
    #[arg(long, value_name = "FILE", visible_alias = "report")]
    out: Option<PathBuf>,
}

/// Reads the result and writes its page.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let out = args.out.clone().unwrap_or_else(|| args.result.with_extension("html"));
    if out == args.result {
        return Err(bad_input(format!(
            "--out {} would overwrite the result; name another file",
            out.display()
        )));
    }
    let result = SavedResult::read(&args.result).map_err(bad_input)?;
    let runs: Vec<_> = result.runs.iter().map(|run| &run.summary).collect();
    check_writable(&[("--out", &Some(out.clone()))])?;
    std::fs::write(&out, page(&runs, &result.figures))
        .with_context(|| format!("cannot write {}", out.display()))?;
    print(format!("page: {}\n", out.display()))?;
    Ok(Outcome::Done)
}
